import { FeedIndex } from '@ethersphere/bee-js';
import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { INDEX_MAX, updateAddress, updateId } from '../../../node/feeds/feed.ts';
import { ids, requestedPath } from './kit.ts';

const indexes = fc.oneof(
  fc.constantFrom(0n, 1n, 255n, 256n, INDEX_MAX),
  fc.bigInt({ min: 0n, max: INDEX_MAX }),
);

const owners = fc.uint8Array({ minLength: 20, maxLength: 20 });
property.prop([owners, ids, indexes], { numRuns: 30 })(
  'an update is looked up at the same address as ours',
  async (owner, topic, index) => {
    const asked = await requestedPath((client) =>
      client.makeFeedReader(topic, owner).downloadPayload({ index: FeedIndex.fromBigInt(index) }),
    );
    expect(asked).toBe(`/chunks/${toHex(updateAddress({ owner, topic }, index))}`);
  },
);

test.each([0n, 1n, INDEX_MAX])('update %i is stored under the same owner and id as ours', async (index) => {
  const key = new Uint8Array(32).fill(5);
  const topic = new Uint8Array(32).fill(6);
  const asked = await requestedPath((client) =>
    client
      .makeFeedWriter(topic, key)
      .uploadPayload('00'.repeat(32), Buffer.from('news'), { index: FeedIndex.fromBigInt(index) }),
  );
  expect(asked).toBe(`/soc/${toHex(createSigner(key).address)}/${toHex(updateId(topic, index))}`);
});
