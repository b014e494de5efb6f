import { expect, test } from 'vitest';
import { makeCac } from '../../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../../formats/chunk/chunk.ts';
import { decodeStamp, STAMP_SIZE } from '../../../../../formats/chunk/stamp.ts';
import { type NodeDisk, tearInMemory } from '../../../../../harness/flavours/tampered/tear.ts';
import { decodeHeld, encodeSlot, HELD_RANGE, type Held } from '../../../../../node/store/disk/slot.ts';
import { MemoryDisk } from '../../../../../node/store/memory-store.ts';
import { encodeNumbers, join } from '../../../../../node/store/records.ts';

const stamp = decodeStamp(new Uint8Array(STAMP_SIZE));
const reserved: Held = { by: 'reserve', stamp };
const [both, cached, own, short] = [4096, 4096, 4096, 40].map((size, fill) =>
  makeCac(BigInt(size), new Uint8Array(size).fill(fill + 1)),
) as [Chunk, Chunk, Chunk, Chunk];

/** The other node is as close to each chunk, unless its overlay is given. */
function at(disk: MemoryDisk, overlay: Uint8Array = new Uint8Array(32)): NodeDisk {
  return { disk, overlay };
}

function diskWith(...held: readonly (readonly [Chunk, Held | undefined])[]): MemoryDisk {
  const disk = new MemoryDisk();
  for (const [slot, [chunk, holder]] of held.entries()) {
    disk.slots.write(slot, encodeSlot(chunk, holder));
    const record = join(encodeNumbers([slot, chunk.data.length, 1]), Uint8Array.of(0));
    disk.tables.chunks.put(chunk.address, record);
  }
  return disk;
}

test('pages of chunks are torn that another node has in its reserve, and of no others', () => {
  const disk = diskWith([both, reserved], [cached, reserved], [own, reserved], [short, reserved]);
  const other = diskWith([both, reserved], [cached, undefined], [short, reserved]);
  let looks = 0;
  const below = (bound: number) => (bound === disk.slotCount ? looks++ % 4 : 0);
  const random = { below, bytes: (length: number) => new Uint8Array(length) };
  expect(tearInMemory(at(disk), [at(other)], { count: 4, random })).toBe(1);
  const held = [both, cached, own, short].map(({ address }) => disk.holds(address));
  expect(held).toEqual([false, true, true, true]);
  expect(other.holds(both.address)).toBe(true);
  expect(decodeHeld(disk.slots.read(0, HELD_RANGE) as Uint8Array)).toEqual(reserved);
});

test('the last whole copy of a chunk is not torn', () => {
  const [first, second] = [diskWith([both, reserved]), diskWith([both, reserved])];
  const random = { below: () => 0, bytes: (length: number) => new Uint8Array(length) };
  expect(tearInMemory(at(first), [at(second)], { count: 1, random })).toBe(1);
  expect(tearInMemory(at(second), [at(first)], { count: 1, random })).toBe(0);
  expect(second.holds(both.address)).toBe(true);
});

test('a chunk is not torn where only nodes less close have it, which may yet hand it over', () => {
  const random = { below: () => 0, bytes: (length: number) => new Uint8Array(length) };
  const close = at(diskWith([both, reserved]), both.address);
  const far = at(diskWith([both, reserved]), new Uint8Array(both.address.map((byte) => byte ^ 0xff)));
  expect(tearInMemory(close, [far], { count: 1, random })).toBe(0);
  expect(tearInMemory(far, [close], { count: 1, random })).toBe(1);
});
