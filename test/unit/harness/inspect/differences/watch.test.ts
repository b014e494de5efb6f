import { expect, test } from 'vitest';
import type { ExchangeOutcome, RequestOptions } from '../../../../../harness/client/http.ts';
import { ScenarioWatch, type Watched } from '../../../../../harness/inspect/differences/watch.ts';
import { VirtualClock } from '../../../onchain/virtual-clock.ts';

const STAMP = { depth: 17, bucketDepth: 16, amount: 1n, immutableFlag: true };
const NODE = { running: true, wipes: 0 };
const [OWN = '', BOUGHT = '', EARLIER = ''] = ['aa', 'bb', 'cc'].map((byte) => byte.repeat(32));

interface Debt {
  readonly balance: bigint;
  readonly byTime?: bigint;
  readonly byCheques?: bigint;
}

/** @param debt of the node itself, or of its peer @param read at each reading */
function books(peer: string, debt: 'sent' | 'received', read: () => Debt) {
  const settlements = (amount = 0n) =>
    Promise.resolve({ settlements: [{ peer, sent: 0n, received: 0n, [debt]: amount }] });
  const sign = debt === 'sent' ? -1n : 1n;
  return {
    balances: () => Promise.resolve([{ peer, balance: sign * read().balance }]),
    accounting: () => Promise.resolve([]),
    timeSettlements: () => settlements(read().byTime),
    settlements: () => settlements(read().byCheques),
    chequebook: { address: () => Promise.resolve('00') },
    peers: () => Promise.resolve([]),
  };
}

interface Seen {
  readonly claimed?: () => Debt;
  /** Default: what is claimed. */
  readonly admitted?: () => Debt;
  /** node-1 has what belongs on node-0. */
  readonly chunk?: { readonly onNode0: () => boolean; readonly onNode1: boolean };
}

function watched({ claimed = () => ({ balance: 0n }), admitted = claimed, chunk }: Seen = {}) {
  const clock = new VirtualClock();
  let hear: ((node: string, request: RequestOptions) => ExchangeOutcome) | undefined;
  const stamps = (ids: readonly string[]) => ({
    list: () => Promise.resolve(ids.map((batchID) => ({ ...STAMP, batchID }))),
  });
  const client = {
    ...books('11', 'received', claimed),
    observe: (observer: typeof hear) => {
      hear = observer ?? hear;
    },
    status: () => Promise.resolve({ storageRadius: 0 }),
    stamps: stamps([OWN, BOUGHT, EARLIER]),
  };
  const debtor = { ...books('00', 'sent', admitted), observe: () => undefined, stamps: stamps([]) };
  const holds =
    (isHeld: () => boolean | undefined = () => false) =>
    () =>
      Promise.resolve(isHeld() ?? false);
  const cluster = {
    nodes: [
      { ...NODE, name: 'node-0', overlay: '00', mode: 'full', client, holds: holds(chunk?.onNode0) },
      {
        ...NODE,
        name: 'node-1',
        overlay: '11',
        mode: 'light',
        client: debtor,
        holds: holds(() => chunk?.onNode1),
      },
    ],
    batches: [{ id: OWN, node: 'node-0' }],
    clock,
    driver: 'process',
    chain: { contracts: {}, words: () => Promise.resolve([1n]) },
  };
  const given = {
    cluster,
    ledger: { entries: chunk === undefined ? [] : [{ chunks: ['cc'] }] },
    signal: new AbortController().signal,
  };
  const watch = new ScenarioWatch(given as unknown as Watched, 'try');
  const ask = (request: RequestOptions) => {
    const outcome = hear?.('node-0', request);
    if (outcome === undefined) throw new Error('nothing is heard');
    return outcome;
  };
  const facts = async () =>
    Object.fromEntries(
      (await watch.facts()).map(({ what, seen, ifBoth }) => [
        what.replace('try: ', ''),
        ifBoth ? `${seen}, if both` : seen,
      ]),
    );
  return { ask, facts, watch, clock };
}

const JSON_TYPE = { 'content-type': 'application/json' };

