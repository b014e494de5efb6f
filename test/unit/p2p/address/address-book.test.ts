import { expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { createAddressBook } from '../../../../node/p2p/address/address-book.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import { fillableRecords, memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../memory-nodes.ts';

function recordOf(n: number, timestamp: bigint) {
  const underlay = encodeUnderlays([`/ip4/10.0.0.${n}/tcp/1634`]);
  const statement = { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
}

test('records of both generations survive a restart, and a removed one does not', async () => {
  const state = memoryRecords();
  const [timed, timeless, removed] = [recordOf(1, 1_750_000_000n), recordOf(2, 0n), recordOf(3, 5n)];
  const book = createAddressBook(state);
  for (const record of [timed, timeless, removed]) await book.put(record);
  await book.remove(toHex(removed.overlay));
  const again = createAddressBook(state);
  expect(again.overlays().sort()).toEqual([timed, timeless].map(({ overlay }) => toHex(overlay)).sort());
  for (const record of [timed, timeless]) expect(again.get(toHex(record.overlay))).toEqual(record);
});

test('an unchanged record is not written again, a changed one is', async () => {
  const state = memoryRecords();
  const written: string[] = [];
  const counting: typeof state = {
    ...state,
    put: (key, value) => {
      written.push(key);
      return state.put(key, value);
    },
  };
  const book = createAddressBook(counting);
  await book.put(recordOf(1, 5n));
  await book.put(recordOf(1, 5n));
  expect(written).toHaveLength(1);
  await book.put(recordOf(1, 6n));
  await book.put(recordOf(1, 0n));
  expect(written).toHaveLength(3);
});

test('a record does not keep the message alive that carried it', async () => {
  const book = createAddressBook(memoryRecords());
  const message = new Uint8Array(131_072).fill(1);
  const part = (size: number) => message.subarray(100, 100 + size);
  const record = {
    overlay: part(32),
    underlay: part(50),
    signature: part(65),
    nonce: part(32),
    timestamp: 7n,
    chequebook: part(20),
  };
  await book.put(record);
  const [overlay] = book.overlays();
  const kept = book.get(overlay as string);
  expect(kept).toEqual(record);
  for (const field of ['overlay', 'underlay', 'signature', 'nonce', 'chequebook'] as const) {
    expect(kept?.[field].buffer).not.toBe(message.buffer);
  }
});

function overlay(n: number): Uint8Array {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(0, n);
  return bytes;
}

test('only a limited number of records is kept: the oldest is forgotten, unless its peer is in use', async () => {
  const state = memoryRecords();
  const inUse = toHex(overlay(0));
  const book = createAddressBook(state, { inUse: (id) => id === inUse });
  const rest = { ...recordOf(1, 5n) };
  for (let n = 0; n < 20_002; n++) await book.put({ ...rest, overlay: overlay(n) });
  for (const one of [book, createAddressBook(state)]) {
    expect(one.overlays()).toHaveLength(20_000);
    const kept = [0, 1, 2, 3, 20_001].map((n) => one.get(toHex(overlay(n))) !== undefined);
    expect(kept).toEqual([true, false, false, true, true]);
  }
});

test('a given record is known, older ones and those of this disk give way to newer ones', async () => {
  const state = memoryRecords();
  await createAddressBook(state).put(recordOf(2, 7n));
  const given = [recordOf(1, 5n), recordOf(2, 6n)].map((record) => [toHex(record.overlay), record] as const);
  const book = createAddressBook(state, { given });
  expect(book.get(toHex(recordOf(1, 5n).overlay))).toEqual(recordOf(1, 5n));
  expect(book.get(toHex(recordOf(2, 7n).overlay))?.timestamp).toBe(7n);
});

test('a given record is on disk once its node has shown it', async () => {
  const state = memoryRecords();
  const record = recordOf(1, 5n);
  const book = createAddressBook(state, { given: [[toHex(record.overlay), record]] });
  expect(createAddressBook(state).overlays()).toEqual([]);
  await book.put(recordOf(1, 5n));
  expect(createAddressBook(state).get(toHex(record.overlay))).toEqual(record);
});

test('no more records are kept while the disk takes none', async () => {
  const book = createAddressBook(fillableRecords({ full: true }));
  const rest = { ...recordOf(1, 5n) };
  for (let n = 0; n < 20_002; n++) {
    await expect(book.put({ ...rest, overlay: overlay(n) })).rejects.toThrow('no space');
  }
  expect(book.overlays()).toHaveLength(20_000);
});

test('a record that could not be written is written when it is next shown', async () => {
  const disk = { full: true };
  const state = fillableRecords(disk);
  const book = createAddressBook(state);
  const [record, changed] = [recordOf(1, 5n), recordOf(1, 6n)];
  await expect(book.put(record)).rejects.toThrow('no space');
  await expect(book.put(record)).rejects.toThrow('no space');
  disk.full = false;
  await book.put(record);
  expect(createAddressBook(state).get(toHex(record.overlay))).toEqual(record);
  // Nothing is left to write.
  disk.full = true;
  await book.put(record);
  await expect(book.put(changed)).rejects.toThrow('no space');
  disk.full = false;
  await book.put(changed);
  expect(createAddressBook(state).get(toHex(record.overlay))).toEqual(changed);
});
