import { vi } from 'vitest';
import { ChequebookClient } from '../../../../harness/client/money.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { TagsClient } from '../../../../harness/client/sessions.ts';
import { BytesClient } from '../../../../harness/client/transfers.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { faultsOf } from '../../../../harness/places/links/tap/events.ts';
import { all, answers, changes, holding, impatience, type Lie, type Mutation, waits } from './lies.ts';

const deaf: Lie = () => void vi.spyOn(Cluster.prototype, 'tap').mockImplementation(async function* () {});

const elsewhere: Lie = () => {
  const tap = Reflect.get(Cluster.prototype, 'tap');
  vi.spyOn(Cluster.prototype, 'tap').mockImplementation(async function* (this: Cluster, options) {
    for await (const event of tap.call(this, options)) {
      yield { ...event, fields: { ...event.fields, address: 'ab'.repeat(32) } };
    }
  });
};

const nothingVerifies: Lie = () => {
  const tap = Reflect.get(Cluster.prototype, 'tap');
  vi.spyOn(Cluster.prototype, 'tap').mockImplementation(async function* (this: Cluster, options) {
    for await (const event of tap.call(this, options)) {
      yield { ...event, fields: { ...event.fields, invalid: true } };
    }
  });
};

const neverSynced = changes(TagsClient.prototype, 'get', (tag) => ({ ...tag, synced: 0 }));

function storedTwice(): Lie {
  let looks = 0;
  return changes(NodeClient.prototype, 'status', (status) => ({
    ...status,
    reserveSize: status.reserveSize + 2 * looks++,
  }));
}

function paidTwice(): Lie {
  let looks = 0n;
  return changes(NodeClient.prototype, 'balances', (balances) => {
    looks++;
    return balances.map((row) => ({ ...row, balance: row.balance + 10n ** 9n * looks }));
  });
}

/** A node credits none before the conversation with the repeated cheque is over. */
function creditedTwice(): Lie {
  let looks = 0n;
  let isOver = false;
  const credits = changes(NodeClient.prototype, 'settlements', (rows) => ({
    ...rows,
    settlements: rows.settlements.map((row) => ({
      ...row,
      received: row.received + (isOver ? looks++ : 0n),
    })),
  }));
  const repeated = new Set<string>();
  const listens: Lie = () => {
    const tap = Reflect.get(Cluster.prototype, 'tap');
    vi.spyOn(Cluster.prototype, 'tap').mockImplementation(async function* (this: Cluster, options) {
      for await (const event of tap.call(this, options)) {
        if (faultsOf(event).some((done) => done === 'duplicated' || done === 'replayed'))
          repeated.add(event.stream);
        // The run's record listens to all protocols.
        if (options?.protocol === 'swap' && event.kind === 'end' && repeated.has(event.stream)) isOver = true;
        yield event;
      }
    });
  };
  return all(credits, listens);
}

const otherCheque = changes(ChequebookClient.prototype, 'cheque', (pair) => ({
  ...pair,
  received: pair.received && { ...pair.received, payout: pair.received.payout + 1n },
}));

const SOON_MS = 5000;

export const MESSAGES: readonly Mutation[] = [
  [
    'storm',
    { duration: '2s', faults: '', lanes: '1', pace: '100ms', sizes: '5000' },
    nothingVerifies,
    /honest nodes deliver only what verifies/,
  ],
  [
    'lost-receipt',
    { within: '5' },
    neverSynced,
    /svc: a chunk whose receipt was lost is synced in the end/,
    /svc: the chunk counts once for its tag/,
  ],
  ['lost-receipt', {}, deaf, /svc: the chunk is pushed again/],
  ['lost-receipt', {}, storedTwice(), /svc: the reserve of the storer counts it once/],
  [
    'lost-receipt',
    {},
    all(paidTwice(), waits(SOON_MS)),
    /svc: both ends of each link count the same, but for the push without a receipt/,
  ],
  [
    'repeated-cheque',
    {},
    all(creditedTwice(), waits(SOON_MS)),
    /svc: a cheque that comes (twice on its stream|again in a new stream) is credited once/,
  ],
  [
    'repeated-cheque',
    {},
    otherCheque,
    /svc: after one that comes (twice on its stream|again in a new stream), it holds the last cheque of its peer/,
  ],
  [
    'changed-chunk',
    {},
    all(holding(false), impatience),
    /svc: a chunk arrives though its (data|address|stamp) was changed once/,
  ],
  [
    'changed-chunk',
    {},
    deaf,
    /svc: a pushed chunk with another (data|address|stamp) gets no receipt/,
    /svc: a changed delivery is refused, and another one asked for/,
  ],
  [
    'changed-chunk',
    {},
    elsewhere,
    /svc: a pushed chunk with another (data|address|stamp) gets no receipt/,
    /svc: a changed delivery is refused, and another one asked for/,
  ],
  [
    'changed-chunk',
    {},
    answers(BytesClient.prototype, 'download', () => new Uint8Array(3)),
    /svc: the right bytes are served (after a push with another (data|address|stamp)|though a delivery was changed)/,
  ],
];
