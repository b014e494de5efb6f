import { expect, onTestFinished, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { SharedResults } from '../../../formats/shared-results.ts';
import type { Foundation } from '../../../node/compose/foundation.ts';
import { GivenRecords, givenRecords } from '../../../node/compose/given-records.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../node/p2p/address/record.ts';
import { formatRecords } from '../../../node/p2p/address/record-file.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import type { Platform } from '../../../node/platform/platform.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';

const underlay = encodeUnderlays(['/ip4/127.0.0.1/tcp/1634']);
const record = mintRecord(
  { underlay, nonce: ZERO_NONCE, timestamp: 1_750_000_000n, chequebook: NO_CHEQUEBOOK },
  { signer: createSigner(testKey(1)), networkId: NETWORK_ID },
);

function ground(readText: Platform['readText']): Pick<Foundation, 'platform' | 'networkId'> {
  return { platform: { readText } as Platform, networkId: NETWORK_ID };
}

test('reads address records from the file given by the option, and has none without it', async () => {
  const read = ground(async (path) => (path === '/records' ? formatRecords([record]) : ''));
  const own = toHex(record.overlay);
  const given = await givenRecords({ 'peer-records': '/records' }, read);
  expect([...given.except('')]).toEqual([[own, record]]);
  expect([...given.except(own)]).toEqual([]);
  expect([...(await givenRecords({ 'peer-records': '' }, read)).except('')]).toEqual([]);
});

test.each([
  ['cannot be read', () => Promise.reject(new Error('ENOENT: no such file')), 'ENOENT: no such file'],
  ['holds something else', async () => 'svc\n', 'line 1: no bytes in hex, expected a signed address record'],
])('a file that %s is an error of the option', async (_name, readText, why) => {
  const started = givenRecords({ 'peer-records': '/records' }, ground(readText));
  await expect(started).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  await expect(started).rejects.toThrow(`--peer-records /records: ${why}`);
});

test('finds a record by its overlay, and the place of a peer by its peer id', () => {
  const id = 'QmQBDSWypmTn4fBckNJfHS2jFvJ4ysijezQeeimXf6vHp9';
  const place = `/ip4/127.0.0.1/tcp/1635/p2p/${id}`;
  const named = mintRecord(
    { ...record, underlay: encodeUnderlays([place]) },
    { signer: createSigner(testKey(2)), networkId: NETWORK_ID },
  );
  const given = new GivenRecords([record, named]);
  expect(given.of(toHex(named.overlay))).toBe(named);
  expect(given.of('00'.repeat(32))).toBeUndefined();
  expect(given.placeOf(id)).toEqual({ overlay: toHex(named.overlay), underlays: [place] });
  expect(given.placeOf('QmSomebodyElse')).toBeUndefined();
});

test('a node was given the records of those that started before it or with it', () => {
  const later = mintRecord(
    { ...record, timestamp: record.timestamp + 1n },
    { signer: createSigner(testKey(2)), networkId: NETWORK_ID },
  );
  const given = new GivenRecords([record, later]);
  const [early, late] = [toHex(record.overlay), toHex(later.overlay)];
  expect(given.had(late, early)).toBe(true);
  expect(given.had(late, late)).toBe(true);
  expect(given.had(early, late)).toBe(false);
  expect(given.had(early, '00'.repeat(32))).toBe(false);
});

test('nodes that share results read the records of a file once, and again when the file has others', async () => {
  let text = formatRecords([record]);
  const shared = new SharedResults();
  SharedResults.findBy(() => shared);
  onTestFinished(() => SharedResults.findBy(() => undefined));
  const read = () =>
    givenRecords(
      { 'peer-records': '/records' },
      ground(async () => text),
    );
  const first = await read();
  expect(await read()).toBe(first);
  text = '';
  expect([...(await read()).except('')]).toEqual([]);
});
