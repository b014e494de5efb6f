import { FeedIndex, PrivateKey, Topic } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { batchOf, payee, queen, reader } from './kit.ts';

const KEY = new PrivateKey('0a'.repeat(32));
const OWNER = KEY.publicKey().address();

export function feedTests(): void {
  describe('feeds', () => {
    test('of payloads can be followed, update by update', async () => {
      const topic = Topic.fromString('payloads of the preset');
      const writer = queen.makeFeedWriter(topic, KEY);
      const follower = payee.makeFeedReader(topic, OWNER);
      for (const [index, text] of ['first', 'second', 'third'].entries()) {
        await writer.uploadPayload(batchOf(0), text);
        const { payload, feedIndex, feedIndexNext } = await follower.downloadPayload();
        expect([payload.toUtf8(), feedIndex.toBigInt(), feedIndexNext?.toBigInt()]).toEqual([
          text,
          BigInt(index),
          BigInt(index + 1),
        ]);
      }
      const second = await follower.downloadPayload({ index: FeedIndex.fromBigInt(1n) });
      expect(second.payload.toUtf8()).toBe('second');
      expect(await reader.isFeedRetrievable(OWNER, topic)).toBe(true);
    });

    test('of references lead to their content, also through a manifest', async () => {
      const topic = Topic.fromString('references of the preset');
      const writer = queen.makeFeedWriter(topic, KEY);
      const manifest = await queen.createFeedManifest(batchOf(0), topic, OWNER);
      for (const text of ['old', 'new']) {
        const { reference } = await queen.uploadFile(batchOf(0), text, 'news.txt', { deferred: false });
        await writer.uploadReference(batchOf(0), reference);
        const latest = await payee.makeFeedReader(topic, OWNER).downloadReference();
        expect(latest.reference.toHex()).toBe(reference.toHex());
        expect((await payee.downloadFile(manifest)).data.toUtf8()).toBe(text);
      }
    });

    test('consist of single-owner chunks that are written and read one by one', async () => {
      const identifier = '0b'.repeat(32);
      const { reference } = await queen
        .makeSOCWriter(KEY)
        .upload(batchOf(0), identifier, Buffer.from('mine'));
      const { address, owner, payload } = await payee.makeSOCReader(OWNER).download(identifier);
      expect([address.toHex(), owner.toHex(), payload.toUtf8()]).toEqual([
        reference.toHex(),
        OWNER.toHex(),
        'mine',
      ]);
    });
  });
}
