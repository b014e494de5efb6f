import { BatchId } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { eventually } from '../cluster/node/kit.ts';
import { batchOf, bees, mined, payee, queen } from './kit.ts';

const AMOUNT = '1098006401';

export function postageTests(): void {
  describe('batches', () => {
    test('exist and are usable on every node but the third', async () => {
      for (const [index, bee] of bees.entries()) {
        const usable = (await bee.getPostageBatches()).filter((batch) => batch.usable);
        expect(usable.map(({ batchID }) => batchID.toHex())).toEqual(index === 2 ? [] : [batchOf(index)]);
      }
      expect(await payee.getPostageBatches()).toEqual([]);
      // Bought without a label.
      expect((await queen.getPostageBatches()).map(({ label }) => label)).toEqual(['']);
    });

    test('are listed one by one with their buckets, and for the whole network', async () => {
      const [first] = await queen.getPostageBatches();
      if (first === undefined) throw new Error('there is no batch');
      const one = await queen.getPostageBatch(first.batchID);
      expect([one.batchID.toHex(), one.depth, one.amount]).toEqual([
        first.batchID.toHex(),
        first.depth,
        first.amount,
      ]);
      const { buckets } = await queen.getPostageBatchBuckets(first.batchID);
      expect(buckets).toHaveLength(65_536);
      expect((await queen.getGlobalPostageBatches()).length).toBeGreaterThanOrEqual(4);
    });

    test('can be bought, topped up and diluted', async () => {
      const id = await queen.createPostageBatch(AMOUNT, 17, { label: 'bought', waitForUsable: true });
      const bought = await queen.getPostageBatch(id);
      expect(bought).toMatchObject({ label: 'bought', depth: 17, amount: AMOUNT, usable: true });
      await queen.topUpBatch(id, AMOUNT);
      await mined(queen);
      await untilBatch(id, ({ amount }) => BigInt(amount) === 2n * BigInt(AMOUNT));
      await queen.diluteBatch(id, 18);
      await mined(queen);
      await untilBatch(id, ({ depth }) => depth === 18);
      const { reference } = await queen.uploadData(id, 'paid by the new batch');
      expect((await payee.downloadData(reference)).toUtf8()).toBe('paid by the new batch');
    });

    test.each([
      ['0', 17],
      ['1', 17],
      ['500000000', 16],
      ['500000000', 256],
    ])('with amount %s and depth %i are refused', async (amount, depth) => {
      await expect(queen.createPostageBatch(amount, depth)).rejects.toThrow();
    });
  });
}

type Batch = Awaited<ReturnType<typeof queen.getPostageBatch>>;

function untilBatch(id: BatchId, holds: (batch: Batch) => boolean): Promise<true> {
  return eventually(`batch ${id.toHex()} is not as it should be`, async () => {
    const batch = await queen.getPostageBatch(id);
    return holds(batch) ? undefined : `depth ${batch.depth}, amount ${batch.amount}`;
  });
}
