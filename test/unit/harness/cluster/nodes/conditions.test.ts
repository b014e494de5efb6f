import { once } from 'node:events';
import { expect, test } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { until } from '../../../../../harness/base/wait.ts';
import { ClientError } from '../../../../../harness/client/errors.ts';
import type { Tag } from '../../../../../harness/client/types.ts';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import {
  findOwner,
  findTags,
  probeBatch,
  probeBatches,
} from '../../../../../harness/cluster/nodes/conditions.ts';
import { missingLinks, probeMesh } from '../../../../../harness/cluster/nodes/mesh.ts';
import { awaitTag, probeTag } from '../../../../../harness/cluster/nodes/tag-wait.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const SIGNAL = new AbortController().signal;
const SEARCH = { clock: new ManualClock(), signal: SIGNAL };

/** The first byte tells bins apart: 00.. and 80.. share no bit, 00.. and 40.. share one. */
const overlay = (first: number, last = 0) =>
  `${first.toString(16).padStart(2, '0')}${'00'.repeat(30)}${last.toString(16).padStart(2, '0')}`;

interface Fake {
  name: string;
  overlay: string;
  flavour?: 'svc' | 'bee';
  binary?: string;
  mode?: 'full' | 'light' | 'boot';
  lacking?: string;
  running?: boolean;
  peers?: readonly string[] | Error;
  /** Names, where a topology says them. */
  linked?: readonly string[];
  block?: number;
  stamp?: { usable: boolean; blockNumber: number };
  tag?: Partial<Tag> | ClientError;
  tags?: readonly Partial<Tag>[] | Error;
  batches?: readonly string[] | Error;
  state?: string;
}

function node(fake: Fake): ClusterNode {
  const answer = <T>(value: T | Error) =>
    value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
  return {
    name: fake.name,
    overlay: fake.overlay,
    flavour: fake.flavour ?? 'svc',
    binary: fake.binary,
    mode: fake.mode ?? 'full',
    peers: fake.linked,
    lacking: () => answer(fake.lacking),
    running: fake.running ?? true,
    state: fake.state ?? 'running',
    client: {
      peers: () =>
        answer(
          fake.peers instanceof Error
            ? fake.peers
            : (fake.peers ?? []).map((address) => ({ address, fullNode: true })),
        ),
      chainState: () => answer({ block: fake.block ?? 0 }),
    },
    stamps: {
      get: () => answer(fake.stamp),
      list: () =>
        answer(
          fake.batches instanceof Error ? fake.batches : (fake.batches ?? []).map((batchID) => ({ batchID })),
        ),
    },
    tags: { get: () => answer(fake.tag), list: () => answer(fake.tags ?? []) },
  } as unknown as ClusterNode;
}

test('a node that lacks links is named with those that it has, one that does not answer is not', () => {
  const [a, b, c] = [overlay(0), overlay(0x40), overlay(0x80)];
  const nodes = [a, b, c].map((own, index) => node({ name: `node-${index}`, overlay: own }));
  const peers = new Map([
    [a, new Set([b])],
    [b, new Set([a, c])],
  ]);
  expect(Object.fromEntries(missingLinks(nodes, peers, new Set()))).toEqual({
    'node-0': { text: 'node-0 is not connected to node-2, and has 1 of 2 links', others: ['node-2'] },
  });
});

test('links to a node without any peer are not missing: it is named itself', () => {
  const overlays = [0, 0x40, 0x80, 0xc0].map((first) => overlay(first));
  const [a = '', b = '', c = '', d = ''] = overlays;
  const nodes = overlays.map((own, index) => node({ name: `node-${index}`, overlay: own }));
  const peers = new Map([
    [a, new Set([b, c])],
    [b, new Set([a])],
    [c, new Set([a])],
    [d, new Set<string>()],
  ]);
  expect(Object.fromEntries(missingLinks(nodes, peers, new Set([d])))).toEqual({
    'node-1': { text: 'node-1 is not connected to node-2, and has 1 of 2 links', others: ['node-2'] },
    'node-2': { text: 'node-2 is not connected to node-1, and has 1 of 2 links', others: ['node-1'] },
  });
});

