/** In the end the node must show what the chain has. */
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { PostageSyncError } from '../../../node/postage/errors.ts';
import { UNSETTLED_BLOCKS } from '../../../node/postage/rules.ts';
import { CrashError } from '../onchain/memory-state.ts';
import { FakeChain, id32, OTHER } from './fake-chain.ts';
import { chunk, forever, type Node, node, request, running, signer, upToDate } from './kit.ts';
import { endings, metric, mineSlowly, settled, TERMS } from './reorganisation-kit.ts';

const START = 11;

describe('what a reorganisation removes', () => {
  test('a purchase: its batch is unusable and gone, and comes back when it is mined again', async () => {
    const own = node({ usableBlocks: 2 });
    await running(own, async () => {
      const { chain, postage } = own;
      await upToDate(own);
      const before = chain.head;
      const { batchId } = await postage.buy(request, forever);
      await upToDate(own);
      await mineSlowly(own, 3);
      const issuer = postage.issuer(batchId);
      if (issuer === undefined) throw new Error('no issuer');
      const first = postage.stamper(batchId).stamp(chunk(1));
      expect(issuer.blockNumber).toBe(before + 2);

      chain.reorganise(before);
      chain.mine(8);
      await settled(own);
      expect(postage.batches.get(batchId)).toBeUndefined();
      expect([postage.usable(issuer), postage.gone(issuer), postage.awaited(batchId)]).toEqual([
        false,
        true,
        true,
      ]);
      expect(postage.issuers()).toEqual([]);
      expect(() => postage.stamper(batchId)).toThrow(expect.objectContaining({ code: 'BATCH_NOT_USABLE' }));
      expect(() => postage.validate(chunk(1), first)).toThrow(
        expect.objectContaining({ code: 'BATCH_NOT_FOUND' }),
      );

      chain.mineAgain();
      await settled(own);
      expect([postage.gone(issuer), postage.awaited(batchId)]).toEqual([false, false]);
      expect(issuer).toMatchObject({ label: 'mine', blockNumber: before + 10, amount: request.amount });
      expect(postage.usable(issuer)).toBe(false);
      await mineSlowly(own, 2);
      expect(postage.usable(issuer)).toBe(true);
      // Their chunks may have been pushed.
      expect(postage.stamper(batchId).stamp(chunk(1)).index).toEqual(first.index);
    });
    expect(own.fatal).toEqual([]);
  });

  test('a top-up, a dilution, a price change: the terms are those of the new branch', async () => {
    const own = node();
    await running(own, async () => {
      const { chain, postage } = own;
      const id = chain.createBatch(signer.address, id32(1), TERMS);
      await upToDate(own);
      const base = chain.head;
      chain.topUp(id, 5_000_000n);
      await upToDate(own);
      chain.increaseDepth(id, 19);
      await upToDate(own);
      chain.setPrice(48_000n);
      await upToDate(own);
      expect(postage.issuer(id)).toMatchObject({ amount: 15_000_000n, depth: 19 });
      expect(postage.batches.chainState().currentPrice).toBe(48_000n);

      chain.reorganise(base);
      chain.topUp(id, 1_000_000n);
      chain.mine(3);
      await settled(own);
      expect(postage.issuer(id)).toMatchObject({ amount: 11_000_000n, depth: 17, label: 'recovered' });
      expect(postage.batches.get(id)).toMatchObject({
        depth: 17,
        value: chain.batches.get(toHex(id))?.balance,
      });
      expect(postage.batches.chainState()).toEqual({
        block: chain.head,
        totalAmount: chain.payout(),
        currentPrice: 24_000n,
      });
      expect(await metric(own, 'postage_listener_pages_taken_back')).toBe(3);
    });
  });

  test('an expiry: the batch lives on, and was not given up meanwhile', async () => {
    const own = node({ usableBlocks: 0 });
    await running(own, async () => {
      const { chain, postage } = own;
      const id = chain.createBatch(signer.address, id32(1), { ...TERMS, amount: 240_000n });
      await upToDate(own);
      const first = postage.stamper(id).stamp(chunk(1));
      const ended = endings(own, id);
      const base = chain.head;
      chain.setPrice(240_000n);
      await upToDate(own);
      await mineSlowly(own, 2);
      expect([postage.batches.get(id), postage.awaited(id), ended]).toEqual([undefined, true, []]);
      expect(postage.batches.commitment()).toBe(0n);
      chain.reorganise(base);
      chain.mine(4);
      await settled(own);
      expect([postage.batches.get(id)?.id, postage.awaited(id), ended]).toEqual([id, false, []]);
      expect(postage.stamper(id).stamp(chunk(1)).index).toEqual(first.index);
      await mineSlowly(own, 10);
      expect([postage.batches.get(id), postage.awaited(id), ended]).toEqual([undefined, false, [false]]);
    });
  });

  test('an expiry and the creation before it: the batch is awaited like any that has vanished', async () => {
    const own = node();
    await running(own, async () => {
      const { chain, postage } = own;
      await upToDate(own);
      const base = chain.head;
      const id = chain.createBatch(OTHER, id32(1), { ...TERMS, amount: 240_000n });
      await upToDate(own);
      chain.setPrice(240_000n);
      await upToDate(own);
      await mineSlowly(own, 2);
      expect(postage.awaited(id)).toBe(true);
      chain.reorganise(base);
      chain.mine(UNSETTLED_BLOCKS);
      await settled(own);
      expect([postage.batches.get(id), postage.awaited(id)]).toEqual([undefined, true]);
    });
  });

  test('the owner: a batch of the same id that is no longer ours stamps nothing', async () => {
    const own = node({ usableBlocks: 0 });
    await running(own, async () => {
      const { chain, postage } = own;
      await upToDate(own);
      const base = chain.head;
      const id = chain.createBatch(signer.address, id32(1), TERMS);
      await upToDate(own);
      expect(postage.stamper(id).batchId).toEqual(id);
      chain.reorganise(base);
      chain.createBatch(OTHER, id32(1), TERMS);
      chain.mine();
      await settled(own);
      expect(postage.batches.get(id)?.owner).toEqual(OTHER);
      expect(postage.issuers()).toEqual([]);
      expect(() => postage.stamper(id)).toThrow(expect.objectContaining({ code: 'BATCH_EXPIRED' }));
    });
  });

  test('a label that was set in between stays', async () => {
    const own = node();
    await running(own, async () => {
      const id = own.chain.createBatch(signer.address, id32(1), TERMS);
      await upToDate(own);
      own.chain.topUp(id, 5n);
      await upToDate(own);
      await own.postage.relabel(id, 'kept');
      own.chain.reorganise(own.chain.head - 1);
      own.chain.mine(2);
      await settled(own);
      expect(own.postage.issuer(id)).toMatchObject({ label: 'kept', amount: TERMS.amount });
    });
  });
});

