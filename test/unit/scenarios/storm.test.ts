import { ClientError } from 'svcnet';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../formats/random.ts';
import type { FaultRequest } from '../../../harness/cluster/faults/fault.ts';
import { Ledger } from '../../../harness/inspect/ledger/ledger.ts';
import { VirtualTime } from '../../../harness/places/simulated/virtual-time.ts';
import { plannedKills } from '../../../scenarios/steps/storm/drawn.ts';
import { givenUpIn, harmsOf } from '../../../scenarios/steps/storm/harm.ts';
import { StormLoad } from '../../../scenarios/steps/storm/load.ts';
import { chunksMax, type StormContext } from '../../../scenarios/steps/storm/parameters.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

test('a kill or power cut is planned when its node and its time are known before the storm', () => {
  const kill = { kind: 'kill', node: 'node-1' };
  expect(
    plannedKills([
      { id: 's1', when: { atMs: 700 }, request: kill },
      { id: 's2', when: { after: 5, of: 'uploads acknowledged' }, request: kill },
      { id: 's3', when: { atMs: 900 }, request: { kind: 'pause', node: 'node-1' } },
      { id: 's5', when: { atMs: 1100 }, request: { kind: 'power-cut', node: 'node-2' } },
      { id: 's4', when: { atMs: 900 }, request: { kind: 'kill', node: { select: 'any' } } },
    ]),
  ).toEqual([
    { id: 's1', node: 'node-1', atMs: 700 },
    { id: 's5', node: 'node-2', atMs: 1100 },
  ]);
});

test('a fault harms its nodes once, also one that is over at once, and one without targets harms all', () => {
  const nodes = ['node-0', 'node-1', 'node-2'].map((name) => ({ name }));
  const parameters = { chunks: 1 };
  const context = { cluster: { clock: new VirtualClock(), nodes }, parameters } as unknown as StormContext;
  const load = new StormLoad(context, { durationMs: 1, signal: new AbortController().signal });
  const fault = (
    id: string,
    at: number,
    targets: string[],
    endAt?: number,
    request: FaultRequest = { kind: 'kill' },
  ) =>
    load.mark({
      id,
      at,
      targets,
      request,
      kind: request.kind,
      text: '',
      effect: {},
      ...(endAt === undefined ? {} : { endAt }),
    });
  const harmed = () => nodes.map(({ name }) => load.harmed.get(name) ?? 0);
  fault('f1', 10, ['node-1']);
  fault('f1', 10, ['node-1'], 20);
  expect(harmed()).toEqual([0, 1, 0]);
  // A restart; ids are used again.
  fault('f1', 30, ['node-1', 'node-2'], 40);
  expect(harmed()).toEqual([0, 2, 1]);
  fault('f1', 50, []);
  fault('f1', 50, [], 60);
  expect(harmed()).toEqual([1, 3, 2]);
  fault('f1', 70, ['chain']);
  expect(harmed()).toEqual([1, 3, 2]);
  fault('f1', 80, ['node-0'], 90, { kind: 'churn', rounds: 3 });
  expect(harmed()).toEqual([4, 3, 2]);
  fault('f1', 100, ['node-2'], 110, { kind: 'message', protocol: 'pushsync', drop: true });
  expect(harmed()).toEqual([4, 3, 3]);
});

test.each([
  ['a repeated cheque', 0, { protocol: 'swap', message: 'cheque', duplicate: true }],
  ['a cheque that is sent again later', 0, { protocol: 'swap', message: 'cheque', replay: 300 }],
  ['a late payment', 0, { protocol: 'pseudosettle', message: 'payment', delay: 700 }],
  ['a chunk that comes twice', 1, { protocol: 'pushsync', message: 'delivery', duplicate: true }],
  ['a request that comes after another', 0, { protocol: 'retrieval', message: 'request', reorder: true }],
  ['a chunk that is synced wrongly', 0, { protocol: 'pullsync', message: 'delivery', corrupt: 'data' }],
  ['a lost cheque', 1, { protocol: 'swap', message: 'cheque', drop: true }],
  ['a payment that is sent again later', 1, { protocol: 'pseudosettle', message: 'payment', replay: 300 }],
  ['a chunk that is pushed again later', 1, { protocol: 'pushsync', message: 'delivery', replay: 300 }],
  ['a chunk that comes late', 1, { protocol: 'retrieval', message: 'delivery', delay: 700 }],
])('%s excuses %i differences between the ends of a link', (_what, times, fields) => {
  expect(harmsOf({ kind: 'message', request: { kind: 'message', ...fields } })).toBe(times);
});

test.each(['svc', 'bee'])('payments and refreshes that a %s node has given up are counted', (prefix) => {
  const metrics = `# TYPE ${prefix}_accounting_payment_error_count counter
${prefix}_accounting_payment_error_count 3
${prefix}_accounting_settle_error_count 4
${prefix}_accounting_blocks_count 5
`;
  expect(givenUpIn(metrics)).toBe(7);
  expect(givenUpIn('')).toBe(0);
});

test.each([
  [2, 700],
  [3, 1400],
  [4, 2800],
  [10, 2800],
])('a storm on %i full nodes uploads what the fullest of them can hold', (fullNodes, chunks) => {
  const parameters = { chunks: 0, reserve: 1000 } as StormContext['parameters'];
  expect(chunksMax(parameters, fullNodes)).toBe(chunks);
  expect(chunksMax({ ...parameters, chunks: 5 }, fullNodes)).toBe(5);
});

test('a lane keeps its pace on average, however fast the network answers', async () => {
  using time = new VirtualTime();
  const fail = () => Promise.reject(new ClientError('no', { ...REFUSED, node: 'node-0' }));
  const node = {
    name: 'node-0',
    mode: 'light',
    flavour: 'svc',
    running: true,
    batch: 'ab'.repeat(32),
    bytes: { upload: fail },
    files: { upload: fail },
    chunks: { upload: fail },
    tags: { create: fail },
    chequebook: { cheques: fail },
  };
  const context = {
    cluster: { clock: time.outside, nodes: [node], node: () => node },
    parameters: { faults: [], lanes: 2, pace: 1000, sizes: [4096], chunks: 1_000_000 },
    random: (stream: string) => seededRandom('1', stream),
    ledger: new Ledger(),
    signal: new AbortController().signal,
    measure: (_key: unknown, work: () => Promise<unknown>) => work(),
  } as unknown as StormContext;
  using over = time.outside.deadline(60_000);
  const load = new StormLoad(context, { durationMs: 60_000, signal: over.signal });
  await time.during(load.drawn([]));
  const lanes = Map.groupBy(load.begun, ({ lane }) => lane);
  expect([...lanes.keys()].toSorted()).toEqual(['money', 'node-0/0', 'node-0/1']);
  for (const lane of ['node-0/0', 'node-0/1']) {
    expect(lanes.get(lane)?.length).toBeGreaterThan(45);
    expect(lanes.get(lane)?.length).toBeLessThan(75);
  }
});

const REFUSED = { class: 'http.503', method: 'POST', path: '/bytes', status: 503 } as const;
