/** Links of this network force every push through several nodes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { TraceDocument } from '../../../harness/inspect/trace/document.ts';
import { waysOfLost } from '../../../harness/inspect/trace/losses.ts';
import type { Hop } from '../../../harness/inspect/trace/route.ts';
import { split } from '../../../node/files/splitter.ts';
import { bytesOf, eventually, stateFolder } from '../node/kit.ts';
import { svcnetHere } from '../svcnet.ts';

const SIGNAL = new AbortController().signal;
const EVENTS = 50_000;
/** In blocks: a day, after which the initial batches have expired. */
const LIFETIME = 87;

const stateDir = stateFolder();
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    name: 'traced',
    driver: 'embedded',
    seed: 11,
    // Blocks are mined only by the tests, so that batches live as long as they want.
    chain: { blockTime: '1000s' },
    nodes: [
      {
        count: 8,
        // Each is closer to 0000 than the one before.
        neighbourhoods: ['111', '10', '01', '001', '0001', '0000', '0000', '0000'],
        options: { 'minimum-storage-radius': 4, 'chunk-events': EVENTS },
      },
    ],
    topology: {
      links: [
        ['node-0', 'node-1'],
        ['node-1', 'node-2'],
        ['node-2', 'node-3'],
        ['node-3', 'node-4'],
        ['node-4', 'node-5'],
        ['node-4', 'node-6'],
        ['node-4', 'node-7'],
        ['node-5', 'node-6'],
        ['node-5', 'node-7'],
        ['node-6', 'node-7'],
      ],
    },
    stateDir,
  });
});
afterAll(async () => {
  await net.stop();
});

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

async function traced(
  reference: string,
  ...flags: string[]
): Promise<TraceDocument & { code: number | null }> {
  const { code, stdout } = await svcnet('trace', reference, '--name', 'traced', '--json', ...flags);
  return { ...(JSON.parse(stdout) as TraceDocument), code };
}

/** Whose address begins with 0000. */
function chunkNamed(name: string): Chunk {
  for (let n = 0; ; n++) {
    const chunk = makeCac(32n, bytesOf(`${name} ${n}`, 32));
    if (chunk.address[0]! < 0x10) return chunk;
  }
}

/** Along first attempts. */
function path({ node, attempts }: Hop): string[] {
  const [first] = attempts;
  return [node, ...(first?.hop === undefined ? [] : path(first.hop))];
}

function all(hop: Hop): Hop[] {
  return [hop, ...hop.attempts.flatMap((attempt) => (attempt.hop === undefined ? [] : all(attempt.hop)))];
}

test('the route of a chunk leads over every forwarder to its storers', async () => {
  const chunk = chunkNamed('pushed');
  const address = toHex(chunk.address);
  await net.node(0).chunks.upload(chunk.data);
  await eventually('the neighbourhood does not hold the chunk', async () => {
    const held = await Promise.all([5, 6, 7].map((n) => net.node(n).chunks.has(address)));
    return held.every(Boolean) ? undefined : `held: ${held.join()}`;
  });
  const { code, content, chunks, notes } = await traced(address);
  expect(code).toBe(0);
  expect(content).toMatchObject({ chunks: 1, found: 1, missing: [], unread: null });
  expect(notes).toEqual([]);
  const [{ holders, belongs, route }] = chunks as [TraceDocument['chunks'][number]];
  expect(holders).toEqual(['node-5', 'node-6', 'node-7']);
  expect(belongs.map(({ node, holds }) => `${node} ${holds}`).sort()).toEqual([
    'node-5 true',
    'node-6 true',
    'node-7 true',
  ]);
  expect(route.uploads).toMatchObject([{ node: 'node-0', kind: 'uploaded', detail: 'direct' }]);
  expect(route.pushes).toHaveLength(1);
  const [push] = route.pushes as [Hop];
  const way = path(push);
  expect(way.slice(0, 5)).toEqual(['node-0', 'node-1', 'node-2', 'node-3', 'node-4']);
  expect(way).toHaveLength(6);
  expect(push).toMatchObject({ outcome: 'synced', storer: expect.stringMatching(/^node-[567]$/) });
  // The last forwarder asks three of the neighbourhood at once.
  const last = all(push).find(({ node }) => node === 'node-4');
  expect(last?.outcome).toBe('forwarded');
  expect(last?.attempts.map(({ number }) => number)).toEqual([1, 2, 3]);
  expect(last?.attempts.map(({ peer }) => peer).sort()).toEqual(['node-5', 'node-6', 'node-7']);
  for (const hop of all(push)) expect(hop.ms, hop.node).toBeGreaterThan(0);
  for (const { attempts } of all(push)) {
    for (const { ms, hop } of attempts)
      if (ms !== undefined && hop?.ms !== undefined) expect(hop.ms).toBeLessThan(ms);
  }
});

