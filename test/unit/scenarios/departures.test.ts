import { expect, test } from 'vitest';
import { Ledger } from '../../../harness/inspect/ledger/ledger.ts';
import { Departures } from '../../../scenarios/steps/storm/departures.ts';
import type { StormContext } from '../../../scenarios/steps/storm/parameters.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

const signal = new AbortController().signal;
const STAYED = `80${'00'.repeat(31)}`;
const LEFT = `10${'00'.repeat(31)}`;
const CHUNK = `11${'00'.repeat(31)}`;
interface Case {
  readonly about: string;
  /** Overlay of the storer; absent: the uploader kept it, and has left. */
  readonly receipt?: string;
  /** From the receipt to when the other node was last seen, ms. */
  readonly stayed: number;
  /** Another node has pulled it, and has lost it since. */
  readonly pulled?: boolean;
  /** It is pushed again, in vain, so much later, ms. */
  readonly refused?: number;
  readonly taken: boolean;
}

const CASES: readonly Case[] = [
  { about: 'leaves at once', receipt: LEFT, stayed: 500, taken: true },
  { about: 'had stored it long before', receipt: LEFT, stayed: 60_000, taken: false },
  { about: 'never had it', receipt: STAYED, stayed: 500, taken: false },
  { about: 'is named again later', receipt: LEFT, stayed: 60_000, refused: 58_000, taken: false },
  { about: 'is named again after it has left', receipt: LEFT, stayed: 60_000, refused: 90_000, taken: false },
  { about: 'had just kept its own upload', stayed: 500, taken: true },
  { about: 'had kept its own upload for long', stayed: 60_000, taken: false },
  {
    about: 'was not the only one',
    receipt: LEFT,
    stayed: 500,
    pulled: true,
    taken: false,
  },
];

function storer(clock: VirtualClock, events: readonly object[]) {
  return {
    name: 'node-0',
    overlay: STAYED,
    mode: 'full',
    state: 'running',
    running: true,
    wipes: 0,
    changes: 0,
    holds: () => Promise.resolve(false),
    client: {
      clock,
      status: () => Promise.resolve({ storageRadius: 0 }),
      chunkEvents: () => Promise.resolve({ capacity: 100, lost: 0, last: 0, events }),
      stamps: { list: () => Promise.resolve([]) },
    },
  };
}

/** Whom the cluster does not list is nobody's peer. */
function departuresOf(nodes: readonly object[], clock: VirtualClock, ledger: Ledger): Departures {
  const cluster = { nodes, clock, unlistedPeers: () => Promise.resolve([]) };
  return new Departures({ cluster, ledger, signal } as unknown as StormContext);
}

const uploaded = (node: string, acknowledgedAtMs: number, chunk = CHUNK) =>
  ({
    kind: 'chunk',
    node,
    batch: 'aa',
    reference: chunk,
    size: 1,
    chunks: [chunk],
    mode: 'direct',
    level: 'api',
    requestedAtMs: 0,
    acknowledgedAtMs,
  }) as const;

test.each(CASES)('a chunk is excused or lost when a node that leaves $about', async (one) => {
  const clock = new VirtualClock();
  const event = (kind: string, peer?: string) => ({ kind, address: CHUNK, at: clock.now(), peer });
  const events = [
    ...(one.receipt === undefined ? [] : [event('synced', one.receipt)]),
    ...(one.refused === undefined ? [] : [{ ...event('refused'), at: clock.now() + one.refused }]),
    ...(one.pulled === true ? [event('pulled')] : []),
  ];
  const node = storer(clock, events);
  const nodes = [node, { ...node, name: 'node-1', overlay: LEFT }];
  const ledger = new Ledger();
  const acknowledgedAt = clock.now();
  await ledger.add(uploaded(one.receipt === undefined ? 'node-1' : 'node-0', acknowledgedAt));
  const departures = departuresOf(nodes, clock, ledger);
  await clock.advance(one.stayed);
  departures.look();
  expect(await departures.unexplained([CHUNK], departures.known(), signal), 'while it is there').toEqual([
    CHUNK,
  ]);
  nodes.pop();
  expect(await departures.unexplained([CHUNK], departures.known(), signal)).toEqual(one.taken ? [] : [CHUNK]);
  expect([...departures.taken]).toEqual(one.taken ? [CHUNK] : []);
  expect(departures.mayHaveTaken(acknowledgedAt)).toBe(one.stayed < 5000);
  expect(departures.mayHaveTaken(clock.now() + 1000)).toBe(false);
  expect(ledger.acknowledgedChunks()).toBe(one.taken ? 0 : 1);
});

