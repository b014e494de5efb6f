import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import type { AddressRecord } from '../host.ts';
import { BzzAddress, parseRecord } from './record.ts';

export function formatRecords(records: readonly AddressRecord[]): string {
  return records.map((record) => `${toHex(encodeMessage(BzzAddress, record))}\n`).join('');
}

/** @returns validly signed records @throws Error naming the line and what is wrong */
export function parseRecords(text: string, networkId: bigint): AddressRecord[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, index) => {
    try {
      if (!/^([0-9a-f]{2})+$/.test(line)) throw new Error('no bytes in hex');
      return parseRecord(decodeMessage(BzzAddress, fromHex(line)), networkId).record;
    } catch (cause) {
      throw new Error(
        `line ${index + 1}: ${(cause as Error).message}, expected a signed address record of network ${networkId} in hex`,
        { cause },
      );
    }
  });
}
