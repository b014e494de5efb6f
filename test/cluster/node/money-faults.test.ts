/**
 * Afterwards books, cheques and chain must agree. Moments are found by the calls of a node to its endpoint, whose answers
 * are slow; `test/unit/protocols/swap/crash.test.ts` and `test/cluster/onchain/kill.test.ts` sweep the writes between two of
 * them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Books, type LinkGap, violations } from '../../../harness/cluster/books/books.ts';
import { readBooks } from '../../../harness/cluster/books/read-books.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, eventuallyIn, http, metric, stateFolder } from './kit.ts';
import { sent } from './onchain.ts';

const stateDir = stateFolder();
/** Half of them are pushed: several times what a peer lends. */
const CHUNKS = 60;
const AMOUNT = 1_000n;
/** Slow enough to kill the node while it waits. */
const SLOW_MS = 500;
/** What peers lend each other on the public network, accounting units. */
const UNDER_WAY_MAX = 13_500_000n;
let net: Cluster;
const eventually = eventuallyIn(() => net);
let payer: ClusterNode;
let payee: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: 2, options: { 'refresh-rate': 4_000_000, 'payment-retry-pause': '500ms' } }],
    credit: 'low',
    driver: 'simulated',
    seed: 23,
    stateDir,
    chain: { blockTime: '200ms', gate: true },
  });
  [payer, payee] = [net.node(0), net.node(1)];
});
afterAll(async () => {
  await net.stop();
});

let uploads = 0;
let kills = 0;

async function traffic(chunks = CHUNKS): Promise<number> {
  const headers = {
    'svc-postage-batch-id': payer.batch ?? '',
    'svc-deferred-upload': 'false',
    'content-type': 'application/octet-stream',
  };
  const body = bytesOf(`money faults ${uploads++}`, chunks * 4096);
  return (await http(payer, '/bytes', { method: 'POST', headers, body })).status;
}

async function promised(): Promise<bigint> {
  return (
    (await payer.client.settlements()).settlements.find(({ peer }) => peer === payee.overlay)?.sent ?? 0n
  );
}

async function taken(): Promise<bigint> {
  const { settlements } = await payee.client.settlements();
  return settlements.find(({ peer }) => peer === payer.overlay)?.received ?? 0n;
}

/** A payment by time under way at its payer's death is counted only by the payee. */
function isUnderWay({ what, gap }: LinkGap): boolean {
  return what !== 'by cheques' && gap <= BigInt(kills) * UNDER_WAY_MAX;
}

/** No cheque may have shrunk. */
async function booksAgree(before?: Books): Promise<Books> {
  let books: Books | undefined;
  await eventually('the books do not agree', async () => {
    books = await readBooks(net);
    return violations(books, before, isUnderWay)[0];
  });
  return books as Books;
}

async function paysAgain(): Promise<void> {
  const before = await promised();
  await eventually('nothing is paid', async () => {
    await traffic();
    return (await promised()) > before && (await promised()) === (await taken()) ? undefined : 'no cheque';
  });
  // On a busy machine the last chunks are paid for later.
  let last = 0n;
  await eventually('cheques keep coming', async () => {
    const [now, arrived] = [await promised(), await taken()];
    const rests = now === last && now === arrived;
    last = now;
    return rests ? undefined : `${now} promised, ${arrived} taken`;
  });
}

async function together(): Promise<void> {
  await eventually('the nodes are apart', async () => {
    const counts = await Promise.all(net.nodes.map(async ({ client }) => (await client.peers()).length));
    return counts.every((count) => count === 1) ? undefined : `they have ${counts.join(', ')} peers`;
  });
}

async function asking(node: ClusterNode, kind: string, work: () => void): Promise<void> {
  const name = `eth_backend_calls_${kind}`;
  const before = await metric(node, name);
  await net.chain.setRpcFault({ kind: 'slow', ms: SLOW_MS }, node.name);
  work();
  await eventually(`${node.name} does not ask for ${kind}`, async () =>
    (await metric(node, name)) > before ? undefined : 'no call',
  );
}

async function restart(node: ClusterNode): Promise<void> {
  kills++;
  for (const { name } of net.nodes) await net.chain.setRpcFault({ kind: 'none' }, name);
  await net.chain.resume();
  await node.start();
  await together();
}

