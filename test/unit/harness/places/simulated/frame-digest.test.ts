import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import { FrameDigest } from '../../../../../harness/places/simulated/frame-digest.ts';

test('the digest is that of all heads and contents, however long, and looking at it changes nothing', () => {
  const random = seededRandom('frames');
  const digest = new FrameDigest();
  const hash = createHash('sha256');
  for (const size of [0, 7, 4300, 65_500, 40, 65_536, 65_537, 200_000, 0, 1]) {
    const bytes = random.bytes(size);
    const head = `12 data one two /swarm/pushsync ${size} `;
    digest.add(head, bytes);
    hash.update(head).update(bytes);
    expect(digest.hex()).toBe(hash.copy().digest('hex'));
  }
});
