import { describe, expect, test } from 'vitest';
import { StreamError } from '../../../node/p2p/host.ts';
import { bookkeeper, fakePeer } from './fake-peers.ts';

const PRICE = 320_000n;
const RATE = 4_500_000n;
/** Beyond the early payment of 6,750,000. */
const SETTLED = 21n * PRICE;

async function debtor(given: Parameters<typeof bookkeeper>[0] = {}) {
  const keeper = bookkeeper({ chequebook: true, ...given });
  const { accounting, clock } = keeper;
  const peer = fakePeer(7);
  accounting.connected(peer);
  const use = (times: number, originated = true) => {
    for (let n = 0; n < times; n++) accounting.prepareCredit(peer, PRICE, originated).apply();
  };
  const row = () => accounting.balance(peer.overlayHex);
  use(21);
  await clock.settle();
  expect(row()?.consumedBalance).toBe(0n);
  keeper.answer = async () => ({ accepted: RATE, allegedSeconds: 1n });
  return { ...keeper, keeper, peer, use, row };
}

describe('paying by cheque', () => {
  test('never happens before a refresh, which pays any debt, has succeeded', async () => {
    const keeper = bookkeeper({ chequebook: true });
    const { accounting, payments, refreshes } = keeper;
    const peer = fakePeer(7);
    accounting.connected(peer);
    keeper.answer = () => new Promise(() => undefined);
    for (let n = 0; n < 40; n++) accounting.prepareCredit(peer, PRICE, true).apply();
    expect(refreshes).toHaveLength(1);
    expect(payments).toEqual([]);
  });

  test('pays the debt that time does not, within the second after a refresh', async () => {
    const { use, payments, row, clock } = await debtor();
    use(21);
    expect(payments).toEqual([SETTLED]);
    expect(row()).toMatchObject({ consumedBalance: -SETTLED, shadowReservedBalance: SETTLED });
    await clock.settle();
    expect(row()).toMatchObject({ consumedBalance: 0n, shadowReservedBalance: 0n });
  });

  test('leaves to time what the seconds since the last refresh will pay', async () => {
    const { use, payments, clock, keeper, refreshes } = await debtor();
    await clock.advance(1_020);
    keeper.answer = () => new Promise(() => undefined);
    use(21);
    expect(refreshes).toEqual([SETTLED, SETTLED]);
    expect(payments).toEqual([SETTLED - RATE]);
  });

  test('leaves a rest below the minimum amount to time', async () => {
    const { use, payments } = await debtor({ terms: { minimumPayment: SETTLED + 1n } });
    use(21);
    expect(payments).toEqual([]);
    use(1);
    expect(payments).toEqual([SETTLED + PRICE]);
  });

  test('pays only for our own requests', async () => {
    const { use, payments, row } = await debtor();
    use(10, false);
    use(12, true);
    expect(row()?.consumedBalance).toBe(-22n * PRICE);
    expect(payments).toEqual([11n * PRICE]);
    const { use: forward, payments: none } = await debtor();
    forward(40, false);
    expect(none).toEqual([]);
  });

  test('runs one at a time, and does not lift the limit before it has ended', async () => {
    const { use, payments, keeper, clock, accounting, peer } = await debtor();
    const sent = Promise.withResolvers<void>();
    keeper.pay = () => sent.promise;
    // 13,500,000 within the second after a refresh.
    use(42);
    expect(payments).toEqual([SETTLED]);
    expect(() => accounting.prepareCredit(peer, PRICE, true)).toThrow('overdraft');
    sent.resolve();
    await clock.settle();
    use(1);
    expect(payments).toEqual([SETTLED, SETTLED]);
  });

  test('that failed has paid nothing, and is not repeated at once', async () => {
    const { use, payments, keeper, clock, row } = await debtor();
    keeper.pay = () => Promise.reject(new Error('chequebook out of funds'));
    use(21);
    await clock.settle();
    expect(row()).toMatchObject({ consumedBalance: -SETTLED, shadowReservedBalance: 0n });
    use(1);
    expect(payments).toHaveLength(1);
  });

  test('to a peer that takes no cheques is tried once per session', async () => {
    const { use, payments, keeper, clock, accounting, peer } = await debtor({
      terms: { paymentRetryMs: 500 },
    });
    keeper.pay = () => Promise.reject(new StreamError('PROTOCOL_UNSUPPORTED', 'no cheques'));
    use(21);
    for (let n = 0; n < 5; n++) {
      await clock.advance(500);
      use(1);
    }
    expect(payments).toEqual([SETTLED]);
    accounting.disconnected(peer);
    accounting.connected(peer);
    use(30);
    expect(payments).toHaveLength(2);
  });

  test('is tried again after the pause', async () => {
    const { use, payments, keeper, clock } = await debtor({ terms: { paymentRetryMs: 500 } });
    keeper.pay = () => Promise.reject(new Error('chequebook out of funds'));
    use(21);
    await clock.advance(499);
    use(1);
    expect(payments).toHaveLength(1);
    await clock.advance(1);
    use(1);
    expect(payments).toEqual([SETTLED, 22n * PRICE]);
  });

  test('is allowed for in a refresh that runs at the same time', async () => {
    const { use, payments, keeper, clock, blocklisted, row } = await debtor();
    await clock.advance(1_020);
    const answered = Promise.withResolvers<void>();
    keeper.answer = async (_peer, amount) => {
      await answered.promise;
      // The creditor has counted the cheque before.
      return { accepted: amount - (payments[0] ?? 0n), allegedSeconds: 100n };
    };
    use(21);
    await clock.settle();
    answered.resolve();
    await clock.settle();
    expect(blocklisted).toEqual([]);
    expect(row()?.consumedBalance).toBe(0n);
  });

  test('that may have arrived unconfirmed is allowed for in the refresh', async () => {
    const { use, keeper, clock, blocklisted, row } = await debtor({ terms: { minimumPayment: SETTLED } });
    keeper.answer = async (_peer, amount) => ({ accepted: amount - 1_000_000n, allegedSeconds: 100n });
    keeper.inDoubt = 1_000_000n;
    await clock.advance(1_020);
    use(21);
    await clock.settle();
    expect(row()?.consumedBalance).toBe(-1_000_000n);
    expect(blocklisted).toEqual([]);
    keeper.inDoubt = 999_999n;
    await clock.advance(1_020);
    use(21);
    await clock.settle();
    expect(blocklisted).toMatchObject([{ reason: 'failed to meet expectation for allowance' }]);
  });

  test('that arrived late is not held against a peer that asked for services meanwhile', async () => {
    const { use, keeper, clock, accounting, peer, blocklisted, row } = await debtor();
    const sent = Promise.withResolvers<void>();
    keeper.pay = () => sent.promise;
    use(21);
    const serve = (price: bigint) => accounting.prepareDebit(peer, price).apply();
    serve(20_000_000n);
    sent.resolve();
    await clock.settle();
    expect(row()?.consumedBalance).toBe(20_000_000n);
    // Disconnected at 13,500,000 with a tolerance of 25 % and a second's refresh, were it all asked for.
    serve(2_000_000n);
    expect(blocklisted).toEqual([]);
    // What is used up is not allowed for again.
    accounting.refreshmentReceived(peer, 22_000_000n);
    use(1);
    serve(22_000_000n);
    expect(blocklisted).toMatchObject([{ reason: 'disconnect threshold exceeded' }]);
  });

  test('counts only in its own session', async () => {
    const { use, keeper, clock, accounting, peer, row } = await debtor();
    const sent = Promise.withResolvers<void>();
    keeper.pay = () => sent.promise;
    use(21);
    peer.leave();
    accounting.disconnected(peer);
    accounting.connected(fakePeer(7));
    sent.resolve();
    await clock.settle();
    expect(row()).toMatchObject({ consumedBalance: 0n, shadowReservedBalance: 0n });
  });

  test('in progress ends before accounting stops', async () => {
    const { use, keeper, clock, accounting } = await debtor();
    const sent = Promise.withResolvers<void>();
    keeper.pay = () => sent.promise;
    use(21);
    const ended: string[] = [];
    const stopping = accounting.stop().finally(() => ended.push('accounting'));
    await clock.settle();
    ended.push('payment');
    sent.resolve();
    await stopping;
    expect(ended).toEqual(['payment', 'accounting']);
  });
});

