import { id, MaxUint256, ZeroAddress, zeroPadValue } from 'ethers';
import { describe, expect, test } from 'vitest';
import artifact from '../../../chain/artifacts/PostageStamp.json' with { type: 'json' };
import { batchId } from '../../../chain/deployment/deploy.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { type Contract, deployer, player, second, stranger, TOKENS, useNetwork } from './network.ts';

const PRICE = 24_000n;
const AMOUNT = 10_000_000n;
const { roles, postageScenario: scenario } = vectors;

const net = useNetwork(async (network) => {
  for (const owner of [deployer, player, second]) {
    await network.send(network.token, 'approve', [network.postageStamp.address, MaxUint256], { from: owner });
  }
});

const nonceOf = (n: number) => zeroPadValue(`0x${n.toString(16).padStart(2, '0')}`, 32);
const stamp = () => net.current.postageStamp;

const creation = (
  overrides: {
    owner?: string;
    amount?: bigint;
    depth?: number;
    bucketDepth?: number;
    nonce?: number;
    immutable?: boolean;
  } = {},
) => {
  const {
    owner = player.address,
    amount = AMOUNT,
    depth = 17,
    bucketDepth = 16,
    nonce = 1,
    immutable = false,
  } = overrides;
  return [owner, amount, depth, bucketDepth, nonceOf(nonce), immutable];
};

async function create(overrides: Parameters<typeof creation>[0] = {}) {
  const receipt = await net.current.send(stamp(), 'createBatch', creation(overrides), { from: player });
  return { id: batchId(player.address, nonceOf(overrides.nonce ?? 1)), receipt };
}

const view = (method: string, ...args: unknown[]) => net.current.view(stamp(), method, args);
const refusal = (method: string, args: unknown[], from = player) =>
  net.current.refusal(stamp(), method, args, { from });
const counts = async () => ({
  validChunkCount: String(await view('validChunkCount')),
  pot: String(await view('pot')),
  lastExpiryBalance: String(await view('lastExpiryBalance')),
});
/** Total payment per chunk at the next block. */
const paidNext = () => net.current.view(stamp(), 'currentTotalOutPayment', [], { at: 'pending' });