describe('kill -9 while a cheque is issued', () => {
  const MOMENTS: readonly [string, () => ClusterNode, () => Promise<void>][] = [
    [
      'of the payer, that looks whether it can promise it',
      () => payer,
      () => asking(payer, 'eth_call', start),
    ],
    ['of the payer, that has handed it over', () => payer, () => asking(payee, 'eth_call', start)],
    ['of the payee, that looks whether it is good', () => payee, () => asking(payee, 'eth_call', start)],
    ['of the payer, when the payee has kept it', () => payer, kept],
    ['of the payee, when it has kept it', () => payee, kept],
  ];
  let running: Promise<unknown> = Promise.resolve();

  function start(): void {
    running = traffic().catch(() => 'cut off');
  }

  async function kept(): Promise<void> {
    const before = await taken();
    start();
    await eventually('no cheque is taken', async () => ((await taken()) > before ? undefined : 'none'));
  }

  test.each(MOMENTS)('%s', async (_, victim, moment) => {
    const before = await booksAgree();
    await moment();
    await victim().kill();
    await restart(victim());
    await running;
    await booksAgree(before);
    await paysAgain();
    await booksAgree(before);
  });
});

interface Operation {
  readonly node: () => ClusterNode;
  readonly path: () => string;
  readonly seen: () => Promise<bigint>;
  readonly units: () => Promise<bigint>;
}

const bookTokens = async (node: ClusterNode) => net.chain.tokenBalance(await node.chequebook.address());

async function cashed(): Promise<bigint> {
  const book = await payer.chequebook.address();
  return net.chain.view(book, 'paidOut(address)', [`0x${payee.ethereum}`]);
}

const OPERATIONS: Readonly<Record<'deposit' | 'withdrawal' | 'cashing', Operation>> = {
  deposit: {
    node: () => payer,
    path: () => `/chequebook/deposit?amount=${AMOUNT}`,
    seen: () => bookTokens(payer),
    units: async () => AMOUNT,
  },
  withdrawal: {
    node: () => payer,
    path: () => `/chequebook/withdraw?amount=${AMOUNT}`,
    seen: async () => -(await bookTokens(payer)),
    units: async () => AMOUNT,
  },
  cashing: {
    node: () => payee,
    path: () => `/chequebook/cashout/${payer.overlay}`,
    seen: cashed,
    units: async () => (await taken()) - (await cashed()),
  },
};
const NAMES = ['deposit', 'withdrawal', 'cashing'] as const;

async function allMined(node: ClusterNode): Promise<void> {
  await eventually('transactions are pending', async () => {
    const { pendingTransactions } = (await http(node, '/transactions')).json as {
      pendingTransactions: unknown[];
    };
    const { mined, all } = await sent(net, node);
    return pendingTransactions.length === 0 && mined === all ? undefined : `${all - mined} in the pool`;
  });
}

async function expectCashing(hash?: string): Promise<void> {
  await eventually('the cashing is not known', async () => {
    const { result, uncashedAmount, transactionHash } = await payee.chequebook.cashout(payer.overlay);
    const open = (await taken()) - (await cashed());
    if (hash !== undefined && transactionHash !== hash) return `it was ${transactionHash}`;
    return result?.bounced === false && uncashedAmount === open ? undefined : `${uncashedAmount} of ${open}`;
  });
}

