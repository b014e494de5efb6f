import { describe, expect, test } from 'vitest';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { connectedTo, owe, PRICE } from './accounting-kit.ts';
import { bookkeeper, fakePeer } from './fake-peers.ts';

const THRESHOLD = 13_500_000n;

const RATE = 4_500_000n;

const silent = () => new Promise<never>(() => undefined);

describe('using a service', () => {
  test('reserves its price, then adds it to the debt', () => {
    const { accounting, peer, row } = connectedTo();
    const credit = accounting.prepareCredit(peer, PRICE, true);
    expect(row()).toMatchObject({ reservedBalance: PRICE, consumedBalance: 0n });
    credit.apply();
    expect(row()).toMatchObject({ reservedBalance: 0n, consumedBalance: -PRICE, balance: -PRICE });
  });

  test('that is not delivered costs nothing, and a credit can end only once', () => {
    const { accounting, peer, row } = connectedTo();
    const failed = accounting.prepareCredit(peer, PRICE, true);
    failed.release();
    failed.apply();
    failed.release();
    expect(row()).toMatchObject({ reservedBalance: 0n, consumedBalance: 0n });
    const delivered = accounting.prepareCredit(peer, PRICE, true);
    delivered.apply();
    delivered.release();
    delivered.apply();
    expect(row()).toMatchObject({ reservedBalance: 0n, consumedBalance: -PRICE });
  });

  test('waits in order until a payment covers it, and only so many go on as it covers', async () => {
    const setup = connectedTo();
    const { accounting, keeper, peer } = setup;
    const paid = Promise.withResolvers<Awaited<ReturnType<typeof keeper.answer>>>();
    keeper.answer = () => paid.promise;
    owe(setup, THRESHOLD);
    const price = 3n * PRICE;
    const free = (THRESHOLD + RATE + (setup.row()?.consumedBalance ?? 0n)) / price;
    for (let n = 0n; n < free; n++) accounting.prepareCredit(peer, price, true);
    const woken: number[] = [];
    const wait = (n: number) =>
      accounting.awaitCredit(peer, price, () => {
        woken.push(n);
        accounting.prepareCredit(peer, price, true);
      });
    wait(0);
    wait(1)[Symbol.dispose]();
    for (const n of [2, 3, 4]) wait(n);
    await keeper.clock.settle();
    expect(woken).toEqual([]);
    paid.resolve({ accepted: 2n * price + RATE, allegedSeconds: 1n });
    await keeper.clock.settle();
    expect(woken).toEqual([0, 2]);
    accounting.thresholdAnnounced(peer, THRESHOLD + price);
    expect(woken).toEqual([0, 2, 3]);
  });

  test('goes on when a request that was not delivered leaves its credit', () => {
    const { accounting, peer } = connectedTo();
    const others = Array.from({ length: 56 }, () => accounting.prepareCredit(peer, PRICE, true));
    expect(() => accounting.prepareCredit(peer, PRICE, true)).toThrow('attempted overdraft');
    let woken = 0;
    accounting.awaitCredit(peer, PRICE, () => {
      woken += 1;
    });
    others[0]?.release();
    expect(woken).toBe(1);
  });

  test('is refused when all open requests could exceed the threshold and one second of refresh', () => {
    const { accounting, peer, row } = connectedTo();
    const limit = (THRESHOLD + RATE) / PRICE;
    for (let n = 0n; n < limit; n++) accounting.prepareCredit(peer, PRICE, true);
    expect(() => accounting.prepareCredit(peer, PRICE, true)).toThrow(
      expect.objectContaining({ code: 'OVERDRAFT', message: 'attempted overdraft' }),
    );
    expect(row()?.reservedBalance).toBe(limit * PRICE);
    expect(() => accounting.prepareCredit(peer, THRESHOLD + RATE - limit * PRICE, true)).not.toThrow();
  });

  test('has no allowance beyond the threshold within a second after a refresh', async () => {
    const setup = connectedTo();
    const { accounting, clock, keeper, peer, row } = setup;
    owe(setup, 7_000_000n);
    await clock.settle();
    keeper.answer = silent;
    expect(row()?.currentThresholdReceived).toBe(THRESHOLD);
    await clock.advance(999);
    expect(row()?.currentThresholdReceived).toBe(THRESHOLD);
    await clock.advance(1);
    expect(row()?.currentThresholdReceived).toBe(THRESHOLD + RATE);
    expect(() => accounting.prepareCredit(peer, THRESHOLD + RATE + 1n, true)).toThrow('overdraft');
  });

  test('counts against the threshold that the peer announced, even before the connect', () => {
    const { accounting, peer, row } = connectedTo();
    accounting.thresholdAnnounced(peer, 900_000n);
    expect(row()?.thresholdReceived).toBe(900_000n);
    expect(() => accounting.prepareCredit(peer, 900_000n + RATE + 1n, true)).toThrow('overdraft');
    const later = fakePeer(8);
    accounting.thresholdAnnounced(later, 1n << 200n);
    accounting.connected(later);
    expect(accounting.balance(later.overlayHex)?.thresholdReceived).toBe(1n << 200n);
    accounting.prepareCredit(later, 1n << 199n, false).apply();
    expect(accounting.balance(later.overlayHex)?.consumedBalance).toBe(-(1n << 199n));
  });

  test('of a light node counts against a tenth until the peer has announced its threshold', () => {
    const terms = { fullNode: false, refreshRate: RATE / 10n };
    const { accounting, peer, row } = connectedTo({ terms });
    expect(row()?.thresholdReceived).toBe(THRESHOLD / 10n);
    const most = THRESHOLD / 10n + RATE / 10n;
    expect(() => accounting.prepareCredit(peer, most + 1n, true)).toThrow('overdraft');
    accounting.prepareCredit(peer, most, true);
  });

  test('of a peer that has left is refused', () => {
    const { accounting, peer } = connectedTo();
    peer.leave();
    accounting.disconnected(peer);
    expect(() => accounting.prepareCredit(peer, PRICE, true)).toThrow(
      expect.objectContaining({ code: 'PEER_NOT_CONNECTED' }),
    );
    expect(() => accounting.prepareDebit(peer, PRICE)).toThrow(
      expect.objectContaining({ code: 'PEER_NOT_CONNECTED' }),
    );
  });

  test('may come before the connect hook, which then does not reset it', () => {
    const { accounting } = bookkeeper();
    const peer = fakePeer(9);
    accounting.prepareDebit(peer, PRICE).apply();
    accounting.connected(peer);
    expect(accounting.balance(peer.overlayHex)?.consumedBalance).toBe(PRICE);
  });
});

