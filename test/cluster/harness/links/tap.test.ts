import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import type { TapOptions } from '../../../../harness/cluster/heard.ts';
import { readRun } from '../../../../harness/cluster/state/state.ts';
import { LINK_PROXY } from '../../../../harness/places/driver.ts';
import type { TapEvent } from '../../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { bytesOf, eventually } from '../../node/kit.ts';
import { CLI, startSvcnet, svcnetHere } from '../../svcnet.ts';
import { pingMs } from './ping.ts';
import '../../../../harness/vitest.ts';

const stateDir = temporaryFolder('svcnet-tap');
const FULL = 5;
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: FULL }, { mode: 'light' }],
    seed: 11,
    driver: 'process',
    tap: true,
    coldGossip: true,
    stateDir,
  });
});
afterAll(() => net.stop());

async function kept(options: TapOptions = {}): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of net.tap({ ...options, kept: true })) events.push(event);
  return events;
}

const namesOf = (events: readonly TapEvent[]) =>
  new Set(events.filter(({ kind }) => kind === 'message').map(({ protocol, name }) => `${protocol} ${name}`));

test('an upload, a download and a message are seen in their protocols, with the names of the nodes', async () => {
  const [a, b, light] = [net.node(0), net.node(FULL - 1), net.node(FULL)];
  const data = bytesOf('tapped', 100_000);
  const { reference } = await a.bytes.upload(data);
  await net.synced(reference);
  expect(Buffer.from(await light.bytes.download(reference)).equals(data)).toBe(true);
  using heard = await b.messages.listen('tap');
  await a.messages.send('tap', [b.overlay.slice(0, 4)], 'hello', {
    recipient: (await b.client.addresses()).pssPublicKey,
  });
  await eventually('hello has not come', async () =>
    heard.texts.includes('hello') ? undefined : `${heard.texts.length} came`,
  );
  const events = await kept();
  const names = namesOf(events);
  expect([...names]).toEqual(
    expect.arrayContaining([
      'handshake syn',
      'handshake synack',
      'handshake ack',
      'hive peers',
      'pricing threshold',
      'status snapshot',
      'cursors ack',
      'pullsync offer',
      'pushsync delivery',
      'pushsync receipt',
      'retrieval request',
      'retrieval delivery',
    ]),
  );
  expect([...names].filter((name) => / (undecodable|bytes)$/.test(name))).toEqual([]);
  const ends = new Set(events.flatMap(({ from, to }) => [from, to]));
  expect([...ends].filter((name) => name.startsWith('node-')).sort()).toEqual(
    net.nodes.map(({ name }) => name),
  );
  const delivery = events.find(({ protocol, name }) => protocol === 'pushsync' && name === 'delivery');
  expect(delivery?.fields).toMatchObject({
    address: expect.stringMatching(/^[0-9a-f]{64}$/),
    data: expect.stringMatching(/^\d+ B$/),
    stamp: `batch ${net.batches[0]?.id}`,
  });
});

test('a listener hears what is said from then on', async () => {
  const until = new AbortController();
  const heard: TapEvent[] = [];
  const listening = (async () => {
    for await (const event of net.tap({ protocol: 'pingpong', signal: until.signal })) heard.push(event);
  })();
  // Pings until it has begun.
  await eventually('no ping has been heard', async () => {
    await pingMs(net, { from: 0, to: 2 });
    return heard.some(({ name }) => name === 'pong') ? undefined : `${heard.length} events`;
  });
  until.abort();
  await listening;
  expect(heard.find(({ name }) => name === 'ping')).toMatchObject({ from: 'node-0', to: 'node-2' });
  expect(heard.find(({ name }) => name === 'pong')).toMatchObject({ from: 'node-2', to: 'node-0' });
});

test('one node and two nodes select what is theirs', async () => {
  const one = await kept({ nodes: ['node-1'] });
  expect(one.length).toBeGreaterThan(0);
  expect(one.every(({ from, to }) => from === 'node-1' || to === 'node-1')).toBe(true);
  const pair = await kept({ nodes: ['node-1', 'node-2'], protocol: 'handshake' });
  expect(new Set(pair.flatMap(({ from, to }) => [from, to]))).toEqual(new Set(['node-1', 'node-2']));
  expect(new Set(pair.map(({ protocol }) => protocol))).toEqual(new Set(['handshake']));
  expect(() => net.tap({ nodes: ['node-9'] })).toThrow(/no node 'node-9'/);
});

test('a node that is killed and started again joins again, and is seen again', async () => {
  const node = net.node('node-3');
  const killedAt = net.clock.now();
  await node.kill();
  await node.start();
  await net.ready();
  await net.meshed();
  const after = (await kept({ nodes: ['node-3'] })).filter(({ at }) => at >= killedAt);
  // Its old connections end, and on new ones it introduces itself.
  expect(after.some(({ protocol, kind }) => protocol === 'noise' && kind === 'end')).toBe(true);
  expect(namesOf(after)).toContain('handshake ack');
  expect([...namesOf(await kept())].filter((name) => name.endsWith(' undecodable'))).toEqual([]);
});

