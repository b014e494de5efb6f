import { expect, test } from 'vitest';
import { capturedPacket } from '../../../../../../harness/places/links/tap/pcapng.ts';

test('a connection that has carried more than four bytes can count has the largest number', () => {
  const ends = { from: '', to: '', stream: '', protocol: 'noise', id: '' };
  const packet = capturedPacket({ at: 1, ...ends, kind: 'end', name: 'closed', fields: {}, bytes: 2 ** 32 });
  // Block, packet head, and seven texts with their lengths.
  const at = 8 + 20 + 7 * 2 + 'endnoiseclosed'.length;
  expect(packet.readUInt32BE(at)).toBe(2 ** 32 - 1);
});