describe('giving a service', () => {
  test('reserves its price in the shadow balance, then adds it to the debt of the peer', () => {
    const { accounting, peer, row } = connectedTo();
    const debit = accounting.prepareDebit(peer, PRICE);
    expect(row()).toMatchObject({ shadowReservedBalance: PRICE, consumedBalance: 0n });
    debit.apply();
    debit.release();
    expect(row()).toMatchObject({ shadowReservedBalance: 0n, consumedBalance: PRICE, ghostBalance: 0n });
  });

  test('may be paid by a refresh before it is owed', () => {
    const { accounting, peer, row } = connectedTo();
    const debit = accounting.prepareDebit(peer, PRICE);
    accounting.refreshmentReceived(peer, accounting.payableDebt(peer));
    expect(row()).toMatchObject({ consumedBalance: -PRICE, surplusBalance: 0n });
    debit.apply();
    expect(row()).toMatchObject({ consumedBalance: 0n, shadowReservedBalance: 0n });
  });

  test('that is not taken becomes ghost balance, and too much of it leads to blocklisting', async () => {
    const { accounting, blocklisted, clock, peer, row } = connectedTo();
    for (let n = 0; n < 52; n++) accounting.prepareDebit(peer, PRICE).release();
    expect(row()).toMatchObject({ shadowReservedBalance: 0n, ghostBalance: 52n * PRICE });
    expect(blocklisted).toEqual([]);
    accounting.prepareDebit(peer, PRICE).release();
    await clock.settle();
    // (53 x 320,000 + 13,500,000) / 4,500,000
    expect(blocklisted).toEqual([{ peer: peer.overlayHex, durationMs: 6_000, reason: 'ghost overdraw' }]);
  });

  test('is tolerated up to the disconnect limit and one second of refresh, at the limit the peer is blocklisted', () => {
    const { accounting, blocklisted, peer, row } = connectedTo();
    expect(row()?.currentThresholdGiven).toBe(16_875_000n + RATE);
    accounting.prepareDebit(peer, 16_875_000n + RATE - 1n).apply();
    expect(blocklisted).toEqual([]);
    accounting.prepareDebit(peer, 1n).apply();
    expect(blocklisted).toEqual([
      { peer: peer.overlayHex, durationMs: 7_000, reason: 'disconnect threshold exceeded' },
    ]);
  });

  test('is shown without the allowance within a second after a refresh, which still applies to earlier requests', async () => {
    const { accounting, blocklisted, clock, peer, row } = connectedTo();
    accounting.prepareDebit(peer, RATE).apply();
    accounting.refreshmentReceived(peer, RATE);
    expect(row()).toMatchObject({ consumedBalance: 0n, currentThresholdGiven: 16_875_000n });
    accounting.prepareDebit(peer, 16_875_000n + RATE - 1n).apply();
    expect(blocklisted).toEqual([]);
    await clock.advance(1_000);
    expect(row()?.currentThresholdGiven).toBe(16_875_000n + RATE);
    accounting.prepareDebit(peer, 1n).apply();
    expect(blocklisted).toHaveLength(1);
  });

  test('allows for our open requests, which the peer may have offset against its debt already', () => {
    const { accounting, blocklisted, peer } = connectedTo();
    const asked = accounting.prepareCredit(peer, PRICE, true);
    accounting.prepareDebit(peer, 16_875_000n + RATE).apply();
    expect(blocklisted).toEqual([]);
    asked.release();
    accounting.prepareDebit(peer, 1n).apply();
    expect(blocklisted).toHaveLength(1);
  });

  test('a light peer has a tenth of every limit', () => {
    const { accounting, blocklisted, peer, row } = connectedTo({ fullNode: false });
    expect(accounting.thresholdFor(peer)).toBe(1_350_000n);
    expect(row()).toMatchObject({ thresholdGiven: 1_350_000n, currentThresholdGiven: 1_687_500n + 450_000n });
    accounting.prepareDebit(peer, 1_687_500n + 450_000n).apply();
    expect(blocklisted).toHaveLength(1);
  });
});