describe('a payment received', () => {
  function creditor(given: { fullNode?: boolean } = {}) {
    const keeper = bookkeeper();
    const peer = fakePeer(7, given);
    keeper.accounting.connected(peer);
    return { ...keeper, keeper, peer, row: () => keeper.accounting.balance(peer.overlayHex) };
  }

  test('pays the debt, and any excess is surplus that the next services use up', () => {
    const { accounting, peer, row } = creditor();
    accounting.prepareDebit(peer, 1_000n).apply();
    accounting.paymentReceived(peer, 400n);
    expect(row()).toMatchObject({ consumedBalance: 600n, surplusBalance: 0n });
    accounting.paymentReceived(peer, 1_000n);
    expect(row()).toMatchObject({ consumedBalance: 0n, surplusBalance: 400n, balance: -400n });
    accounting.prepareDebit(peer, 300n).apply();
    expect(row()).toMatchObject({ consumedBalance: 0n, surplusBalance: 100n });
    accounting.prepareDebit(peer, 300n).apply();
    expect(row()).toMatchObject({ consumedBalance: 200n, surplusBalance: 0n });
  });

  test('before it is owed is shown by both sides alike, and ends with the session', () => {
    const { accounting, peer, row } = creditor();
    accounting.paidAhead(peer, 500n);
    expect(row()).toMatchObject({ consumedBalance: 0n, balance: 500n, surplusBalance: 0n });
    accounting.prepareCredit(peer, 200n, true).apply();
    expect(row()).toMatchObject({ consumedBalance: -200n, balance: 300n });
    accounting.disconnected(peer);
    accounting.paidAhead(peer, 900n);
    accounting.connected(fakePeer(7));
    expect(row()).toMatchObject({ balance: 0n });
  });

  test('does not make us settle: it may bounce', () => {
    const { accounting, peer, row, refreshes } = creditor();
    accounting.prepareCredit(peer, 1_000n, true).apply();
    accounting.paymentReceived(peer, 20_000_000n);
    expect(row()).toMatchObject({ consumedBalance: -1_000n, surplusBalance: 20_000_000n });
    expect(() => accounting.prepareCredit(peer, 1n, true)).toThrow('overdraft');
    expect(refreshes).toEqual([]);
  });

  test('may be unconfirmed at the payer: a refresh that pays that much less is not penalised', async () => {
    const { keeper, accounting, clock, peer, row, blocklisted, refreshes } = creditor();
    const paysLess = async (_peer: unknown, amount: bigint) => ({
      accepted: amount - 1_000_000n,
      allegedSeconds: 100n,
    });
    const settle = async () => {
      const before = refreshes.length;
      while (refreshes.length === before) accounting.prepareCredit(peer, PRICE, true).apply();
      await clock.advance(1_020);
    };
    accounting.prepareDebit(peer, 1_000_000n).apply();
    accounting.paymentReceived(peer, 1_000_000n);
    keeper.answer = paysLess;
    await settle();
    expect(row()?.consumedBalance).toBe(-1_000_000n);
    expect(blocklisted).toEqual([]);
    // A peer that accepts all that is owed knows it all.
    keeper.answer = async (_peer, accepted) => ({ accepted, allegedSeconds: 100n });
    await settle();
    expect(row()?.consumedBalance).toBe(0n);
    keeper.answer = paysLess;
    await settle();
    expect(blocklisted).toMatchObject([{ reason: 'failed to meet expectation for allowance' }]);
  });

  test('lets the granted threshold grow like a refresh, and only in its session', () => {
    const { accounting, announced, peer } = creditor();
    accounting.paymentReceived(peer, 100n * RATE);
    expect(announced).toEqual([]);
    accounting.paymentReceived(peer, 1n);
    expect(announced).toEqual([18_000_000n]);
    peer.leave();
    accounting.disconnected(peer);
    accounting.paymentReceived(peer, 100n * RATE);
    expect(announced).toHaveLength(1);
  });
});
