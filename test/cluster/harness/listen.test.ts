import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { Definition } from '../../../harness/cluster/plan/schema.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Listeners on 127.0.0.1 are not reached here. */
const OTHER = '127.0.0.2';

const stateDir = temporaryFolder('svcnet-listen');

function isOpen(host: string, port: string | number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

const portOf = (url: string) => new URL(url).port;
const p2pPort = (underlay: string) => /\/tcp\/(\d+)\//.exec(underlay)?.[1] as string;

async function readsWhatItWrote(net: Cluster): Promise<void> {
  const data = Buffer.alloc(20_000, 7);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  expect(Buffer.compare(await net.node(1).bytes.download(reference), data)).toBe(0);
}

describe.each(['process', 'embedded'] satisfies Definition['driver'][])('%s', (driver) => {
  test('listen 0.0.0.0 opens APIs, p2p and RPC on every address, and the control endpoint stays on loopback', async () => {
    await using net = await Cluster.start({ nodes: 2, seed: 7, driver, listen: '0.0.0.0', stateDir });
    const ports = net.nodes.flatMap(({ api, debug, p2p }) => [
      portOf(api),
      portOf(debug),
      // Peers of embedded nodes are in memory.
      ...(driver === 'process' ? [p2pPort(p2p)] : []),
    ]);
    for (const port of [...ports, portOf(net.chain.rpc)]) expect(await isOpen(OTHER, port)).toBe(true);
    const urls = [...net.nodes.flatMap(({ api, debug }) => [api, debug]), net.chain.rpc];
    expect(new Set(urls.map((url) => new URL(url).hostname))).toEqual(new Set(['127.0.0.1']));
    const { port } = new URL(await controlOf(net));
    expect([await isOpen('127.0.0.1', port), await isOpen(OTHER, port)]).toEqual([true, false]);
    await readsWhatItWrote(net);
  });

  test('by default nothing is open on other addresses', async () => {
    await using net = await Cluster.start({ nodes: 1, driver, stateDir });
    const { api, debug } = net.node(0);
    for (const url of [api, debug, net.chain.rpc]) expect(await isOpen(OTHER, portOf(url))).toBe(false);
  });

  test('nodes and chain that listen on one address are reached there, also on fixed ports', async () => {
    await using net = await Cluster.start({ nodes: 2, driver, listen: OTHER, stateDir });
    expect(new URL(net.node(1).api).hostname).toBe(OTHER);
    expect(new URL(net.chain.rpc).hostname).toBe(OTHER);
    await readsWhatItWrote(net);
    const first = Number(portOf(net.node(0).api));
    await expect(
      Cluster.start({ nodes: 1, driver, listen: OTHER, ports: first, stateDir }),
    ).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringContaining(
        `port ${first} of ${OTHER} is in use: the API of node-0 wants it`,
      ) as string,
    });
  });
});

test('an address of another machine is refused with the addresses of this one', async () => {
  await expect(Cluster.start({ nodes: 1, listen: '192.0.2.1', stateDir })).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
    message: expect.stringMatching(
      /^listen: got '192\.0\.2\.1', expected an address of this machine: .*127\.0\.0\.1.*, or 0\.0\.0\.0 for all/,
    ) as string,
  });
});

async function controlOf(net: Cluster): Promise<string> {
  const lines = await net.logOf('chain').tail(1000);
  return JSON.parse(lines.find((line) => line.startsWith('{"ready":true')) ?? '{}').control as string;
}