describe('settling', () => {
  test('begins before the debt reaches the early payment, because the open price counts twice', () => {
    const { accounting, peer, refreshes } = connectedTo();
    while (refreshes.length === 0) accounting.prepareCredit(peer, PRICE, true).apply();
    // 21 x 320,000 is below 6,750,000, 22 x 320,000 is above.
    expect(refreshes).toEqual([21n * PRICE]);
  });

  test('lowers the debt by what the creditor accepts', async () => {
    const setup = connectedTo();
    const { clock, keeper, refreshes, row } = setup;
    keeper.answer = async () => ({ accepted: RATE, allegedSeconds: 1n });
    owe(setup, 7_040_000n);
    const owed = -(row()?.consumedBalance ?? 0n);
    await clock.settle();
    expect(refreshes).toHaveLength(1);
    expect(row()?.consumedBalance).toBe(RATE - owed);
  });

  test('waits more than a second between two refreshes, and runs one at a time', async () => {
    const setup = connectedTo();
    const { accounting, clock, keeper, peer, refreshes } = setup;
    keeper.answer = async (_peer, accepted) => {
      await clock.sleep(400);
      return { accepted, allegedSeconds: 1n };
    };
    const use = () => accounting.prepareCredit(peer, 10_000n, true).apply();
    owe(setup, 12_000_000n);
    use();
    expect(refreshes).toHaveLength(1);
    await clock.advance(400);
    owe(setup, 12_000_000n);
    await clock.advance(1_019);
    use();
    expect(refreshes).toHaveLength(1);
    await clock.advance(1);
    use();
    expect(refreshes).toHaveLength(2);
  });

  test('does not pay debts below one second of refresh', () => {
    const { accounting, peer, refreshes } = connectedTo({ terms: { earlyPercent: 90 } });
    for (let n = 0; n < 13; n++) accounting.prepareCredit(peer, PRICE, true).apply();
    expect(refreshes).toEqual([]);
    for (let n = 0; n < 2; n++) accounting.prepareCredit(peer, PRICE, true).apply();
    expect(refreshes).toEqual([15n * PRICE]);
  });

  test('leaves out what the peer is about to owe, and allows for debits prepared while it runs', async () => {
    const { accounting, blocklisted, clock, keeper, peer, refreshes, row } = connectedTo();
    const before = accounting.prepareDebit(peer, 1_000_000n);
    const answered = Promise.withResolvers<void>();
    keeper.answer = async (_peer, amount) => {
      await answered.promise;
      return { accepted: amount - PRICE, allegedSeconds: 100n };
    };
    while (refreshes.length === 0) accounting.prepareCredit(peer, PRICE, true).apply();
    expect(refreshes).toEqual([-(row()?.consumedBalance ?? 0n) - 1_000_000n]);
    accounting.prepareDebit(peer, PRICE).apply();
    answered.resolve();
    await clock.settle();
    expect(blocklisted).toEqual([]);
    before.apply();
    expect(row()?.consumedBalance).toBe(0n);
  });

  test('ignores debits of an earlier refresh', async () => {
    const setup = connectedTo();
    const { accounting, blocklisted, clock, keeper, peer, refreshes } = setup;
    keeper.answer = async (_peer, amount) => {
      await clock.sleep(400);
      return { accepted: amount - PRICE, allegedSeconds: 100n };
    };
    owe(setup, 7_000_000n);
    accounting.prepareDebit(peer, PRICE).apply();
    await clock.advance(2_000);
    expect(blocklisted).toEqual([]);
    owe(setup, 7_000_000n);
    await clock.advance(400);
    expect(refreshes).toHaveLength(2);
    expect(blocklisted).toHaveLength(1);
  });

  test('blocklists a creditor that refuses or accepts too little, but not one that has left', async () => {
    const refused = connectedTo();
    refused.keeper.answer = () => Promise.reject(new Error('reset'));
    owe(refused, 7_000_000n);
    await refused.clock.advance(250);
    expect(refused.blocklisted.map(({ reason }) => reason)).toEqual(['failed to refresh']);

    const short = connectedTo();
    short.keeper.answer = async () => ({ accepted: RATE - 1n, allegedSeconds: 1n });
    owe(short, 7_000_000n);
    await short.clock.settle();
    expect(short.blocklisted.map(({ reason }) => reason)).toEqual([
      'failed to meet expectation for allowance',
    ]);

    const left = connectedTo();
    left.keeper.answer = () => Promise.reject(new Error('reset'));
    owe(left, 7_000_000n);
    await left.clock.advance(249);
    left.peer.leave();
    left.accounting.disconnected(left.peer);
    await left.clock.advance(1_000);
    expect(left.blocklisted).toEqual([]);
  });
});

