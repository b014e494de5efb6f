import { id, MaxUint256, ZeroAddress } from 'ethers';
import { describe, expect, test } from 'vitest';
import { deployer, player, second, stranger } from './network.ts';
import {
  AMOUNT,
  counts,
  create,
  creation,
  PRICE,
  paidNext,
  refusal,
  roles,
  stamp,
  usePostage,
  view,
} from './postage-kit.ts';

const net = usePostage();

describe('expiry', () => {
  test('moves the payments of chunks to the pot and removes empty batches', async () => {
    await create({ amount: 2n * PRICE });
    await create({ nonce: 2, amount: 100n * PRICE });
    const since = BigInt((await counts()).lastExpiryBalance);
    await net.current.chain.mine(4);
    expect(await view('expiredBatchesExist')).toBe(true);
    const paid = BigInt(String(await paidNext()));
    const before = BigInt((await counts()).pot);
    const { events } = await net.current.send(stamp(), 'expireLimited', [MaxUint256], { from: stranger });
    expect(events).toEqual([]);
    // The first batch paid for one more block.
    const pot = before + 2n ** 17n * PRICE + 2n ** 17n * (paid - since);
    expect(await counts()).toEqual({
      validChunkCount: '131072',
      pot: String(pot),
      lastExpiryBalance: String(paid),
    });
    expect(await view('expiredBatchesExist')).toBe(false);
  });

  test('of a few batches leaves the others, and the time of the last complete run', async () => {
    for (const nonce of [1, 2, 3]) await create({ nonce, amount: 4n * PRICE });
    const { lastExpiryBalance } = await counts();
    await net.current.chain.mine(8);
    await net.current.send(stamp(), 'expireLimited', [2n]);
    expect(await counts()).toMatchObject({ validChunkCount: '131072', lastExpiryBalance });
    expect(await view('expiredBatchesExist')).toBe(true);
    await net.current.send(stamp(), 'expireLimited', [2n]);
    expect(await counts()).toMatchObject({ validChunkCount: '0', pot: String(3n * 4n * PRICE * 2n ** 17n) });
    expect(await view('isBatchesTreeEmpty')).toBe(true);
  });

  test('follows the order of balances through creation, top-up and dilution', async () => {
    const amounts = [90n, 30n, 70n, 50n, 20n, 80n, 60n, 40n, 30n, 100n].map((blocks) => blocks * PRICE);
    const ids: string[] = [];
    for (const [index, amount] of amounts.entries())
      ids.push((await create({ nonce: index + 1, amount })).id);
    await net.current.send(stamp(), 'topUp', [ids[4], 200n * PRICE], { from: player });
    await net.current.send(stamp(), 'topUp', [ids[1], 17n * PRICE], { from: player });
    await net.current.send(stamp(), 'increaseDepth', [ids[0], 18], { from: player });

    const balances = new Map<string, bigint>();
    for (const batch of ids) balances.set(batch, BigInt(String(await view('batchNormalisedBalance', batch))));
    const order = [...balances].sort((a, b) => Number(a[1] - b[1])).map(([batch]) => batch);
    for (const [index, batch] of order.entries()) {
      expect(await view('firstBatchId'), `batch ${index}`).toBe(batch);
      const paid = BigInt(String(await view('currentTotalOutPayment')));
      const blocks = ((balances.get(batch) ?? 0n) - paid + PRICE - 1n) / PRICE;
      if (blocks > 0n) await net.current.chain.mine(Number(blocks));
      await net.current.send(stamp(), 'expireLimited', [1n]);
      expect(await view('batchOwner', batch)).toBe(ZeroAddress);
    }
    expect(await view('isBatchesTreeEmpty')).toBe(true);
    const deposited = 2n ** 17n * (amounts.reduce((sum, amount) => sum + amount, 0n) + 217n * PRICE);
    const rounding = deposited - BigInt((await counts()).pot);
    // Dilution may lose the odd unit of each chunk.
    expect(rounding).toBeGreaterThanOrEqual(0n);
    expect(rounding).toBeLessThanOrEqual(2n ** 17n);
  });

  test('starts with the first of equal balances, and with the last in place of one that left', async () => {
    const copy = (name: string) => [player.address, AMOUNT, 17, 16, id(name), false];
    const bulk = ['a', 'b', 'c'].map((name) => [id(name), player.address, 17, 16, false, AMOUNT]);
    await net.current.send(stamp(), 'grantRole', [roles.DEFAULT_ADMIN_ROLE, stamp().address]);
    await net.current.send(stamp(), 'copyBatchBulk', [bulk]);
    expect(await view('firstBatchId')).toBe(id('a'));
    await net.current.send(stamp(), 'topUp', [id('a'), PRICE], { from: player });
    expect(await view('firstBatchId')).toBe(id('c'));
    expect(await refusal('copyBatch', copy('a'), deployer)).toBe('BatchExists()');
  });
});

