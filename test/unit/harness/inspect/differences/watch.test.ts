import { expect, test } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import type { ExchangeOutcome, RequestOptions } from '../../../../../harness/client/http.ts';
import { ScenarioWatch, type Watched } from '../../../../../harness/inspect/differences/watch.ts';

const STAMP = { depth: 17, bucketDepth: 16, amount: 1n, immutableFlag: true };
const [OWN, BOUGHT, EARLIER] = ['aa', 'bb', 'cc'].map((byte) => byte.repeat(32));

/** One node that only answers. @param settled what is said of the ends of its links */
function watched(settled: Watched['cluster']['settled'] = () => Promise.resolve([])) {
  let hear: ((node: string, request: RequestOptions) => ExchangeOutcome) | undefined;
  const client = {
    observe: (observer: typeof hear) => {
      hear = observer ?? hear;
    },
    stamps: { list: () => Promise.resolve([OWN, BOUGHT, EARLIER].map((batchID) => ({ ...STAMP, batchID }))) },
  };
  const cluster = {
    nodes: [{ name: 'node-0', overlay: '00', running: true, mode: 'full', client }],
    batches: [{ id: OWN, node: 'node-0' }],
    settled,
    driver: 'process',
    chain: { contracts: {}, words: () => Promise.resolve([1n]) },
  };
  const given = { cluster, ledger: { entries: [] }, signal: new AbortController().signal };
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
  return { ask, facts, watch };
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

test('ends of links that do not come to agree are one fact, and by how much is its detail', async () => {
  const late = new HarnessError('WAIT_TIMEOUT', 'the nodes have not settled within 1 m: node-0 says 7');
  const { watch } = watched(() => Promise.reject(late));
  expect(await watch.facts()).toContainEqual({
    kind: 'money',
    what: 'try: both ends of each link',
    seen: 'count differently',
    detail: late.message,
  });
});

test.each([
  [20_000n, 'a multiple of 10000'],
  [20_001n, 'no multiple of 10000'],
])(
  'outside of virtual time a debt of %d, partly paid, is told as the price that it consists of',
  async (cost, seen) => {
    const paid = { timeSent: 0n, timeReceived: 4321n, chequeSent: 0n, chequeReceived: 1000n };
    const link = { peer: '11', limit: undefined, balance: cost - 4321n - 1000n, ...paid };
    const books = { name: 'node-0', overlay: '00', account: '', chequebook: undefined, links: [link] };
    const { watch } = watched(() => Promise.resolve([books]));
    expect(await watch.facts()).toContainEqual({
      kind: 'money',
      what: 'try: what node-0 and 11 did',
      seen,
      ifBoth: true,
    });
  },
);