test('what a node without its data had stamped or had alone is excused, and nothing else', async () => {
  const clock = new VirtualClock();
  const [soon, long] = [clock.now() + 9000, clock.now() + 1000];
  const [stamped, kept, later] = ['22', '33', '44'].map((digits) => `${digits}${'00'.repeat(31)}`) as [
    string,
    string,
    string,
  ];
  const node = storer(clock, [
    { kind: 'synced', address: CHUNK, at: soon, peer: LEFT },
    { kind: 'synced', address: kept, at: long, peer: LEFT },
  ]);
  const emptied = { ...storer(clock, []), name: 'node-1', overlay: LEFT };
  const nodes = [node, emptied];
  const ledger = new Ledger();
  for (const [name, chunk, acknowledgedAtMs] of [
    ['node-0', CHUNK, long],
    ['node-0', kept, long],
    ['node-1', stamped, long],
    ['node-1', later, long + 20_000],
  ] as const)
    await ledger.add(uploaded(name, acknowledgedAtMs, chunk));
  const departures = departuresOf(nodes, clock, ledger);
  await clock.advance(9500);
  departures.look();
  emptied.wipes = 1;
  await clock.advance(200);
  departures.look();
  expect(await departures.unexplained([CHUNK, kept, stamped, later], departures.known(), signal)).toEqual([
    kept,
    later,
  ]);
});

test.each([
  { about: 'alone', lost: [] },
  { about: 'alone, whose chunk others have pulled since,', pulled: true, lost: [] },
  { about: 'alone, whose chunk others have pulled and lost,', pulled: true, dropped: true, lost: [CHUNK] },
  { about: 'beside an honest node', others: [STAYED], lost: [CHUNK] },
  { about: 'beside an honest node that has it late', others: [STAYED], pulled: true, lost: [CHUNK] },
])('the receipt of a dishonest node $about promises nothing', async (one) => {
  const { others = [], pulled = false, dropped = false, lost } = one;
  const clock = new VirtualClock();
  const at = clock.now() + 60_000;
  const node = storer(clock, [
    ...[LEFT, ...others].map((peer) => ({ kind: 'synced', address: CHUNK, at, peer })),
    ...(pulled ? [{ kind: 'pulled', address: CHUNK, at }] : []),
  ]);
  if (pulled && !dropped) node.holds = () => Promise.resolve(true);
  const dishonest = { ...storer(clock, [{ kind: 'stored', address: CHUNK, at }]), overlay: LEFT };
  const nodes = [node, { ...dishonest, name: 'node-1', flavour: 'dishonest' }];
  const ledger = new Ledger();
  await ledger.add(uploaded('node-0', at));
  const departures = departuresOf(nodes, clock, ledger);
  departures.look();
  expect([LEFT, STAYED].map((overlay) => departures.isDishonest(overlay))).toEqual([true, false]);
  expect(departures.mayHaveTaken(at)).toBe(true);
  expect(await departures.unexplained([CHUNK], departures.known(), signal)).toEqual(lost);
});

test.each([
  ['honest', 'svc', [CHUNK]],
  ['dishonest', 'dishonest', []],
])(
  'what a joining node has signed counts once the cluster knows that it is %s',
  async (_about, flavour, lost) => {
    const clock = new VirtualClock();
    const node = storer(clock, [{ kind: 'synced', address: CHUNK, at: clock.now(), peer: LEFT }]);
    const nodes = [node];
    const ledger = new Ledger();
    await ledger.add(uploaded('node-0', clock.now()));
    const departures = departuresOf(nodes, clock, ledger);
    expect(await departures.unexplained([CHUNK], departures.known(), signal), 'nobody is to come').toEqual([
      CHUNK,
    ]);
    departures.expect({ honest: 0, dishonest: 0, [flavour === 'dishonest' ? 'dishonest' : 'honest']: 1 });
    expect(departures.isDishonest(LEFT), 'it may leave before it is seen').toBe(flavour === 'dishonest');
    expect(departures.isDishonest(STAYED)).toBe(false);
    expect(await departures.unexplained([CHUNK], departures.known(), signal)).toEqual([]);
    expect([...departures.taken]).toEqual([]);
    nodes.push({ ...storer(clock, []), name: 'node-1', overlay: LEFT, flavour } as never);
    departures.look();
    expect(departures.isDishonest(LEFT)).toBe(flavour === 'dishonest');
    expect(departures.isDishonest('ff'.repeat(32))).toBe(false);
    expect(await departures.unexplained([CHUNK], departures.known(), signal)).toEqual(lost);
  },
);

test('what a joining node has signed is excused when the cluster learns of it after chunks were looked for', async () => {
  const clock = new VirtualClock();
  const node = storer(clock, [
    { kind: 'synced', address: CHUNK, at: clock.now(), peer: LEFT },
    { kind: 'pulled', address: CHUNK, at: clock.now() },
  ]);
  const nodes = [node];
  const ledger = new Ledger();
  await ledger.add(uploaded('node-0', clock.now()));
  const departures = departuresOf(nodes, clock, ledger);
  departures.look();
  departures.expect({ honest: 1, dishonest: 0 });
  const before = departures.known();
  nodes.push({ ...storer(clock, []), name: 'node-1', overlay: LEFT });
  departures.look();
  expect(await departures.unexplained([CHUNK], before, signal)).toEqual([]);
  expect(await departures.unexplained([CHUNK], departures.known(), signal), 'it is known now').toEqual([
    CHUNK,
  ]);
});
