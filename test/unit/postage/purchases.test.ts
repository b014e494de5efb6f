import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { batchIdOf } from '../../../node/onchain/contracts.ts';
import { UNSETTLED_BLOCKS } from '../../../node/postage/rules.ts';
import { id32, OTHER } from './fake-chain.ts';
import { chunk, forever, node, request, running, signer, upToDate } from './kit.ts';

describe('buying', () => {
  test('approves, creates, and yields an own batch that becomes usable', async () => {
    const own = node({ usableBlocks: 10 });
    const { chain, postage } = own;
    await running(own, async () => {
      const { batchId, txHash } = await postage.buy({ ...request, gasPrice: 5n }, forever);
      expect(chain.executed).toEqual([
        { description: 'Approve tokens for postage operations', gasPrice: 5n },
        { description: 'Postage batch creation', gasPrice: 5n },
      ]);
      expect(txHash).toMatch(/^0x[0-9a-f]{64}$/);
      const issuer = postage.issuer(batchId);
      expect(issuer).toMatchObject({
        label: 'mine',
        amount: 10_000_000n,
        depth: 17,
        bucketDepth: 16,
        blockNumber: 14,
        immutable: false,
        utilization: 0,
      });
      expect(postage.issuers()).toEqual([issuer]);
      expect(() => postage.stamper(batchId)).toThrow(expect.objectContaining({ code: 'BATCH_NOT_USABLE' }));
      chain.mine(9);
      await upToDate(own);
      expect(issuer === undefined || postage.usable(issuer)).toBe(false);
      chain.mine();
      await upToDate(own);
      const stamp = postage.stamper(batchId).stamp(chunk(1));
      postage.validate(chunk(1), stamp);
      expect(() => postage.validate(chunk(2), stamp)).toThrow(
        expect.objectContaining({ code: 'STAMP_INVALID' }),
      );
      expect(postage.buckets(batchId)?.reduce((sum, count) => sum + count)).toBe(1);
    });
  });

  test('the batch id follows from the account and its transaction count, so that it is the same in every run', async () => {
    const own = node();
    const { batchId } = await own.postage.buy(request, forever);
    const nonce = keccak256(Buffer.from('svc batch'), signer.address, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1));
    expect(toHex(batchId)).toBe(toHex(batchIdOf(signer.address, nonce)));
    const again = node();
    expect((await again.postage.buy(request, forever)).batchId).toEqual(batchId);
  });

  test('several batches at once creates that many', async () => {
    const own = node();
    const bought = await Promise.all([1, 2, 3].map(() => own.postage.buy(request, forever)));
    expect(new Set(bought.map(({ batchId }) => toHex(batchId))).size).toBe(3);
  });

  test('the contract says how many blocks a batch must last', async () => {
    const own = node();
    own.chain.minimumValidity = 17_280n;
    expect(await own.postage.minimumValidityBlocks(forever)).toBe(17_280n);
  });

  test.each([
    ['depth 16', { depth: 16 }, 'DEPTH_INVALID'],
    ['depth 256', { depth: 256 }, 'DEPTH_INVALID'],
    ['depth 16 with empty pockets', { depth: 16, amount: 1n << 80n }, 'DEPTH_INVALID'],
    ['more than the account has', { amount: 1n << 80n }, 'OUT_OF_FUNDS'],
    ['exactly the minimum', { amount: 48_000n }, 'INSUFFICIENT_VALIDITY'],
    ['nothing', { amount: 0n }, 'INSUFFICIENT_VALIDITY'],
    ['a negative amount', { amount: -1n }, 'INSUFFICIENT_VALIDITY'],
  ])('%s is refused before any transaction', async (_, terms, code) => {
    const own = node();
    await expect(own.postage.buy({ ...request, ...terms }, forever)).rejects.toMatchObject({ code });
    expect(own.chain.executed).toEqual([]);
  });

  test('one unit above the minimum is enough', async () => {
    const own = node();
    await expect(own.postage.buy({ ...request, amount: 48_001n }, forever)).resolves.toBeDefined();
  });

  test('reports that batches are exhausted once they are gone', async () => {
    const own = node();
    // A reorganisation might take the price back before.
    own.chain.mine(UNSETTLED_BLOCKS);
    own.chain.createBatch(OTHER, id32(1), { amount: 100_000n, depth: 17, immutable: false });
    own.chain.createBatch(OTHER, id32(2), { amount: 10_000_000n, depth: 17, immutable: false });
    const told: number[] = [];
    const end = own.postage.onExpired(() => told.push(own.postage.batches.all().length));
    await running(own, async () => {
      expect(told).toEqual([]);
      own.chain.mine(4);
      await upToDate(own);
      expect(told).toEqual([1]);
      own.chain.mine();
      await upToDate(own);
      expect(told).toEqual([1]);
      end();
      own.chain.mine(1000);
      await upToDate(own);
      expect(own.postage.batches.all()).toEqual([]);
      expect(told).toEqual([1]);
    });
  });

  test('expires old batches first, 25 at a time', async () => {
    const own = node();
    for (let n = 0; n < 30; n++)
      own.chain.createBatch(OTHER, id32(n), { amount: 30_000n, depth: 17, immutable: false });
    own.chain.mine(10);
    await own.postage.buy(request, forever);
    expect(own.chain.executed.map(({ description }) => description)).toEqual([
      'expire limited batches',
      'expire limited batches',
      'Approve tokens for postage operations',
      'Postage batch creation',
    ]);
  });

  test('a purchase that is given up sends nothing more', async () => {
    const own = node();
    const leaving = new AbortController();
    leaving.abort(new Error('client left'));
    await expect(own.postage.buy(request, leaving.signal)).rejects.toThrow('client left');
    expect(own.chain.executed).toEqual([]);
  });
});

