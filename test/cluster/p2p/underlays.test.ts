import { expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { stateFolder } from '../node/kit.ts';

const stateDir = stateFolder();

test.each([
  [['ws'], [/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/ws\/p2p\//]],
  [['wss'], [/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/tls\/sni\/127-0-0-1\.12d3koow\w+\.nodes\.test\/ws\/p2p\//]],
  [
    ['tcp', 'ws', 'wss'],
    [/\/tcp\/\d+\/p2p\//, /\/tcp\/\d+\/ws\/p2p\//, /\/tls\/sni\/.*\/ws\/p2p\//],
  ],
] as const)('two nodes carry what is uploaded over %j', async (underlays, expected) => {
  const net = await Cluster.start({ nodes: 2, underlays, seed: 71, stateDir });
  try {
    const [a, b] = net.nodes;
    if (a === undefined || b === undefined) throw new Error('there are two nodes');
    const addresses = (await (await fetch(`${a.api}/addresses`)).json()) as { underlay: string[] };
    expect(addresses.underlay).toEqual(expected.map((form) => expect.stringMatching(form)));
    const { reference } = await a.bytes.upload(Buffer.alloc(100_000, 'over a WebSocket'), {
      deferred: false,
    });
    expect(Buffer.from(await b.bytes.download(reference))).toEqual(Buffer.alloc(100_000, 'over a WebSocket'));
  } finally {
    await net.stop();
  }
});

test.each([
  [{ tap: true }, 'underlays: got ws with tap, expected tcp'],
  [{ driver: 'embedded' }, 'underlays: got ws with driver embedded, expected driver process'],
  [
    { linkFaults: true, underlays: ['ws', 'wss'] },
    'underlays: got ws, wss with linkFaults, expected tcp and ws',
  ],
] as const)('%j is refused by name', async (options, message) => {
  await expect(Cluster.start({ nodes: 2, underlays: ['ws'], stateDir, ...options })).rejects.toThrow(message);
});

test('link faults reach links over WebSockets', async () => {
  const net = await Cluster.start({
    nodes: 2,
    underlays: ['ws'],
    linkFaults: true,
    seed: 72,
    batches: false,
    stateDir,
  });
  try {
    const [a, b] = net.nodes;
    if (a === undefined || b === undefined) throw new Error('there are two nodes');
    await net.faults.link(a.name, b.name, { latency: '200ms' });
    await a.client.pingpong(b.overlay);
    const [healed] = await net.faults.heal();
    expect(healed?.effect['connections delayed']).toBeGreaterThan(0);
    expect(healed?.effect['bytes delayed']).toBeGreaterThan(0);
  } finally {
    await net.stop();
  }
});
