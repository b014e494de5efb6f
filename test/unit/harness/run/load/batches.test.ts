import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import { depthFor, fullestBucket } from '../../../../../harness/run/load/batches.ts';

test.each([1000, 65_536, 2_000_000])('no bucket of a batch for %i chunks overflows', (chunks) => {
  const random = seededRandom('buckets');
  const buckets = new Uint32Array(65_536);
  const bytes = random.bytes(2 * chunks);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < chunks; i++) buckets[view.getUint16(2 * i)]! += 1;
  const fullest = buckets.reduce((a, b) => Math.max(a, b));
  expect(fullest).toBeLessThanOrEqual(fullestBucket(chunks));
  expect(fullest).toBeLessThanOrEqual(2 ** (depthFor(chunks) - 16));
});

test('more chunks need a deeper batch', () => {
  expect(depthFor(1000)).toBe(20);
  expect(depthFor(10_000_000)).toBeGreaterThan(depthFor(1_000_000));
});
