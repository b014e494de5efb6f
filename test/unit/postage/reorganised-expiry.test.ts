import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { QUIET_PAGES, VANISHED_GRACE_BLOCKS } from '../../../node/postage/ledger.ts';
import { UNDO_BLOCKS } from '../../../node/postage/page-history.ts';
import { UNSETTLED_BLOCKS } from '../../../node/postage/rules.ts';
import { id32, OTHER } from './fake-chain.ts';
import { type Node, node, running, signer, upToDate } from './kit.ts';
import { endings, metric, mineSlowly, settled, TERMS } from './reorganisation-kit.ts';

describe('an expired batch', () => {
  /** A batch for a hundred blocks, whose chain then gets a price at which it lasts one. */
  async function dearer(own: Node): Promise<{ id: Uint8Array; changedAt: number }> {
    own.chain.mine(UNSETTLED_BLOCKS);
    const id = own.chain.createBatch(OTHER, id32(1), { ...TERMS, amount: 2_400_000n });
    own.chain.setPrice(2_400_000n);
    return { id, changedAt: own.chain.head };
  }

  test('is given up at once when no branch can have it any more', async () => {
    const own = node();
    own.chain.mine(UNSETTLED_BLOCKS);
    const id = own.chain.createBatch(OTHER, id32(1), { ...TERMS, amount: 240_000n });
    await running(own, async () => {
      await upToDate(own);
      const ended = endings(own, id);
      await mineSlowly(own, 9);
      expect([own.postage.batches.get(id)?.id, ended]).toEqual([id, []]);
      await mineSlowly(own, 1);
      expect([own.postage.batches.get(id), ended]).toEqual([undefined, [false]]);
    });
  });

  test('is awaited no longer than it would have lived at the price before', async () => {
    const own = node();
    own.chain.mine(UNSETTLED_BLOCKS);
    const id = own.chain.createBatch(OTHER, id32(1), { ...TERMS, amount: 240_000n });
    own.chain.setPrice(48_000n);
    await running(own, async () => {
      await upToDate(own);
      const ended = endings(own, id);
      // One block at the first price, five at the second: used up in the sixth instead of the tenth.
      await mineSlowly(own, 5);
      expect([own.postage.batches.get(id), own.postage.awaited(id), ended]).toEqual([undefined, true, []]);
      await mineSlowly(own, 3);
      expect([own.postage.awaited(id), ended]).toEqual([true, []]);
      await mineSlowly(own, 1);
      expect([own.postage.awaited(id), ended]).toEqual([false, [false]]);
    });
  });

  test('is awaited until its price is so many blocks old, even across a restart', async () => {
    const own = node();
    const { chain } = own;
    const { id, changedAt } = await dearer(own);
    await running(own, async () => {
      await upToDate(own);
      await mineSlowly(own, 2);
      expect([own.postage.batches.get(id), own.postage.awaited(id)]).toEqual([undefined, true]);
    });
    const restarted = node({}, chain, own.state.disk);
    const ended = endings(restarted, id);
    await running(restarted, async () => {
      chain.mine(changedAt + UNSETTLED_BLOCKS - chain.head - 1);
      await upToDate(restarted);
      expect([restarted.postage.awaited(id), ended]).toEqual([true, []]);
      await mineSlowly(restarted, 1);
      expect([restarted.postage.awaited(id), ended]).toEqual([false, [false]]);
    });
    expect([...own.state.disk.keys()].filter((key) => key.startsWith('doubtful/'))).toEqual([]);
  });

  test.each([
    [4, UNSETTLED_BLOCKS - 4],
    [UNSETTLED_BLOCKS, 1],
    [100, 1],
  ])('behind a tail of %i blocks, %i blocks after the price at the latest', async (tailBlocks, blocks) => {
    const own = node({ tailBlocks });
    const { chain, postage } = own;
    chain.mine(tailBlocks);
    const { id, changedAt } = await dearer(own);
    chain.mine(tailBlocks);
    await running(own, async () => {
      const read = () => expect.poll(() => postage.batches.chainState().block, { interval: 1 });
      await read().toBe(changedAt);
      const ended = endings(own, id);
      for (let after = 1; after <= blocks; after++) {
        expect(ended).toEqual([]);
        chain.mine();
        await read().toBe(changedAt + after);
      }
      expect([postage.batches.get(id), ended]).toEqual([undefined, [false]]);
    });
  });

  test('that is found so while everything is read again is awaited as well', async () => {
    const own = node();
    const { chain, postage } = own;
    await running(own, async () => {
      const base = chain.head;
      await upToDate(own);
      await mineSlowly(own, UNDO_BLOCKS + 10);
      chain.reorganise(base);
      chain.mine(UNDO_BLOCKS);
      const { id } = await dearer(own);
      chain.mine(2);
      await settled(own);
      expect(await metric(own, 'postage_listener_rebuilds')).toBe(1);
      expect([postage.batches.get(id), postage.awaited(id)]).toEqual([undefined, true]);
      await mineSlowly(own, UNSETTLED_BLOCKS);
      expect(postage.awaited(id)).toBe(false);
    });
  });
});