describe('a session', () => {
  test('starts at zero, but keeps the announced threshold and the repaid debt', async () => {
    const setup = connectedTo();
    const { accounting, clock, peer } = setup;
    accounting.thresholdAnnounced(peer, 20_000_000n);
    owe(setup, 1_000_000n);
    accounting.prepareDebit(peer, PRICE).release();
    accounting.prepareCredit(peer, PRICE, true);
    accounting.prepareDebit(peer, PRICE);
    peer.leave();
    accounting.disconnected(peer);
    const again = fakePeer(7);
    accounting.connected(again);
    await clock.settle();
    expect(accounting.balance(again.overlayHex)).toMatchObject({
      balance: 0n,
      consumedBalance: 0n,
      reservedBalance: 0n,
      shadowReservedBalance: 0n,
      ghostBalance: 0n,
      thresholdReceived: 20_000_000n,
      thresholdGiven: THRESHOLD,
    });
  });

  test('is not affected by what an earlier session left open', () => {
    const { accounting, peer, row } = connectedTo();
    const credit = accounting.prepareCredit(peer, PRICE, true);
    const debit = accounting.prepareDebit(peer, PRICE);
    const [lostCredit, lostDebit] = [
      accounting.prepareCredit(peer, PRICE, true),
      accounting.prepareDebit(peer, PRICE),
    ];
    peer.leave();
    const again = fakePeer(7);
    accounting.connected(again);
    accounting.disconnected(peer);
    credit.apply();
    debit.apply();
    lostCredit.release();
    lostDebit.release();
    expect(row()).toMatchObject({
      consumedBalance: 0n,
      reservedBalance: 0n,
      shadowReservedBalance: 0n,
      ghostBalance: 0n,
    });
    accounting.prepareCredit(again, PRICE, true).apply();
    expect(row()?.consumedBalance).toBe(-PRICE);
  });

  test('ends with a blocklisting: the peer is not blocklisted twice', () => {
    const { accounting, blocklisted, peer } = connectedTo();
    const [first, second] = [
      accounting.prepareDebit(peer, 30_000_000n),
      accounting.prepareDebit(peer, 30_000_000n),
    ];
    first.apply();
    second.apply();
    expect(blocklisted).toHaveLength(1);
  });
});