/** It soon uses up every batch. */
const DEAR = 300n;

/** As far as the rules of the contract let it. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 50, max: 90 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('price' as const), price: fc.bigInt({ min: 0n, max: 30n }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      batch: fc.integer({ min: 1, max: 5 }),
      own: fc.boolean(),
      amount: fc.bigInt({ min: 100n, max: 3000n }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('topUp' as const, 'dilute' as const),
      batch: fc.integer({ min: 0, max: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 100, max: 300 }),
    }),
  },
  /** In the middle of a look, at one of its next requests. */
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('surprise' as const),
      request: fc.integer({ min: 1, max: 6 }),
      depth: fc.integer({ min: 1, max: 6 }),
      blocks: fc.integer({ min: 0, max: 8 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('look' as const), turns: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('crash' as const), writes: fc.integer({ min: 0, max: 3 }) }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

type ChainStep = Exclude<Step, { readonly kind: 'look' | 'restart' | 'crash' }>;

function actOnChain(chain: FakeChain, act: ChainStep): void {
  const reorganise = (depth: number) => chain.reorganise(Math.max(START, chain.head - depth));
  switch (act.kind) {
    case 'mine':
      return chain.mine(act.blocks);
    case 'price':
      return chain.setPrice(act.price);
    case 'create': {
      // A batch must outlive some blocks, and exists once.
      if (act.amount < 4n * chain.price || chain.batches.size > act.batch) return;
      const owner = act.own ? signer.address : OTHER;
      chain.createBatch(owner, id32(chain.batches.size), { ...TERMS, amount: act.amount });
      return;
    }
    case 'topUp':
    case 'dilute': {
      const batch = [...chain.batches.values()][act.batch];
      if (batch === undefined || batch.balance <= chain.payout() + 8n * chain.price || batch.depth > 30)
        return;
      if (act.kind === 'topUp') chain.topUp(batch.id, 100n);
      else chain.increaseDepth(batch.id, batch.depth + 1);
      return;
    }
    case 'reorganise':
      return reorganise(act.depth);
    case 'surprise': {
      let left = act.request;
      chain.onRead = () => {
        if (--left !== 0) return;
        reorganise(act.depth);
        chain.mine(act.blocks);
      };
    }
  }
}

/** What follows from the chain, of the batches that it has. */
function shown({ postage }: Node): unknown {
  const batches = postage.batches.all().sort((a, b) => (toHex(a.id) < toHex(b.id) ? -1 : 1));
  const own = batches.flatMap(({ id }) => {
    const issuer = postage.issuer(id);
    // The id names the payer: the owner may differ between branches.
    if (issuer === undefined || postage.gone(issuer)) return [];
    const { amount, depth, blockNumber, immutable } = issuer;
    return [{ id: toHex(id), amount, depth, blockNumber, immutable, usable: postage.usable(issuer) }];
  });
  return {
    chain: postage.batches.chainState(),
    batches,
    own,
    commitment: postage.batches.commitment(),
    radius: postage.batches.radius(),
  };
}

/** Not those whose creation has vanished: what the chain has decides on these. */
function inDoubt(of: Node, own = of): string[] {
  return [...of.chain.batches]
    .filter(([hex, { id }]) => of.postage.awaited(id) && !own.state.disk.has(`vanished/${hex}`))
    .map(([hex]) => hex);
}

const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
};