describe('kill -9 while a transaction is made', () => {
  const MOMENTS = ['it is prepared', 'it is sent', 'it waits', 'it is mined'] as const;

  async function reach(moment: (typeof MOMENTS)[number], { node, path }: Operation): Promise<void> {
    const start = () => void http(node(), path(), { method: 'POST' }).catch(() => 'cut off');
    if (moment === 'it is prepared') return asking(node(), 'suggest_gas_tip_cap', start);
    if (moment === 'it is sent') return asking(node(), 'send_transaction', start);
    await net.chain.pause();
    const before = (await sent(net, node())).all;
    start();
    await eventually('nothing is sent', async () =>
      (await sent(net, node())).all > before ? undefined : 'no transaction',
    );
    if (moment === 'it waits') return;
    await net.chain.setRpcFault({ kind: 'down' }, node().name);
    await net.chain.mine();
  }

  describe.each(NAMES)('for a %s', (name) => {
    const operation = OPERATIONS[name];

    test.each(MOMENTS)('and %s', async (moment) => {
      const { node, path, seen, units } = operation;
      if (name === 'cashing') await paysAgain();
      const before = await booksAgree();
      const [shown, worth, { all }] = [await seen(), await units(), await sent(net, node())];
      await reach(moment, operation);
      await node().kill();
      await restart(node());
      await allMined(node());
      const done = (await sent(net, node())).all - all;
      // A recorded transaction is sent once.
      expect(done).toBe(moment === 'it is prepared' ? 0 : 1);
      expect((await seen()) - shown).toBe(done === 0 ? 0n : worth);
      if (done === 0) {
        expect((await http(node(), path(), { method: 'POST' })).status).toBeLessThan(300);
        await allMined(node());
        expect((await seen()) - shown).toBe(worth);
        expect((await sent(net, node())).all - all).toBe(1);
      }
      if (name === 'cashing') await expectCashing();
      await booksAgree(before);
    });
  });
});

describe('a reorganisation', () => {
  test.each(NAMES)('that removes a %s lets it be mined again without further action', async (name) => {
    const { node, path, seen, units } = OPERATIONS[name];
    if (name === 'cashing') await paysAgain();
    const before = await booksAgree();
    const [shown, worth, { all }] = [await seen(), await units(), await sent(net, node())];
    const available = (await payer.chequebook.balance()).availableBalance;
    const height = await net.chain.height();
    const asked = await http(node(), path(), { method: 'POST' });
    const hash = asked.json['transactionHash'] as string;
    await allMined(node());
    expect((await seen()) - shown).toBe(worth);
    if (name === 'cashing') await expectCashing(hash);

    await net.chain.pause();
    await net.chain.reorganise((await net.chain.height()) - height);
    expect((await seen()) - shown).toBe(0n);
    await net.chain.resume();
    await eventually('it is not mined again', async () =>
      (await seen()) - shown === worth ? undefined : `${await seen()} after ${shown}`,
    );
    await allMined(node());
    expect((await sent(net, node())).all - all).toBe(1);
    const change = { deposit: AMOUNT, withdrawal: -AMOUNT, cashing: 0n }[name];
    expect((await payer.chequebook.balance()).availableBalance - available).toBe(change);
    if (name === 'cashing') await expectCashing(hash);
    await booksAgree(before);
  });
});

describe('an endpoint', () => {
  test('that is away for all nodes stops no traffic, and the debts are paid when it is back', async () => {
    await paysAgain();
    const before = await booksAgree();
    const failed = await metric(payer, 'accounting_payment_error_count');
    await net.chain.setRpcFault({ kind: 'down' });
    const paid = await promised();
    for (let n = 0; n < 2; n++) expect(await traffic(CHUNKS / 2)).toBe(201);
    expect(await metric(payer, 'accounting_payment_error_count')).toBeGreaterThan(failed);
    for (const [node, path] of [
      [payer, '/chequebook/balance'],
      [payer, `/chequebook/deposit?amount=${AMOUNT}`],
      [payee, `/chequebook/cashout/${payer.overlay}`],
    ] as const) {
      const method = path.endsWith('balance') ? 'GET' : 'POST';
      expect((await http(node, path, { method })).status).toBe(500);
    }
    expect([await promised(), await taken()]).toEqual([paid, paid]);
    expect((await payer.client.balances())[0]?.balance).toBeLessThan(0n);
    await net.chain.setRpcFault({ kind: 'none' });
    await paysAgain();
    await booksAgree(before);
  });

  test('that is slow, with slow blocks, delays cheques and cashings and loses none', async () => {
    const before = await booksAgree();
    await net.chain.setRpcFault({ kind: 'slow', ms: 200 });
    await net.chain.setBlockTime(2_000);
    await paysAgain();
    const worth = await OPERATIONS.cashing.units();
    const shown = await cashed();
    const hash = await payee.chequebook.cash(payer.overlay);
    await traffic(CHUNKS / 2);
    await allMined(payee);
    expect((await cashed()) - shown).toBeGreaterThanOrEqual(worth);
    await net.chain.setRpcFault({ kind: 'none' });
    await net.chain.setBlockTime(200);
    await expectCashing(hash);
    await booksAgree(before);
  });
});