test('of two equal purchases at once the one that is answered first is the first, whichever was asked first', async () => {
  const { ask, facts } = watched();
  const purchase: RequestOptions = { method: 'POST', path: '/stamps/1/17' };
  const [one, other] = [ask(purchase), ask(purchase)];
  other.answered(429, {});
  one.answered(201, JSON_TYPE);
  one.read(JSON.stringify({ batchID: BOUGHT }));
  const seen = await facts();
  expect(seen['node-0 POST /stamps/1/17 → status']).toBe('429');
  expect(seen['node-0 POST /stamps/1/17 (2) → status']).toBe('201');
  const batches = Object.keys(seen).filter((what) => what.startsWith('node-0 {batch'));
  const ifBoth = batches.filter((batch) => seen[batch]?.endsWith(', if both'));
  expect(ifBoth).toEqual(['node-0 {batch of node-0 POST /stamps/1/17 (2)}']);
  expect(batches).toEqual(['node-0 {batch of node-0}', 'node-0 {batch of node-0 POST /stamps/1/17 (2)}']);
});

test('a transfer that ends early is part of the status, and so is that no answer came; what is under way says nothing', async () => {
  const { ask, facts } = watched();
  const cut = ask({ method: 'GET', path: '/bytes/ab' });
  cut.answered(200, {});
  cut.read(new Uint8Array(3));
  cut.failed('client.short_body');
  ask({ method: 'GET', path: '/bytes/cd' }).failed('client.timeout');
  ask({ method: 'GET', path: '/metrics' });
  ask({ method: 'POST', path: '/bytes' }).failed('client.timeout');
  ask({ method: 'POST', path: '/bytes' }).answered(201, {});
  const seen = await facts();
  expect(seen['node-0 POST /bytes → status']).toBe('no answer, then client.timeout');
  expect(seen['node-0 POST /bytes (2) → status']).toBe('201');
  expect(Object.keys(seen).filter((what) => what.includes('/metrics'))).toEqual([]);
  expect(seen['node-0 GET /bytes/ab → status']).toBe('200, then client.short_body');
  expect(seen['node-0 GET /bytes/cd → status']).toBe('no answer, then client.timeout');
});

test('ends of links that differ are one fact as soon as they stand still, and by how much is its detail', async () => {
  const { watch, clock } = watched({
    claimed: () => ({ balance: 7n }),
    admitted: () => ({ balance: 8n }),
  });
  expect(await watch.facts()).toContainEqual({
    kind: 'money',
    what: 'try: both ends of each link',
    seen: 'count differently',
    detail: 'node-0 says 7 of node-1, which says -8',
  });
  expect(clock.monotonic()).toBeLessThan(12_000);
});

test('ends of links that come nearer to each other are waited for', async () => {
  const steps = 25;
  const { facts, clock } = watched({
    claimed: () => ({ balance: 7n }),
    admitted: () => ({ balance: 7n + BigInt(Math.max(0, steps - Math.floor(clock.monotonic() / 1_000))) }),
  });
  expect((await facts())['both ends of each link']).toBe('count the same');
  expect(clock.monotonic()).toBeGreaterThan(20_000);
});

test.each([
  [20_000n, 'a multiple of 10000'],
  [20_001n, 'no multiple of 10000'],
])(
  'outside of virtual time a debt of %d, partly paid, is told as the price that it consists of',
  async (cost, seen) => {
    const debt = { balance: cost - 4321n - 1000n, byTime: 4321n, byCheques: 1000n };
    const { watch } = watched({ claimed: () => debt });
    expect(await watch.facts()).toContainEqual({
      kind: 'money',
      what: 'try: what node-0 and node-1 did',
      seen,
      ifBoth: true,
    });
  },
);

test('a chunk that a node can still bring is waited for', async () => {
  const { facts, clock } = watched({ chunk: { onNode0: () => clock.monotonic() > 40_000, onNode1: true } });
  expect((await facts())['chunk cc']).toBe('node-0, if both');
});

test('a chunk that no node has is not waited for', async () => {
  const { facts, clock } = watched({ chunk: { onNode0: () => false, onNode1: false } });
  expect((await facts())['chunk cc']).toBe('not on node-0, if both');
  expect(clock.monotonic()).toBe(0);
});