test('a read is traced the same way, including the copies it leaves in caches', async () => {
  const address = toHex(chunkNamed('pushed').address);
  await net.node(1).chunks.download(address);
  await eventually('the chunk is not cached', async () =>
    (await net.node(1).chunks.has(address)) ? undefined : 'not yet',
  );
  const { chunks } = await traced(address);
  const [request] = chunks[0]!.route.requests as [Hop];
  const way = path(request);
  expect(way.slice(0, 4)).toEqual(['node-1', 'node-2', 'node-3', 'node-4']);
  // A slow storer is not waited for: another one is asked, and may come too late.
  const delivered = all(request).filter(({ outcome }) => outcome === 'delivered');
  expect(delivered.slice(0, 4).map(({ node }) => node)).toEqual(way.slice(0, 4));
  expect(['node-5', 'node-6', 'node-7']).toContain(delivered[4]?.node);
  const cached = chunks[0]!.route.kept.filter(({ kind }) => kind === 'cached');
  expect(cached.map(({ node }) => node)).toContain('node-1');
});

test('an uploader stores what it is responsible for', async () => {
  const chunk = chunkNamed('kept');
  await net.node(5).chunks.upload(chunk.data);
  const { chunks } = await traced(toHex(chunk.address));
  const own = chunks[0]!.route.kept.filter(({ node }) => node === 'node-5');
  expect(own).toMatchObject([{ kind: 'stored', detail: 'it belongs here too' }]);
});

test('the text output is a tree of hops', async () => {
  const address = toHex(chunkNamed('pushed').address);
  const { code, stdout } = await svcnet('trace', address, '--name', 'traced');
  expect(code).toBe(0);
  const lines = stdout.split('\n');
  const at = (text: RegExp) => lines.findIndex((line) => text.test(line));
  const hops = [
    at(/^ +\d+:\d\d\.\d{3} {2}node-0 took it from a client \(direct\)/),
    at(/^ +\d+:\d\d\.\d{3} {2}node-0 pushed it, receipt of node-[567] .* ms$/),
    at(/ {2}└─ 1 node-1 got it from node-0 and passed it on .* ms$/),
    at(/ {5}└─ 1 node-2 got it from node-1 and passed it on .* ms$/),
    at(/ {11}└─ 1 node-4 got it from node-3 and passed it on .* ms$/),
    at(/ {14}├─ 1 node-[567] got it from node-4, stored it and signed the receipt .* ms$/),
    at(/ {14}└─ 3 node-[567] got it from node-4, stored it and signed the receipt .* ms$/),
  ];
  expect(hops).not.toContain(-1);
  expect(hops).toEqual(hops.toSorted((a, b) => a - b));
  expect(stdout).toContain('✔ node-5  proximity order');
});

