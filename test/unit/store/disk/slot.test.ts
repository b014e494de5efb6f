import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import {
  contentRange,
  dataIn,
  decodeSlot,
  encodeHeld,
  encodeSlot,
  type Held,
  SLOT_SIZE,
} from '../../../../node/store/disk/slot.ts';
import { stamp } from '../stores.ts';

const address = new Uint8Array(32).fill(9);
const chunkOf = (length: number): Chunk => ({
  address,
  data: new Uint8Array(length).fill(3),
  kind: 'soc',
  identity: address,
});
const held: Held = { by: 'upload', stamp: stamp({ index: 5 }) };
function slotOf(chunk: Chunk, by?: Held): Uint8Array {
  const slot = new Uint8Array(SLOT_SIZE).fill(0xee);
  slot.set(encodeSlot(chunk, by));
  return slot;
}

property.prop([fc.integer({ min: 8, max: 4201 }), fc.constantFrom(held, undefined)])(
  'a slot records which chunk it holds and under which stamp the chunk arrived',
  (length, by) => {
    const slot = slotOf(chunkOf(length), by);
    expect(decodeSlot(slot)).toEqual({ address, data: chunkOf(length).data, held: by });
    const { offset, length: size } = contentRange(length);
    expect(dataIn(slot.subarray(offset, offset + size), address)).toEqual(chunkOf(length).data);
    expect(dataIn(slot.subarray(offset, offset + size), new Uint8Array(32))).toBeUndefined();
  },
);

describe('a flipped bit', () => {
  const slot = slotOf(chunkOf(100), held);
  const { offset, length } = contentRange(100);
  test.each(Array.from({ length: offset + length }, (_, at) => at))('in byte %i is noticed', (at) => {
    const flipped = slot.slice();
    flipped[at]! ^= 0x10;
    const found = decodeSlot(flipped);
    if (at < offset) expect(found).toEqual({ address, data: chunkOf(100).data, held: undefined });
    else expect(found).toBeUndefined();
  });
});

test('a new stamp leaves the chunk unchanged', () => {
  const slot = slotOf(chunkOf(100));
  const later: Held = { by: 'reserve', stamp: stamp({ timestamp: 9 }) };
  slot.set(encodeHeld(later));
  expect(decodeSlot(slot)).toEqual({ address, data: chunkOf(100).data, held: later });
});

test('an invalid slot is rejected', () => {
  for (const bytes of [new Uint8Array(), new Uint8Array(SLOT_SIZE), new Uint8Array(SLOT_SIZE).fill(0xff)]) {
    expect(decodeSlot(bytes)).toBeUndefined();
  }
});