describe('topping up', () => {
  test('approves, pays, and the batch lives longer once its event is read', async () => {
    const own = node();
    const { chain, postage } = own;
    const id = chain.createBatch(OTHER, id32(1), { amount: 10_000_000n, depth: 18, immutable: true });
    await running(own, async () => {
      const before = chain.tokens;
      const { txHash } = await postage.topUp({ batchId: id, amount: 5_000_000n, gasPrice: 5n }, forever);
      expect(txHash).toMatch(/^0x[0-9a-f]{64}$/);
      expect(chain.executed).toEqual([
        { description: 'Approve tokens for postage operations', gasPrice: 5n },
        { description: 'Postage batch top up', gasPrice: 5n },
      ]);
      expect(before - chain.tokens).toBe(5_000_000n << 18n);
      const value = postage.batches.get(id)?.value ?? 0n;
      await upToDate(own);
      expect(postage.batches.get(id)?.value).toBe(value + 5_000_000n);
    });
  });

  test('uses the current depth of the batch, not the one read earlier', async () => {
    const own = node();
    const id = own.chain.createBatch(signer.address, id32(1), {
      amount: 10_000_000n,
      depth: 17,
      immutable: true,
    });
    await running(own, async () => {
      await upToDate(own);
      own.chain.onBlockNumber = () => {
        throw new ChainError('RPC_UNREACHABLE', 'the node reads no more');
      };
      await own.postage.dilute({ batchId: id, depth: 19 }, forever);
      expect(own.postage.batches.get(id)?.depth).toBe(17);
      const before = own.chain.tokens;
      await own.postage.topUp({ batchId: id, amount: 5n }, forever);
      expect(before - own.chain.tokens).toBe(5n << 19n);
    });
  });

  test.each([
    ['an unknown batch', { batchId: id32(9) }, 'BATCH_NOT_FOUND'],
    ['a negative amount', { amount: -1n }, 'AMOUNT_INVALID'],
    ['more than the account has', { amount: 1n << 80n }, 'OUT_OF_FUNDS'],
  ])('of %s is refused before any transaction', async (_, terms, code) => {
    const own = node();
    const batchId = own.chain.createBatch(OTHER, id32(1), {
      amount: 10_000_000n,
      depth: 17,
      immutable: true,
    });
    await expect(own.postage.topUp({ batchId, amount: 5n, ...terms }, forever)).rejects.toMatchObject({
      code,
    });
    expect(own.chain.executed).toEqual([]);
  });
});