test('nodes that all know each other form a mesh', async () => {
  const [a, b, c] = [overlay(0), overlay(0x40), overlay(0x80)];
  const nodes = [
    node({ name: 'node-0', overlay: a, peers: [b, c] }),
    node({ name: 'node-1', overlay: b, peers: [a, c] }),
    node({ name: 'node-2', overlay: c, peers: [a, b] }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({ done: { links: 6, expected: 6 } });
});

test('a missing link is reported by node and peer', async () => {
  const [a, b] = [overlay(0), overlay(0x80)];
  const nodes = [
    node({ name: 'node-0', overlay: a, peers: [b] }),
    node({ name: 'node-1', overlay: b, peers: [] }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({
    missing: '1 of 2 links, node-1 is not connected to node-0',
  });
});

test('with a topology exactly its links are expected, limited to nodes that run', async () => {
  const [a, b, c] = [overlay(0), overlay(0x40), overlay(0x80)];
  const line = (ofA: string[], ofC: string[], running = true) => [
    node({ name: 'node-0', overlay: a, linked: ['node-1'], peers: ofA }),
    node({ name: 'node-1', overlay: b, linked: ['node-0', 'node-2'], peers: [a, c], running }),
    node({ name: 'node-2', overlay: c, linked: ['node-1'], peers: ofC }),
  ];
  expect(await probeMesh(line([b], [b]), SIGNAL)).toMatchObject({ done: { links: 4, expected: 4 } });
  expect(await probeMesh(line([], [b]), SIGNAL)).toMatchObject({
    missing: '3 of 4 links, node-0 is not connected to node-1',
  });
  expect(await probeMesh(line([b, c], [b]), SIGNAL)).toMatchObject({
    missing: '4 of 4 links, node-0 is connected to node-2, a link that its topology does not have',
  });
  expect(await probeMesh(line([], [], false), SIGNAL)).toMatchObject({ done: { links: 0, expected: 0 } });
});

test('peers outside the cluster do not count, and links to nodes that do not run are not missing', async () => {
  const [a, b] = [overlay(0), overlay(0x80)];
  const nodes = [
    node({ name: 'node-0', overlay: a, peers: [overlay(0xff)] }),
    node({ name: 'node-1', overlay: b, running: false }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({ done: { links: 0, expected: 0 } });
});

test('in a cluster of more than nine nodes any four of a bin suffice, in a smaller one all are required', async () => {
  const hub = (count: number, others: number) => {
    const far = Array.from({ length: others }, (_, i) => overlay(0x80, i));
    return [
      node({ name: 'hub', overlay: overlay(0), peers: far.slice(0, count) }),
      ...far.map((own, i) =>
        node({
          name: `far-${i}`,
          overlay: own,
          peers: [overlay(0), ...far.filter((other) => other !== own)],
        }),
      ),
    ];
  };
  expect(await probeMesh(hub(4, 9), SIGNAL)).toHaveProperty('done');
  expect(await probeMesh(hub(3, 9), SIGNAL)).toMatchObject({
    missing: expect.stringContaining('hub is not connected to far-3, far-4, far-5') as string,
  });
  expect(await probeMesh(hub(8, 8), SIGNAL)).toHaveProperty('done');
  expect(await probeMesh(hub(7, 8), SIGNAL)).toMatchObject({
    missing: expect.stringContaining('hub is not connected to far-7') as string,
  });
});

test('a node is not expected to link to those that accept no more peers of its bin', async () => {
  const near = Array.from({ length: 19 }, (_, i) => overlay(0x00, i));
  const far = Array.from({ length: 5 }, (_, i) => overlay(0x80, i));
  const others = (all: readonly string[], own: string) => all.filter((one) => one !== own);
  const [late = '', ...early] = near;
  const nodes = (ofFirst: readonly string[]) => [
    node({ name: 'late', overlay: late, peers: early }),
    ...early.map((own, i) =>
      node({ name: `early-${i}`, overlay: own, peers: [...others(near, own), ...far] }),
    ),
    ...far.map((own, i) =>
      node({
        name: `far-${i}`,
        overlay: own,
        peers: [...others(far, own), ...(i === 0 ? ofFirst : early)],
      }),
    ),
  ];
  expect(await probeMesh(nodes(early), SIGNAL)).toHaveProperty('done');
  expect(await probeMesh(nodes(early.slice(1)), SIGNAL)).toMatchObject({
    missing: expect.stringContaining('late is not connected to far-0') as string,
  });
});

test('boot nodes count neither towards a bin nor towards the nodes of the cluster', async () => {
  const far = Array.from({ length: 8 }, (_, i) => overlay(0x80, i));
  const boot = overlay(0xff);
  const nodes = (peers: readonly string[]) => [
    node({ name: 'boot', overlay: boot, mode: 'boot', peers: [] }),
    node({ name: 'hub', overlay: overlay(0), peers }),
    ...far.map((own, i) =>
      node({ name: `far-${i}`, overlay: own, peers: [overlay(0), ...far.filter((other) => other !== own)] }),
    ),
  ];
  expect(await probeMesh(nodes(far), SIGNAL)).toMatchObject({ done: { links: 72, expected: 72 } });
  expect(await probeMesh(nodes([boot, ...far.slice(1)]), SIGNAL)).toMatchObject({
    missing: '71 of 72 links, hub is not connected to far-0',
  });
});

test('a node that does not answer is reported as missing', async () => {
  const nodes = [
    node({ name: 'node-0', overlay: overlay(0), peers: new Error('connection refused') }),
    node({ name: 'node-1', overlay: overlay(0x80), peers: [overlay(0)] }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({
    missing: expect.stringContaining('node-0: connection refused') as string,
  });
});

test('a batch is usable only once every running node has read the block of its creation', async () => {
  const owner = node({
    name: 'node-0',
    overlay: overlay(0),
    stamp: { usable: true, blockNumber: 20 },
    block: 20,
  });
  const behind = node({ name: 'node-1', overlay: overlay(0x80), block: 19 });
  const batch = 'ab'.repeat(32);
  expect(await probeBatch(batch, owner, [owner], SIGNAL)).toEqual({ done: true });
  expect(await probeBatch(batch, owner, [owner, behind], SIGNAL)).toEqual({
    missing: 'node-1 has read block 19, batch abababab is of block 20',
  });
});

test.each([
  [{ split: 0, synced: 0, seen: 0 }, false],
  [{ split: 4, synced: 3, seen: 0 }, false],
  [{ split: 4, synced: 3, seen: 1 }, true],
  [{ split: 4, synced: 4, seen: 0 }, true],
])('a tag of %o is synced: %s', async (tag, synced) => {
  const result = await probeTag({ node: node({ name: 'node-0', overlay: overlay(0), tag }), tag: 1 }, SIGNAL);
  expect('done' in result).toBe(synced);
});

/** A tag whose chunks arrive at these times, beside another upload. */
function pushing(
  clock: ManualClock,
  { at, others = [] }: { at: readonly number[]; others?: readonly Partial<Tag>[] },
) {
  const tag = () => ({
    split: 2,
    seen: 0,
    synced: at.filter((ms) => ms <= clock.monotonic() - began).length,
  });
  const began = clock.monotonic();
  const tags = { get: async () => tag(), list: async () => [{ uid: 1, ...tag() }, ...others] };
  return Object.assign(node({ name: 'node-0', overlay: overlay(0) }), { tags }) as unknown as ClusterNode;
}

test('an upload is awaited as long as its chunks arrive, unless the wait has a limit', async () => {
  const minute = 60_000;
  const begin = (at: readonly number[], timeoutMs?: number) => {
    const clock = new ManualClock();
    const waiting = awaitTag({ node: pushing(clock, { at }), tag: 1 }, { clock, timeoutMs });
    return { clock, outcome: Promise.allSettled([waiting]) };
  };
  const slow = begin([4 * minute, 8 * minute]);
  await slow.clock.advance(9 * minute);
  expect(await slow.outcome).toMatchObject([{ status: 'fulfilled', value: { synced: 2 } }]);
  const stuck = begin([4 * minute]);
  await stuck.clock.advance(9.5 * minute);
  expect(await stuck.outcome).toMatchObject([
    {
      reason: {
        code: 'WAIT_TIMEOUT',
        message: expect.stringMatching(/no chunk of it arrived within .*1 of 2 chunks synced$/),
      },
    },
  ]);
  const limited = begin([4 * minute, 8 * minute], 5 * minute);
  await limited.clock.advance(6 * minute);
  expect(await limited.outcome).toMatchObject([{ reason: { code: 'WAIT_TIMEOUT' } }]);
});

test('a wait for an upload that stands still says what else its node pushes', async () => {
  const clock = new ManualClock();
  const others = [
    { uid: 2, split: 900, seen: 100, synced: 300 },
    { uid: 3, split: 7, seen: 0, synced: 7 },
    { uid: 4, split: 0, seen: 0, synced: 0 },
  ];
  const told: (string | undefined)[] = [];
  const waiting = awaitTag(
    { node: pushing(clock, { at: [], others }), tag: 1 },
    { clock, timeoutMs: 20_000, onProgress: (_synced, _split, text) => told.push(text) },
  );
  const outcome = Promise.allSettled([waiting]);
  await clock.advance(21_000);
  const text = 'node-0 also pushes 500 chunks of 1 other upload';
  expect(await outcome).toMatchObject([
    { reason: { message: expect.stringContaining(`tag 1: 0 of 2 chunks synced; ${text}`) } },
  ]);
  expect([told[0], told.at(-1)]).toEqual([undefined, text]);
});

test('a tag that does not exist is an error, not a wait', async () => {
  const missing = new ClientError('tag not present', {
    class: 'http.404',
    node: 'node-0',
    method: 'GET',
    path: '/tags/9',
    status: 404,
  });
  const target = { node: node({ name: 'node-0', overlay: overlay(0), tag: missing }), tag: 9 };
  await expect(probeTag(target, SIGNAL)).rejects.toBe(missing);
});

test('a wait returns what its probe found', async () => {
  const found = await until('nothing is found', () => Promise.resolve({ done: 42 }), {
    clock: new ManualClock(),
    timeoutMs: 1000,
  });
  expect(found).toBe(42);
});

test('a wait ends with the error of its probe', async () => {
  const broken = new Error('broken');
  const wait = until('nothing is found', () => Promise.reject(broken), {
    clock: new ManualClock(),
    timeoutMs: 1000,
  });
  await expect(wait).rejects.toBe(broken);
});

test('an interrupted wait says so', async () => {
  const interruption = new AbortController();
  interruption.abort();
  const wait = until('nothing is found', () => Promise.resolve({ missing: 'all of it' }), {
    clock: new ManualClock(),
    timeoutMs: 1000,
    signal: interruption.signal,
  });
  await expect(wait).rejects.toThrow(expect.objectContaining({ code: 'INTERRUPTED' }) as HarnessError);
});

test('a wait that times out says what was missing, not that its last look was cut off', async () => {
  const looks = ['a link', 'GET /balances: the operation was aborted'];
  const probe = async (signal: AbortSignal) => {
    const [missing = '', ...more] = looks.splice(0, looks.length);
    looks.push(...more);
    if (more.length === 0) await once(signal, 'abort');
    return { missing };
  };
  const clock = new ManualClock();
  const wait = until('nothing is found', probe, { clock, timeoutMs: 50 });
  const failed = expect(wait).rejects.toThrow(/^nothing is found within 50 ms: a link$/);
  await clock.advance(50);
  await failed;
});

test('a light node has its own links, and no node is expected to link to it', async () => {
  const [a, b, c] = [overlay(0), overlay(0x40), overlay(0x80)];
  const nodes = [
    node({ name: 'node-0', overlay: a, peers: [b] }),
    node({ name: 'node-1', overlay: b, peers: [a] }),
    node({ name: 'node-2', overlay: c, mode: 'light', peers: [a, b] }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({ done: { links: 4, expected: 4 } });
});

test('bees of different programs need not be connected to each other', async () => {
  const [a, b, c] = [overlay(0), overlay(0x40), overlay(0x80)];
  const nodes = [
    node({ name: 'node-0', overlay: a, peers: [b, c] }),
    node({ name: 'node-1', overlay: b, flavour: 'bee', binary: '/opt/old', peers: [a] }),
    node({ name: 'node-2', overlay: c, flavour: 'bee', binary: '/opt/new', peers: [a] }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({ done: { links: 4, expected: 4 } });
});

test('a node that is connected but not yet usable is reported with what it lacks', async () => {
  const [a, b] = [overlay(0), overlay(0x80)];
  const nodes = [
    node({ name: 'node-0', overlay: a, peers: [b] }),
    node({
      name: 'node-1',
      overlay: b,
      flavour: 'bee',
      binary: '/opt/bee',
      peers: [a],
      lacking: 'is warming up',
    }),
  ];
  expect(await probeMesh(nodes, SIGNAL)).toMatchObject({
    missing: 'node-1 is warming up',
    mesh: { links: 2, expected: 2 },
  });
});

const REFERENCE = 'ab'.repeat(32);
const named = (index: number, given: Partial<Fake> = {}) =>
  node({ name: `node-${index}`, overlay: overlay(index), ...given });

test('an upload is found on the node that has a tag for its root, even by an encrypted reference', async () => {
  const nodes = [named(0), named(1, { tags: [{ uid: 4, address: REFERENCE }] })];
  const found = { done: [{ node: nodes[1], tag: 4 }] };
  expect(await findTags(REFERENCE, nodes, SEARCH)).toEqual(found);
  expect(await findTags(`${REFERENCE}${'cd'.repeat(32)}`.toUpperCase(), nodes, SEARCH)).toEqual(found);
});

test('an upload that no running node knows is an error, not a wait, and names the nodes asked', async () => {
  const nodes = [named(0), named(1), named(2, { running: false, state: 'paused' })];
  await expect(findTags(REFERENCE, nodes, SEARCH)).rejects.toThrow(
    expect.objectContaining({
      code: 'UPLOAD_UNKNOWN',
      message: 'no node has a tag of the upload abababab…: asked node-0, node-1; node-2 is paused',
    }) as HarnessError,
  );
  await expect(findTags(REFERENCE, nodes.slice(2), SEARCH)).rejects.toThrow(/none runs; node-2 is paused/);
});

test('an upload may still be found while a node cannot be asked', async () => {
  const nodes = [named(0), named(1, { tags: new Error('connection refused') })];
  expect(await findTags(REFERENCE, nodes, SEARCH)).toEqual({
    missing:
      'no node that answers has a tag of the upload abababab…; node-1 could not be asked: connection refused',
  });
});

test('a batch that no running node owns is an error, not a wait', async () => {
  const batch = 'ab'.repeat(32);
  const owner = named(1, { batches: [batch] });
  expect(await findOwner(batch, [named(0), owner], SEARCH)).toEqual({ done: owner });
  await expect(findOwner(batch, [named(0), named(1)], SEARCH)).rejects.toThrow(
    expect.objectContaining({
      code: 'BATCH_UNKNOWN',
      message: 'no node owns batch abababab…: asked node-0, node-1',
    }) as HarnessError,
  );
  expect(await findOwner(batch, [named(0, { batches: new Error('hung up') })], SEARCH)).toEqual({
    missing: 'no node that answers owns batch abababab…; node-0 could not be asked: hung up',
  });
});

test('each node is asked once for the blocks of all batches, and only when all are usable', async () => {
  const asked: string[] = [];
  const look = (usable: boolean, block: number) => {
    const nodes = [0, 1, 2].map((index) => {
      const name = `node-${index}`;
      const fake = node({ name, overlay: overlay(index), stamp: { usable, blockNumber: 10 + index }, block });
      const chainState = fake.client.chainState.bind(fake.client);
      fake.client.chainState = (signal) => {
        asked.push(name);
        return chainState(signal);
      };
      return fake;
    });
    const batches = nodes.map(({ name }) => ({ id: `${name}-batch`, node: name, depth: 20 }));
    return probeBatches(batches, nodes, SIGNAL);
  };
  expect(await look(false, 12)).toEqual({ missing: 'batch node-0-b of node-0 is not usable yet', usable: 0 });
  expect(asked).toEqual([]);
  expect(await look(true, 12)).toEqual({ done: 3, usable: 3 });
  expect(asked).toEqual(['node-0', 'node-1', 'node-2']);
  expect(await look(true, 11)).toEqual({
    missing: 'node-0 has read block 11, batch node-2-b is of block 12',
    usable: 3,
  });
});