test('a peer that repays much is granted a higher threshold, which is announced to it', () => {
  const { accounting, announced, peer, row } = connectedTo();
  const repay = (amount: bigint) => {
    accounting.prepareDebit(peer, amount).apply();
    accounting.refreshmentReceived(peer, amount);
  };
  for (let n = 0; n < 100; n++) repay(RATE);
  expect(announced).toEqual([]);
  repay(1n);
  expect(announced).toEqual([THRESHOLD + RATE]);
  expect(row()).toMatchObject({ thresholdGiven: THRESHOLD + RATE, currentThresholdGiven: 22_500_000n });
  expect(accounting.thresholdFor(peer)).toBe(THRESHOLD + RATE);
  for (let n = 0; n < 100; n++) repay(RATE);
  expect(announced).toEqual([THRESHOLD + RATE, THRESHOLD + 2n * RATE]);
});

test('balances are on disk some seconds later and at the stop, and a restart shows them until the next connect', async () => {
  const state = memoryRecords();
  const setup = connectedTo({ state });
  const { accounting, clock, peer } = setup;
  owe(setup, 1_000_000n);
  const shown = () => bookkeeper({ state }).accounting.balance(peer.overlayHex)?.consumedBalance;
  await clock.advance(4_999);
  expect(shown()).toBeUndefined();
  await clock.advance(1);
  expect(shown()).toBe(-1_280_000n);
  accounting.prepareCredit(peer, PRICE, true).apply();
  await accounting.stop();
  expect(shown()).toBe(-1_600_000n);
  const restarted = bookkeeper({ state });
  expect(restarted.accounting.balances().map((row) => row.peer)).toEqual([peer.overlayHex]);
  restarted.accounting.connected(peer);
  expect(restarted.accounting.balance(peer.overlayHex)?.consumedBalance).toBe(0n);
});

test('amounts of the fast profile are exact', () => {
  const terms = { paymentThreshold: 13_500_000_000n, refreshRate: 4_500_000_000n };
  const { accounting, peer, row, blocklisted } = connectedTo({ terms });
  accounting.prepareDebit(peer, 16_875_000_000n + 4_500_000_000n - 1n).apply();
  expect(row()?.consumedBalance).toBe(21_374_999_999n);
  expect(blocklisted).toEqual([]);
});