test('for a reference every chunk below it is looked for, even in encrypted content', async () => {
  const data = bytesOf('encrypted', 200_000);
  const { reference } = await net.node(5).bytes.upload(data, { encrypt: true, deferred: false });
  expect(reference).toHaveLength(128);
  const { code, encrypted, content, chunks } = await traced(reference, '--chunks', '3');
  expect(code).toBe(0);
  expect(encrypted).toBe(true);
  // 49 leaves and their root.
  expect(content).toMatchObject({ chunks: 50, found: 50, missing: [], unread: null });
  expect(content.copies.reduce((sum, { chunks: count }) => sum + count, 0)).toBe(50);
  expect(content.slowest[0]).toMatchObject({ node: 'node-5' });
  expect(chunks.map(({ chunk }) => chunk)[0]).toBe(reference.slice(0, 64));
  expect(chunks).toHaveLength(3);
  for (const { route } of chunks) expect(route.pushes[0]?.node).toBe('node-5');
});

test('a wrong key is reported, with what is known of the root', async () => {
  const { reference } = await net
    .node(5)
    .bytes.upload(bytesOf('locked', 9000), { encrypt: true, deferred: false });
  for (const key of ['5a', '5b', '5c', '5d', '5e', '5f', '60', '61']) {
    const { content } = await traced(reference.slice(0, 64) + key.repeat(32));
    expect(content.found).toBe(1);
    // One of about sixteen wrong keys makes a span that fits a tree.
    if (content.chunks > 1) {
      expect(content.missing.length).toBeGreaterThan(0);
      continue;
    }
    expect(content.unread).toContain('malformed tree');
    return;
  }
  expect.fail('every wrong key opens a tree');
});

test('chunks that no node has are listed', async () => {
  const chunks: Chunk[] = [];
  const putter = { put: async (chunk: Chunk) => void chunks.push(chunk) };
  const { reference } = await split(
    (async function* () {
      yield bytesOf('in parts', 5 * 4096);
    })(),
    putter,
  );
  const [lost, ...others] = chunks as [Chunk, ...Chunk[]];
  for (const { data } of others) await net.node(5).chunks.upload(data);
  const { code, content } = await traced(toHex(reference));
  expect(code).toBe(1);
  expect(content).toMatchObject({ chunks: 6, found: 5, missing: [toHex(lost.address)], unread: null });
  const { stdout } = await svcnet('trace', toHex(reference), '--name', 'traced');
  expect(stdout).toContain('5 of 6 found');
  expect(stdout).toContain(`missing     ${toHex(lost.address)}`);
});

test('for a chunk that no node ever had, the nodes that should have it are known', async () => {
  const address = `0${'7'.repeat(63)}`;
  const { code, content, chunks } = await traced(address);
  expect(code).toBe(1);
  expect(content).toMatchObject({ chunks: 1, found: 0, missing: [address] });
  expect(chunks[0]).toMatchObject({ holders: [], route: { uploads: [], pushes: [] } });
  expect(chunks[0]?.belongs.map(({ holds }) => holds)).toEqual([false, false, false]);
  const { stdout } = await svcnet('trace', address, '--name', 'traced');
  expect(stdout).toContain('held by     nobody');
  expect(stdout).toContain('no node reports it');
});

test('a failed search shows the nodes asked', async () => {
  const address = `0${'6'.repeat(63)}`;
  await expect(net.node(3).chunks.download(address)).rejects.toThrow('not found');
  const { chunks } = await traced(address);
  const [request] = chunks[0]!.route.requests as [Hop];
  expect(request).toMatchObject({ node: 'node-3', outcome: 'not-delivered' });
  expect(request.attempts.some(({ peer, outcome }) => peer === 'node-4' && outcome === 'failed')).toBe(true);
  const lines = await waysOfLost([address], net.nodes, { began: net.startedAt, signal: SIGNAL });
  expect(lines.join('\n')).toMatch(/node-3 ✖ did not get it/);
  expect(
    await waysOfLost([`0${'5'.repeat(63)}`], net.nodes, { began: net.startedAt, signal: SIGNAL }),
  ).toEqual([]);
});

