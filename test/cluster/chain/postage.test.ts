import { id, MaxUint256, ZeroAddress } from 'ethers';
import { describe, expect, test } from 'vitest';
import artifact from '../../../chain/artifacts/PostageStamp.json' with { type: 'json' };
import { batchId } from '../../../chain/deployment/deploy.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { type Contract, deployer, player, second, stranger, TOKENS } from './network.ts';
import {
  AMOUNT,
  counts,
  create,
  creation,
  nonceOf,
  PRICE,
  paidNext,
  refusal,
  roles,
  scenario,
  stamp,
  usePostage,
  view,
} from './postage-kit.ts';

const net = usePostage();

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