describe('a fresh PostageStamp', () => {
  async function fresh(): Promise<Contract> {
    return net.current.deploy(artifact, [net.current.token.address, 16]);
  }

  test('starts without price, batches or pot, and with the validity of the network', async () => {
    const contract = await fresh();
    const read = (method: string) => net.current.view(contract, method);
    expect(await read('bzzToken')).toBe(net.current.token.address);
    expect(await read('minimumBucketDepth')).toBe(16n);
    expect(await read('minimumValidityBlocks')).toBe(17_280n);
    for (const counter of [
      'lastPrice',
      'lastUpdatedBlock',
      'pot',
      'validChunkCount',
      'lastExpiryBalance',
      'minimumInitialBalancePerChunk',
      'currentTotalOutPayment',
    ]) {
      expect(await read(counter)).toBe(0n);
    }
    expect(await read('isBatchesTreeEmpty')).toBe(true);
    expect(await read('expiredBatchesExist')).toBe(false);
    expect(await net.current.refusal(contract, 'firstBatchId')).toBe('NoBatchesExist()');
  });

  test('has its roles, with administration and pausing assigned to the deployer', async () => {
    const contract = await fresh();
    for (const role of [
      'PRICE_ORACLE_ROLE',
      'PAUSER_ROLE',
      'REDISTRIBUTOR_ROLE',
      'DEFAULT_ADMIN_ROLE',
    ] as const) {
      expect(await net.current.view(contract, role)).toBe(roles[role]);
      expect(await net.current.view(contract, 'getRoleAdmin', [roles[role]])).toBe(roles.DEFAULT_ADMIN_ROLE);
      const held = await net.current.view(contract, 'hasRole', [roles[role], deployer.address]);
      expect(held).toBe(role === 'PAUSER_ROLE' || role === 'DEFAULT_ADMIN_ROLE');
    }
    expect(await net.current.view(contract, 'supportsInterface', ['0x7965db0b'])).toBe(true);
  });

  test('without a price a batch never loses value, and one without a balance is refused', async () => {
    const contract = await fresh();
    await net.current.send(net.current.token, 'approve', [contract.address, MaxUint256], { from: player });
    expect(
      await net.current.refusal(contract, 'createBatch', creation({ amount: 0n }), { from: player }),
    ).toBe('ZeroBalance()');
    await net.current.send(contract, 'createBatch', creation({ amount: 1n }), { from: player });
    await net.current.chain.mine(100);
    expect(await net.current.view(contract, 'remainingBalance', [batchId(player.address, nonceOf(1))])).toBe(
      1n,
    );
  });

  test('reproduces the scenario of creation, top-up and dilution', async () => {
    const contract = await fresh();
    await net.current.send(net.current.token, 'approve', [contract.address, MaxUint256], { from: player });
    await net.current.send(contract, 'setMinimumValidityBlocks', [2]);
    await net.current.send(contract, 'grantRole', [roles.PRICE_ORACLE_ROLE, deployer.address]);
    const priced = await net.current.send(contract, 'setPrice', [scenario.price]);
    expect(priced.events).toEqual(['PriceUpdate(24000)']);

    const nonce = vectors.batchIds[0]?.nonce;
    const calls: [string, unknown[]][] = [
      ['createBatch', [player.address, 10_000_000n, 17, 16, nonce, false]],
      ['topUp', [scenario.batchId, 5_000_000n]],
      ['increaseDepth', [scenario.batchId, 18]],
    ];
    for (const [index, step] of scenario.steps.entries()) {
      const [method, args] = calls[index] ?? ['', []];
      await net.current.before(priced.block + step.block - scenario.setPriceBlock);
      const receipt = await net.current.send(contract, method, args, { from: player });
      expect(receipt.events.at(-1)).toBe(step.event);
      for (const field of [
        'currentTotalOutPayment',
        'validChunkCount',
        'pot',
        'lastExpiryBalance',
      ] as const) {
        expect(String(await net.current.view(contract, field)), `${step.step}: ${field}`).toBe(step[field]);
      }
    }
  });
});

describe('createBatch', () => {
  test.each(vectors.batchIds)(
    'of $msgSender derives the id from sender and nonce',
    async ({ msgSender, nonce, batchId: expected }) => {
      await net.current.chain.fund(msgSender, { native: 1n, tokens: TOKENS });
      await net.current.sendAs(msgSender, net.current.token, 'approve', [stamp().address, MaxUint256]);
      const args = [second.address, AMOUNT, 17, 16, nonce, false];
      expect(await net.current.view(stamp(), 'createBatch', args, { from: msgSender })).toBe(expected);
      const { events } = await net.current.sendAs(msgSender, stamp(), 'createBatch', args);
      expect(events.at(-1)).toContain(`BatchCreated(${expected},`);
    },
  );

  test('takes the payment for the whole batch and stores it for its owner', async () => {
    const paid = await paidNext();
    const { id: batch, receipt } = await create({ owner: second.address, immutable: true });
    const normalised = BigInt(String(paid)) + AMOUNT;
    const total = AMOUNT * 2n ** 17n;
    expect(receipt.events).toEqual([
      `Transfer(${player.address},${stamp().address},${total})`,
      `BatchCreated(${batch},${total},${normalised},${second.address},17,16,true)`,
    ]);
    expect(await view('batches', batch)).toEqual([
      second.address,
      17n,
      16n,
      true,
      normalised,
      BigInt(receipt.block),
    ]);
    expect(await view('batchOwner', batch)).toBe(second.address);
    expect(await view('batchDepth', batch)).toBe(17n);
    expect(await view('batchBucketDepth', batch)).toBe(16n);
    expect(await view('batchImmutableFlag', batch)).toBe(true);
    expect(await view('batchNormalisedBalance', batch)).toBe(normalised);
    expect(await view('batchLastUpdatedBlockNumber', batch)).toBe(BigInt(receipt.block));
    expect(await view('remainingBalance', batch)).toBe(AMOUNT);
    expect(await view('firstBatchId')).toBe(batch);
    expect(await view('isBatchesTreeEmpty')).toBe(false);
    expect((await counts()).validChunkCount).toBe('131072');
  });

  test.each([
    ['without owner', { owner: ZeroAddress }, 'ZeroAddress()'],
    ['without buckets', { bucketDepth: 0 }, 'InvalidDepth()'],
    ['with too few buckets', { bucketDepth: 15 }, 'InvalidDepth()'],
    ['with one slot per bucket', { depth: 16 }, 'InvalidDepth()'],
    ['below the minimum validity', { amount: 2n * PRICE - 1n }, 'InsufficientBalance()'],
    ['of absurd size', { depth: 255 }, 'Panic(0x11)'],
  ])('%s is refused', async (_, overrides, expected) => {
    expect(await refusal('createBatch', creation(overrides))).toBe(expected);
  });

  test('is accepted with exactly the minimum validity', async () => {
    expect(await view('minimumInitialBalancePerChunk')).toBe(2n * PRICE);
    await create({ amount: 2n * PRICE });
  });

  test('refuses the same sender and nonce again, whichever owner is given', async () => {
    await create();
    expect(await refusal('createBatch', creation({ owner: second.address }))).toBe('BatchExists()');
    await net.current.send(stamp(), 'createBatch', creation(), { from: second });
  });

  test('needs an allowance and a balance', async () => {
    expect(await refusal('createBatch', creation(), stranger)).toBe('ERC20: insufficient allowance');
    await net.current.send(net.current.token, 'approve', [stamp().address, MaxUint256], { from: stranger });
    expect(await refusal('createBatch', creation(), stranger)).toBe('ERC20: transfer amount exceeds balance');
  });

  test('removes expired batches first', async () => {
    const { id: old } = await create({ amount: 2n * PRICE });
    await net.current.chain.mine(2);
    await create({ nonce: 2 });
    expect(await view('batchOwner', old)).toBe(ZeroAddress);
    expect(await counts()).toMatchObject({ validChunkCount: '131072', pot: String(2n * PRICE * 2n ** 17n) });
  });
});