test.each([
  ['abc', 'Expected 64 hex digits, or 128 with the key of encrypted content'],
  ['z'.repeat(64), 'Expected 64 hex digits'],
])('%s is not a reference', async (given, message) => {
  const { code, stderr } = await svcnet('trace', given, '--name', 'traced');
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('a node that is down is listed with what it should hold', async () => {
  await net.node(6).kill();
  const chunk = chunkNamed('with one node less');
  await net.node(0).chunks.upload(chunk.data);
  const { code, nodes, chunks, notes } = await traced(toHex(chunk.address));
  expect(code).toBe(0);
  expect(nodes[6]).toMatchObject({ name: 'node-6', silence: expect.any(String), events: null });
  expect(chunks[0]?.belongs.find(({ node }) => node === 'node-6')).toMatchObject({ holds: null });
  expect(notes.find((note) => note.startsWith('node-6 was not asked'))).toBeDefined();
  const [push] = chunks[0]!.route.pushes as [Hop];
  expect(all(push).map(({ node }) => node)).not.toContain('node-6');
  await net.node(6).start();
});

test('a chunk that left a reserve is reported with the reason', async () => {
  const chunk = chunkNamed('evicted');
  const address = toHex(chunk.address);
  await net.node(0).chunks.upload(chunk.data);
  await net.chain.mine(LIFETIME);
  await eventually('a node keeps the chunk', async () => {
    const held = await Promise.all(net.nodes.map((node) => node.chunks.has(address)));
    return held.includes(true) ? `held: ${held.join()}` : undefined;
  });
  const { code, chunks } = await traced(address);
  expect(code).toBe(1);
  const { kept } = chunks[0]!.route;
  const storers = kept.filter(({ kind }) => kind === 'evicted').map(({ node }) => node);
  expect(storers.sort()).toEqual(['node-5', 'node-6', 'node-7']);
  expect(kept.find(({ kind }) => kind === 'evicted')?.detail).toBe('its batch is used up or expired');
  expect(kept.filter(({ kind }) => kind === 'deleted')).toHaveLength(3);
});

test('without events the location of the chunk is shown, and how to get more', async () => {
  await using plain = await Cluster.start({ name: 'plain', driver: 'embedded', seed: 3, nodes: 2, stateDir });
  const { reference } = await plain.node(0).bytes.upload(bytesOf('plain', 100), { deferred: false });
  await eventually('node-1 lacks the chunk', async () =>
    (await plain.node(1).chunks.has(reference)) ? undefined : 'it has neither been pushed nor pulled',
  );
  const { code, stdout } = await svcnet('trace', reference, '--name', 'plain');
  expect(code).toBe(0);
  expect(stdout).toMatch(/held by .*node-1/);
  expect(stdout).toContain('no node reports it');
  expect(stdout).toContain('svcnet up --trace');
  const { stdout: json } = await svcnet('trace', reference, '--name', 'plain', '--json');
  expect((JSON.parse(json) as TraceDocument).nodes.map(({ events }) => events)).toEqual([
    { capacity: 0, lost: 0 },
    { capacity: 0, lost: 0 },
  ]);
  expect(await waysOfLost([reference], plain.nodes, { began: plain.startedAt, signal: SIGNAL })).toEqual([]);
});

test('up --trace makes every node keep events', async () => {
  const up = await svcnet(
    'up',
    '-n',
    '1',
    '--driver',
    'embedded',
    '--trace',
    '--name',
    'up',
    '--seed',
    '1',
    '--json',
  );
  expect(up.code, up.stderr).toBe(0);
  try {
    const attached = await Cluster.attach('up', { stateDir });
    expect((await attached.node(0).client.chunkEvents()).capacity).toBeGreaterThan(10_000);
    await attached.detach();
  } finally {
    expect((await svcnet('down', '--name', 'up')).code).toBe(0);
  }
});