describe('the pot', () => {
  const totalPot = () => net.current.view(stamp(), 'totalPot', [], { at: 'pending' });

  test('is paid to the account that the redistribution names, and to no other', async () => {
    await create({ amount: 2n * PRICE });
    await net.current.chain.mine(3);
    const pot = 2n * PRICE * 2n ** 17n;
    expect(await totalPot()).toBe(pot);
    expect(await refusal('withdraw', [second.address])).toBe('OnlyRedistributor()');
    await net.current.send(stamp(), 'grantRole', [roles.REDISTRIBUTOR_ROLE, player.address]);
    const sent = await net.current.send(stamp(), 'withdraw', [second.address], { from: player });
    expect(sent.events).toEqual([
      `Transfer(${stamp().address},${second.address},${pot})`,
      `PotWithdrawn(${second.address},${pot})`,
    ]);
    expect(await view('pot')).toBe(0n);
    expect(await totalPot()).toBe(0n);
  });

  test('never exceeds the tokens that are there', async () => {
    await net.current.send(stamp(), 'copyBatch', [player.address, 2n * PRICE, 20, 16, id('copied'), false]);
    await create({ amount: 2n * PRICE });
    await net.current.chain.mine(5);
    expect(await totalPot()).toBe(2n * PRICE * 2n ** 17n);
    await net.current.send(stamp(), 'totalPot');
    expect(await view('pot')).toBeGreaterThan(2n * PRICE * 2n ** 17n);
  });
});

describe('copyBatch', () => {
  const copied = (owner: string, amount: bigint, depth: number, bucketDepth: number) => [
    owner,
    amount,
    depth,
    bucketDepth,
    id('copied'),
    true,
  ];

  test('creates a batch with any id, without payment', async () => {
    const paid = BigInt(String(await paidNext()));
    const { events } = await net.current.send(stamp(), 'copyBatch', copied(second.address, AMOUNT, 20, 8));
    expect(events).toEqual([
      `BatchCreated(${id('copied')},${AMOUNT * 2n ** 20n},${paid + AMOUNT},${second.address},20,8,true)`,
    ]);
    expect((await counts()).validChunkCount).toBe(String(2 ** 20));
  });

  test.each([
    ['without owner', copied(ZeroAddress, AMOUNT, 17, 16), 'ZeroAddress()'],
    ['without buckets', copied(player.address, AMOUNT, 17, 0), 'InvalidDepth()'],
    ['with as many buckets as chunks', copied(player.address, AMOUNT, 8, 8), 'InvalidDepth()'],
  ])('%s is refused', async (_, args, expected) => {
    expect(await refusal('copyBatch', args, deployer)).toBe(expected);
  });

  test('is reserved to the administrator', async () => {
    expect(await refusal('copyBatch', copied(player.address, AMOUNT, 17, 16))).toBe('AdministratorOnly()');
    expect(await refusal('copyBatchBulk', [[]])).toBe('AdministratorOnly()');
  });

  test('in bulk reports each failure and completes the rest', async () => {
    const bulk = [
      [id('a'), player.address, 17, 16, false, AMOUNT],
      [id('b'), ZeroAddress, 17, 16, false, AMOUNT],
      [id('c'), player.address, 18, 16, true, AMOUNT],
    ];
    const refused = await net.current.send(stamp(), 'copyBatchBulk', [bulk]);
    expect(refused.events).toEqual(bulk.map(([batch], index) => `CopyBatchFailed(${index},${batch})`));
    await net.current.send(stamp(), 'grantRole', [roles.DEFAULT_ADMIN_ROLE, stamp().address]);
    const { events } = await net.current.send(stamp(), 'copyBatchBulk', [bulk]);
    expect(events.map((event) => event.split(',')[0])).toEqual([
      `BatchCreated(${id('a')}`,
      'CopyBatchFailed(1',
      `BatchCreated(${id('c')}`,
    ]);
  });
});

describe('a paused PostageStamp', () => {
  test('can be paused and resumed only by pausers', async () => {
    for (const method of ['pause', 'unPause']) expect(await refusal(method, [])).toBe('OnlyPauser()');
    expect((await net.current.send(stamp(), 'pause')).events).toEqual([`Paused(${deployer.address})`]);
    expect(await view('paused')).toBe(true);
    expect(await refusal('pause', [], deployer)).toBe('Pausable: paused');
    expect((await net.current.send(stamp(), 'unPause')).events).toEqual([`Unpaused(${deployer.address})`]);
    expect(await refusal('unPause', [], deployer)).toBe('Pausable: not paused');
  });

  test('refuses sales and changes, but still expires batches', async () => {
    const { id: batch } = await create();
    await net.current.send(stamp(), 'pause');
    expect(await refusal('createBatch', creation({ nonce: 2 }))).toBe('Pausable: paused');
    expect(await refusal('topUp', [batch, 1n])).toBe('Pausable: paused');
    expect(await refusal('increaseDepth', [batch, 18])).toBe('Pausable: paused');
    expect(await refusal('copyBatch', [player.address, 1n, 17, 16, id('x'), false], deployer)).toBe(
      'Pausable: paused',
    );
    await net.current.send(stamp(), 'expireLimited', [1n]);
  });
});