describe('topUp', () => {
  test('can be done by anyone, raises the balance and changes nothing else', async () => {
    const { id: batch, receipt } = await create();
    const before = BigInt(String(await view('batchNormalisedBalance', batch)));
    const sent = await net.current.send(stamp(), 'topUp', [batch, 5n], { from: second });
    const total = 5n * 2n ** 17n;
    expect(sent.events).toEqual([
      `Transfer(${second.address},${stamp().address},${total})`,
      `BatchTopUp(${batch},${total},${before + 5n})`,
    ]);
    expect(await view('batchNormalisedBalance', batch)).toBe(before + 5n);
    expect(await view('batchLastUpdatedBlockNumber', batch)).toBe(BigInt(receipt.block));
  });

  test('is refused for a batch that does not exist or has expired', async () => {
    expect(await refusal('topUp', [id('no batch'), AMOUNT])).toBe('BatchDoesNotExist()');
    const { id: batch } = await create({ amount: 2n * PRICE });
    await net.current.chain.mine(1);
    expect(await refusal('topUp', [batch, AMOUNT])).toBe('BatchExpired()');
  });

  test('is refused for a batch without slots beyond the buckets', async () => {
    const small = id('small');
    await net.current.send(stamp(), 'copyBatch', [player.address, AMOUNT, 16, 8, small, false]);
    expect(await refusal('topUp', [small, AMOUNT])).toBe('BatchTooSmall()');
  });

  test('is refused when it leaves less than the minimum validity', async () => {
    const { id: batch } = await create({ amount: 3n * PRICE });
    await net.current.chain.mine(1);
    expect(await refusal('topUp', [batch, PRICE - 1n])).toBe('InsufficientBalance()');
    await net.current.send(stamp(), 'topUp', [batch, PRICE], { from: player });
  });

  test('does not expire other batches', async () => {
    const { id: old } = await create({ amount: 2n * PRICE });
    const { id: batch } = await create({ nonce: 2 });
    await net.current.chain.mine(3);
    await net.current.send(stamp(), 'topUp', [batch, 1n], { from: player });
    expect(await view('batchOwner', old)).toBe(player.address);
    expect(await view('expiredBatchesExist')).toBe(true);
  });
});