describe('a batch whose creation is removed', () => {
  test('is awaited for so many blocks, even across a restart, then given up', async () => {
    const own = node();
    const { chain } = own;
    let id = id32(0);
    await running(own, async () => {
      await upToDate(own);
      const base = chain.head;
      id = chain.createBatch(OTHER, id32(1), TERMS);
      await upToDate(own);
      chain.reorganise(base);
      chain.mine(2);
      await settled(own);
      expect(own.postage.awaited(id)).toBe(true);
    });
    const seenAt = chain.head - 1;
    const restarted = node({}, chain, own.state.disk);
    const told: boolean[] = [];
    restarted.postage.onExpired(() => told.push(restarted.postage.awaited(id)));
    await running(restarted, async () => {
      chain.mine(seenAt + VANISHED_GRACE_BLOCKS - chain.head - 1);
      await upToDate(restarted);
      expect([restarted.postage.awaited(id), told]).toEqual([true, []]);
      chain.mine();
      await upToDate(restarted);
      expect([restarted.postage.awaited(id), told]).toEqual([false, [false]]);
    });
    expect([...own.state.disk.keys()].filter((key) => key.startsWith('vanished/'))).toEqual([]);
  });

  test('before it was ever read never existed', async () => {
    const own = node({ tailBlocks: 4 });
    await running(own, async () => {
      const { chain, postage } = own;
      chain.mine(10);
      const id = chain.createBatch(OTHER, id32(1), TERMS);
      chain.mine(3);
      await expect.poll(() => postage.batches.chainState().block, { interval: 1 }).toBe(chain.head - 4);
      const before = chain.head;
      chain.reorganise(before - 4);
      chain.mine(8);
      await expect.poll(() => postage.batches.chainState().block, { interval: 1 }).toBe(chain.head - 4);
      expect([postage.batches.get(id), postage.awaited(id)]).toEqual([undefined, false]);
      expect(await metric(own, 'postage_listener_pages_taken_back')).toBe(0);
    });
  });
});

describe('a reorganisation deeper than what is remembered', () => {
  /** It has read block by block: two batches early, one late. */
  async function longHistory(own: Node): Promise<{ early: Uint8Array; vanishing: Uint8Array; base: number }> {
    const { chain } = own;
    const amount = 100_000_000n;
    const early = chain.createBatch(signer.address, id32(1), { ...TERMS, amount });
    await upToDate(own);
    const base = chain.head;
    const vanishing = chain.createBatch(signer.address, id32(2), { ...TERMS, amount });
    await mineSlowly(own, UNDO_BLOCKS + 10);
    return { early, vanishing, base };
  }

  test('everything is read again, and until then what is known stays', async () => {
    const own = node();
    await running(own, async () => {
      const { chain, postage } = own;
      const { early, vanishing, base } = await longHistory(own);
      const height = postage.batches.chainState().block;
      chain.reorganise(base);
      const other = chain.createBatch(OTHER, id32(3), { ...TERMS, amount: 90_000_000n });
      // More than a page: reading takes several looks.
      chain.mine(6000);
      const seen = new Set<string>();
      while (postage.batches.get(vanishing) !== undefined) {
        seen.add(`${postage.batches.chainState().block} ${postage.batches.get(early) !== undefined}`);
        await new Promise(setImmediate);
      }
      expect([...seen]).toEqual([`${height} true`]);
      await settled(own);
      expect(postage.batches.all().map(({ id }) => toHex(id))).toEqual([]);
      expect([postage.awaited(vanishing), postage.awaited(early)]).toEqual([true, true]);
      expect(postage.batches.chainState().totalAmount).toBe(chain.payout());
      expect(postage.batches.get(other)).toBeUndefined();
      expect(await metric(own, 'postage_listener_rebuilds')).toBe(1);
      expect(postage.syncState()).toBe('synced');
    });
    expect(own.fatal).toEqual([]);
  });

  test('what the chain still has is restored, and what it has lost is gone', async () => {
    const own = node();
    await running(own, async () => {
      const { chain, postage } = own;
      const { early, vanishing, base } = await longHistory(own);
      chain.reorganise(base);
      chain.topUp(early, 7n);
      chain.mine(UNDO_BLOCKS + 20);
      await settled(own);
      expect(postage.batches.all().map(({ id }) => toHex(id))).toEqual([toHex(early)]);
      expect(postage.issuer(early)).toMatchObject({ amount: 100_000_007n, blockNumber: 13 });
      expect(postage.gone(postage.issuer(vanishing)!)).toBe(true);
    });
  });

  test('no more is remembered than these blocks need', async () => {
    const own = node();
    await running(own, async () => {
      await upToDate(own);
      await mineSlowly(own, 3 * UNDO_BLOCKS);
      const records = [...own.state.disk.keys()].filter((key) => key.startsWith('undo/'));
      expect(records).toHaveLength(UNDO_BLOCKS / QUIET_PAGES);
    });
  });
});
