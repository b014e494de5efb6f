import { expect, test } from 'vitest';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../../node/p2p/address/record.ts';
import { formatRecords, parseRecords } from '../../../../node/p2p/address/record-file.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../memory-nodes.ts';

function recordOf(n: number) {
  const underlay = encodeUnderlays([`/ip4/10.0.0.${n}/tcp/1634`]);
  const statement = { underlay, nonce: ZERO_NONCE, timestamp: 1_750_000_000n, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
}

test('records that were written are read', () => {
  const records = [recordOf(1), recordOf(2)];
  expect(parseRecords(formatRecords(records), NETWORK_ID)).toEqual(records);
  expect(parseRecords('', NETWORK_ID)).toEqual([]);
});

const good = formatRecords([recordOf(1)]);

test.each([
  [
    'no hex',
    `${good}hello\n`,
    'line 2: no bytes in hex, expected a signed address record of network 4020 in hex',
  ],
  ['an empty line', `\n${good}`, 'line 1: no bytes in hex'],
  ['no record', `${good}00\n`, 'line 2: '],
  [
    'another owner',
    `${good}${formatRecords([{ ...recordOf(2), overlay: recordOf(1).overlay }])}`,
    'line 2: invalid address: the signer',
  ],
])('refuses a file with %s', (_name, text, message) => {
  expect(() => parseRecords(text, NETWORK_ID)).toThrow(message);
});

test('refuses records of another network', () => {
  expect(() => parseRecords(good, NETWORK_ID + 1n)).toThrow('line 1: invalid address');
});