describe('diluting', () => {
  test('expires old batches, then doubles the capacity of the batch and halves its remaining lifetime', async () => {
    const own = node();
    await running(own, async () => {
      const { batchId } = await own.postage.buy(request, forever);
      own.chain.createBatch(OTHER, id32(2), { amount: 30_000n, depth: 17, immutable: true });
      own.chain.mine(5);
      own.chain.executed.length = 0;
      await own.postage.dilute({ batchId, depth: 18, gasPrice: 3n }, forever);
      expect(own.chain.executed).toEqual([
        { description: 'expire limited batches', gasPrice: 3n },
        { description: 'Postage batch dilution', gasPrice: 3n },
      ]);
      await upToDate(own);
      // Block 14: 10,000,000 at a price of 24,000; halved eight blocks later.
      const left = (10_000_000n - 8n * own.chain.price) / 2n;
      expect(own.postage.batches.get(batchId)).toMatchObject({ depth: 18, value: own.chain.payout() + left });
      expect(own.postage.issuer(batchId)?.depth).toBe(18);
    });
  });

  test.each([
    ['an unknown batch', { batchId: id32(9) }, 'BATCH_NOT_FOUND'],
    ['to its own depth', { depth: 17 }, 'DEPTH_INVALID'],
    ['to a smaller depth', { depth: 16 }, 'DEPTH_INVALID'],
    ['beyond what the contract counts', { depth: 256 }, 'DEPTH_INVALID'],
    ['so far that it would not last', { depth: 30 }, 'INSUFFICIENT_VALIDITY'],
  ])('%s is refused before any transaction', async (_, terms, code) => {
    const own = node();
    const batchId = own.chain.createBatch(signer.address, id32(1), {
      amount: 10_000_000n,
      depth: 17,
      immutable: true,
    });
    await expect(own.postage.dilute({ batchId, depth: 18, ...terms }, forever)).rejects.toMatchObject({
      code,
    });
    expect(own.chain.executed).toEqual([]);
  });

  test.each(['topUp', 'dilute'] as const)('and %s of an expired batch costs nothing', async (change) => {
    const own = node();
    const terms = { amount: 30_000n, depth: 17, immutable: true };
    const batchId = own.chain.createBatch(signer.address, id32(1), terms);
    own.chain.mine(5);
    await expect(
      own.postage[change]({ batchId, depth: 18, amount: 10n ** 6n }, forever),
    ).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND', message: `batch ${toHex(batchId)} has expired` });
    expect(own.chain.executed).toEqual([]);
  });

  test('of a batch of another owner is refused before any transaction', async () => {
    const own = node();
    const batchId = own.chain.createBatch(OTHER, id32(1), { amount: 10n ** 7n, depth: 17, immutable: true });
    await expect(own.postage.dilute({ batchId, depth: 18 }, forever)).rejects.toMatchObject({
      code: 'BATCH_NOT_FOUND',
    });
    expect(own.chain.executed).toEqual([]);
  });
});

describe('an allowance', () => {
  test('that seems to be left after a reorganisation pays for the purchase that is mined again', async () => {
    const own = node();
    await own.postage.buy(request, forever);
    own.chain.reorganise(own.chain.head - 1);
    expect(own.chain.allowance).toBe(request.amount << 17n);
    expect(own.chain.batches.size).toBe(0);
    own.chain.onStage = (stage, index) => {
      // Transactions are mined in the order of their nonces.
      if (stage === 'noted' && index === 2) own.chain.mineAgain();
    };
    own.chain.executed.length = 0;
    await own.postage.buy(request, forever);
    expect(own.chain.executed.map(({ description }) => description)).toEqual([
      'Approve tokens for postage operations',
      'Postage batch creation',
    ]);
    expect(own.chain.batches.size).toBe(2);
    expect(own.chain.allowance).toBe(0n);
  });
});