test('what is kept, and what is said until Ctrl-C, is written as a capture', async () => {
  const file = join(stateDir, 'kept.pcapng');
  const done = await svcnetHere(['tap', '--kept', '--write', file], { stateDir });
  expect(done).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /wrote [\d,]+ packets to .*kept\.pcapng\n {2}! [\d,]+ packets without the bytes/,
    ),
  });
  expect(packetsOf(file)).toBeGreaterThan(100);
  const again = await svcnetHere(['tap', '--kept', '--write', file], { stateDir });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('kept.pcapng already exists') });
  const forced = await svcnetHere(['tap', '--kept', '--protocol', 'handshake', '--write', file, '--force'], {
    stateDir,
  });
  expect(forced.code).toBe(0);
  const live = join(stateDir, 'live.pcapng');
  const { child, finished } = startSvcnet(['tap', '--protocol', 'pingpong', '--write', live], { stateDir });
  await eventually('no ping has been written', async () => {
    await pingMs(net, { from: 0, to: 2 });
    return existsSync(live) && packetsOf(live) >= 4 ? undefined : 'fewer than four packets';
  });
  child.kill('SIGINT');
  const { stdout } = await finished;
  expect(stdout).toContain(`wrote ${packetsOf(live)} packets to ${live}`);
  expect(stdout).not.toContain('without the bytes');
});

test('a capture is piped into a program, and into nothing else', async () => {
  const tap = ['tap', '--kept', '--protocol', 'handshake', '--write', '-'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, ...tap], {
    encoding: 'buffer',
    env: { ...process.env, SVCNET_STATE: stateDir },
  });
  expect(blocksIn(stdout)).toBeGreaterThan(0);
  expect(String(stderr)).toContain(`wrote ${blocksIn(stdout)} packets to standard output`);
  expect(String(stderr)).toMatch(/wireshark -k -i - -X lua_script:.*svcnet\.lua/);
  const both = await svcnetHere([...tap, '--json'], { stateDir });
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('both need standard output') });
});

test('a tap ends with its cluster, and says what it has written', async () => {
  const brief = await Cluster.start({ nodes: 2, batches: false, tap: true, driver: 'process', stateDir });
  const file = join(stateDir, 'gone.pcapng');
  const tap = ['tap', '--name', brief.name];
  const taps = [
    startSvcnet([...tap, '--write', file], { stateDir }),
    startSvcnet([...tap, '--json'], { stateDir }),
  ];
  await eventually('nothing has been written, or nothing shown', async () => {
    await pingMs(brief, { from: 0, to: 1 });
    const isTold = existsSync(file) && packetsOf(file) > 2 && taps[1]?.output.stdout !== '';
    return isTold ? undefined : 'no packet';
  });
  await brief.stop();
  const [written, shown] = await Promise.all(taps.map(({ finished }) => finished));
  const removed = expect.stringContaining(`cluster '${brief.name}' has been removed`) as string;
  expect(written).toMatchObject({ code: 1, stderr: removed });
  expect(written?.stdout).toContain(`wrote ${packetsOf(file)} packets to ${file}`);
  expect(shown).toMatchObject({ code: 1, stderr: removed });
});

test('a proxy that was killed is started again with its cluster, and taps it', async () => {
  const name = 'again';
  const up = await svcnetHere(['up', '-n', '2', '--no-batches', '--tap', '--name', name], { stateDir });
  expect(up.code, up.stderr).toBe(0);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await svcnetHere(['down', '--name', name], { stateDir })));
  const tap = ['tap', '--kept', '--name', name];
  process.kill(Number(readRun(stateDir, name, LINK_PROXY)?.handle['pid']), 'SIGKILL');
  await eventually('the proxy still answers', async () => {
    const { code, stderr } = await svcnetHere(tap, { stateDir });
    return code === 2 && stderr.includes('the whole cluster again: svcnet start') ? undefined : stderr;
  });
  const started = await svcnetHere(['start', '--name', name], { stateDir });
  expect(started.code, started.stderr).toBe(0);
  expect((await svcnetHere([...tap, '--protocol', 'handshake'], { stateDir })).stdout).toContain('synack');
});

const packetsOf = (file: string) => blocksIn(readFileSync(file));

function blocksIn(bytes: Buffer): number {
  let blocks = 0;
  for (let at = 0; at < bytes.length; blocks++) {
    const size = bytes.readUInt32LE(at + 4);
    expect(bytes.readUInt32LE(at + size - 4)).toBe(size);
    at += size;
  }
  return blocks - 2;
}

test('what is kept is seen without waiting', async () => {
  const shaken = { protocol: 'handshake', message: 'ack', within: 0 };
  await expect(net).toSee(shaken);
  await expect(expect(net).not.toSee(shaken)).rejects.toThrow('expected another state than this');
});

test('a network that svcnet did not start has no tap, and says why', async () => {
  const nodes = net.nodes.map(({ api, debug }) => ({ api, debug }));
  await using theirs = await Cluster.attachNetwork(
    { name: 'theirs', chain: { rpc: net.chain.rpc }, nodes },
    { stateDir },
  );
  expect(() => theirs.tap()).toThrow(
    "cannot tap cluster 'theirs': it was not started here, so the keys of its nodes are not known",
  );
});