/** A start may stop, die, or refuse a chain that is shorter for the moment. */
function endedEarly(error: unknown): void {
  if (error instanceof CrashError) return;
  if (error instanceof PostageSyncError && error.code === 'CHAIN_RESET') return;
  expect((error as Error).message).toBe('postage service is stopping');
}

property.prop(
  [
    fc.array(step, { minLength: 5, maxLength: 60 }),
    fc.integer({ min: 0, max: 4 }),
    fc.integer({ min: 1, max: 5 }),
    fc.boolean(),
  ],
  { numRuns: 150 },
)(
  'whatever the chain does and whenever the node looks or dies, it finally shows what a fresh node shows',
  async (steps, tailBlocks, batchFactor, endsDear) => {
    const options = { tailBlocks, batchFactor, usableBlocks: 3 };
    const chain = new FakeChain(signer.address);
    let own = node(options, chain);
    const start = () => void own.postage.start().catch(endedEarly);
    const restart = async () => {
      await own.postage.stop();
      own = node(options, chain, own.state.disk);
      start();
    };
    start();
    let highest = chain.head;
    for (const act of steps) {
      if (act.kind === 'look') await turns(act.turns);
      else if (act.kind === 'restart') await restart();
      else if (act.kind === 'crash') {
        own.state.writesLeft = act.writes;
        await turns(30);
        await restart();
      } else actOnChain(chain, act);
      highest = Math.max(highest, chain.head);
    }
    chain.onRead = () => undefined;
    if (own.fatal.length > 0) await restart();
    chain.mine(highest - chain.head + tailBlocks);
    if (endsDear) {
      chain.setPrice(DEAR);
      chain.mine(tailBlocks + batchFactor);
      await turns(30);
      await restart();
    }
    chain.mine(2 * batchFactor);
    const last = chain.head - tailBlocks - ((chain.head - tailBlocks) % batchFactor);
    await expect.poll(() => own.postage.batches.chainState().block, { interval: 1 }).toBe(last);
    await turns(30);
    const fresh = node(options, chain);
    await running(fresh, async () => {
      expect(shown(own)).toEqual(shown(fresh));
      expect(inDoubt(own)).toEqual(inDoubt(fresh, own));
    });
    await own.postage.stop();
    expect(own.fatal).toEqual([]);
  },
);