describe('increaseDepth', () => {
  test('spreads the remaining balance over more chunks, moves no tokens, and works for immutable batches', async () => {
    const { id: batch } = await create({ immutable: true });
    const paid = BigInt(String(await paidNext()));
    const remaining = (AMOUNT - PRICE) / 4n;
    const sent = await net.current.send(stamp(), 'increaseDepth', [batch, 19], { from: player });
    expect(sent.events).toEqual([`BatchDepthIncrease(${batch},19,${paid + remaining})`]);
    expect(await view('batches', batch)).toEqual([
      player.address,
      19n,
      16n,
      true,
      paid + remaining,
      BigInt(sent.block),
    ]);
    expect((await counts()).validChunkCount).toBe(String(2 ** 19));
  });

  test('is reserved to the owner, and fails when the batch does not exist', async () => {
    const { id: batch } = await create();
    expect(await refusal('increaseDepth', [batch, 18], second)).toBe('NotBatchOwner()');
    expect(await refusal('increaseDepth', [id('no batch'), 18])).toBe('NotBatchOwner()');
  });

  test('refuses a depth that does not increase', async () => {
    const { id: batch } = await create();
    expect(await refusal('increaseDepth', [batch, 17])).toBe('DepthNotIncreasing()');
    const small = id('small');
    await net.current.send(stamp(), 'copyBatch', [player.address, AMOUNT, 10, 8, small, false]);
    expect(await refusal('increaseDepth', [small, 16])).toBe('DepthNotIncreasing()');
  });

  test('refuses an expired batch, and one whose remaining time would be too short', async () => {
    const { id: batch } = await create({ amount: 5n * PRICE });
    expect(await refusal('increaseDepth', [batch, 19])).toBe('InsufficientBalance()');
    await net.current.send(stamp(), 'increaseDepth', [batch, 18], { from: player });
    await net.current.chain.mine(2);
    expect(await refusal('increaseDepth', [batch, 19])).toBe('BatchExpired()');
  });
});

describe('the price', () => {
  test('can be set only by the oracle', async () => {
    expect(await refusal('setPrice', [1n])).toBe('PriceOracleOnly()');
    await net.current.send(stamp(), 'grantRole', [roles.PRICE_ORACLE_ROLE, player.address]);
    const paid = BigInt(String(await paidNext()));
    const sent = await net.current.send(stamp(), 'setPrice', [48_000n], { from: player });
    expect(sent.events).toEqual(['PriceUpdate(48000)']);
    expect(await view('lastPrice')).toBe(48_000n);
    expect(await view('lastUpdatedBlock')).toBe(BigInt(sent.block));
    expect(await view('currentTotalOutPayment')).toBe(paid);
    await net.current.chain.mine(2);
    expect(await view('currentTotalOutPayment')).toBe(paid + 96_000n);
  });

  test('is multiplied by the validity in 64 bits', async () => {
    await net.current.send(stamp(), 'setMinimumValidityBlocks', [2n ** 63n]);
    expect(await refusal('minimumInitialBalancePerChunk', [])).toBe('Panic(0x11)');
    expect(await refusal('setMinimumValidityBlocks', [1n])).toBe('AdministratorOnly()');
  });
});

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
    // The first batch paid for one more block after the second one was created.
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
    // Dilution divides by two, and may lose the odd unit of each chunk.
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

test('the remaining balance is an error for an unknown batch, and zero for an expired one', async () => {
  expect(await refusal('remainingBalance', [id('no batch')])).toBe('BatchDoesNotExist()');
  const { id: batch } = await create({ amount: 2n * PRICE });
  await net.current.chain.mine(5);
  expect(await view('remainingBalance', batch)).toBe(0n);
});

test('nodes find the events with the filter that they use', async () => {
  await create();
  const { topics } = vectors.logFilter;
  const head = await net.current.head();
  const filter = { fromBlock: '0x2', toBlock: `0x${head.toString(16)}`, address: [stamp().address], topics };
  const logs = await net.current.rpc.call('eth_getLogs', filter);
  expect(logs).toMatchObject([
    { topics: [topics[0]?.[3]] },
    { topics: [topics[0]?.[0], batchId(player.address, nonceOf(1))] },
  ]);
});
