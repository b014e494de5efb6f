import { describe, expect, test } from 'vitest';
import { transcrypt } from '../../../formats/crypto/counter-mode.ts';
import { sharedSecret } from '../../../formats/crypto/ecdh.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { accessKeyOf, grant, newAccessList } from '../../../node/act/access-control.ts';
import { decodeGrantees, encodeGrantees } from '../../../node/act/grantees.ts';
import { History } from '../../../node/act/history.ts';
import { KeyValues } from '../../../node/act/key-values.ts';
import { createSession } from '../../../node/act/session.ts';
import { openFile } from '../../../node/files/joiner.ts';
import { type SplitOptions, split } from '../../../node/files/splitter.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';
import vectors from '../../vectors/act.json' with { type: 'json' };
import { ChunkMap, collect, inParts } from '../files/chunk-map.ts';
import { contentKeys } from '../files/fixed-encryption.ts';

interface Case {
  readonly name: string;
  readonly input: Readonly<Record<string, never>>;
  readonly expected: Readonly<Record<string, never>>;
}

const cases = vectors.cases as unknown as Case[];
const named = (name: string): Case => {
  const found = cases.find((one) => one.name.startsWith(name));
  if (found === undefined) throw new Error(`no vector ${name}`);
  return found;
};
const having = (key: string): Case[] => cases.filter(({ input }) => key in input);

async function stored(bytes: Uint8Array, store: ChunkMap, options: SplitOptions = {}): Promise<string> {
  return toHex((await split(inParts(bytes, 4096), store, options)).reference);
}

test.each(cases.filter(({ expected }) => 'ecdhX' in expected))('$name', ({ input, expected }) => {
  const secret = sharedSecret(fromHex(input['privateKey']!), fromHex(input['publicKey']!));
  expect(toHex(secret)).toBe(expected['hashedX'] ?? expected['ecdhX']);
  const keys = createSession(fromHex(input['privateKey']!)).keys(fromHex(input['publicKey']!));
  expect(toHex(keys.lookupKey)).toBe(expected['lookupKey']);
  expect(toHex(keys.accessKeyDecryptionKey)).toBe(expected['accessKeyDecryptionKey']);
});

test.each(having('salt'))('$name', ({ input, expected }) => {
  const secret = sharedSecret(fromHex(input['privateKey']!), fromHex(input['publicKey']!));
  expect(toHex(keccak256(secret, fromHex(input['salt']!)))).toBe(expected['sharedKey']);
});

test('an access list with a fixed access key, and a history of one entry', async () => {
  const { input, expected } = named('ACT of publisher key 0');
  const store = new ChunkMap();
  const publisher = createSession(fromHex(input['publisherPrivateKey']!));
  const list = newAccessList(publisher, fromHex(input['accessKey']!));
  grant(list, publisher, [fromHex(input['granteePublicKey']!)]);
  expect(Buffer.from(list.encode()).toString()).toBe(expected['actJson']);
  expect(await stored(list.encode(), store)).toBe(expected['actReference']);
  const accessKey = accessKeyOf(list, publisher, publisher.publicKey);
  expect(toHex(transcrypt(accessKey, fromHex(input['reference']!)))).toBe(expected['encryptedReference']);

  const history = History.create();
  await history.add(input['historyTimestamp']!, fromHex(expected['actReference']!));
  const reference = await history.save(store);
  expect(toHex(reference)).toBe(expected['historyReference']);
  const nodes = expected['historyNodes'] as unknown as { reference: string; node: string }[];
  for (const { reference: address, node } of nodes)
    expect(toHex((await store.get(fromHex(address))).data.subarray(8))).toBe(node);
  const manifest = await Manifest.load(reference, async (address) =>
    collect((await openFile(address, store)).read(0n, (await openFile(address, store)).length)),
  );
  expect(await manifest.lookup(expected['historyKey']!)).toMatchObject({
    reference: fromHex(expected['actReference']!),
  });
});

describe('a history with five entries', () => {
  const { input, expected } = named('history with five entries');
  const entries = input['entries'] as unknown as {
    time: number;
    reference: string;
    metadata: Record<string, string>;
  }[];
  const lookups = expected['lookups'] as unknown as { time: number; found: number }[];

  async function saved(): Promise<{ store: ChunkMap; reference: Uint8Array }> {
    const store = new ChunkMap();
    const history = History.create();
    for (const { time, reference, metadata } of entries)
      await history.add(time, fromHex(reference), metadata);
    return { store, reference: await history.save(store) };
  }

  test('has the reference of the reference implementation, whether written at once or one by one', async () => {
    expect(toHex((await saved()).reference)).toBe(expected['historyReference']);
    const store = new ChunkMap();
    let reference = await History.create().save(store);
    for (const { time, reference: list, metadata } of entries) {
      const history = await History.load(reference, store);
      await history.add(time, fromHex(list), metadata);
      reference = await history.save(store);
    }
    expect(toHex(reference)).toBe(expected['historyReference']);
  });

  test.each(lookups)('at $time the entry of $found is in force', async ({ time, found }) => {
    const { store, reference } = await saved();
    const history = await History.load(reference, store);
    const entry = entries.find((one) => one.time === found);
    expect(toHex(await history.accessListAt(time))).toBe(entry?.reference);
    expect([await history.has(found), await history.has(found + 1)]).toEqual([true, false]);
  });

  const refused = named('history lookup with time 0');
  test.each(refused.input['times'] as unknown as number[])('time %i is not a valid time', async (time) => {
    const { store, reference } = await saved();
    expect(toHex(reference)).toBe(refused.input['historyReference']);
    const history = await History.load(reference, store);
    await expect(history.accessListAt(time)).rejects.toMatchObject({
      code: 'TIMESTAMP_INVALID',
      message: refused.expected['error'],
    });
  });
});

test('a list of grantees is their uncompressed keys', async () => {
  const { input, expected } = named('grantee list body');
  const keys = (input['keys'] as unknown as string[]).map(fromHex);
  const body = encodeGrantees(keys);
  expect(toHex(body)).toBe(expected['body']);
  expect(await stored(body, new ChunkMap())).toBe(expected['plainReference']);
  expect(decodeGrantees(body)).toEqual(keys);
});

test('the reference of a list is encrypted for its publisher', () => {
  const { input, expected } = named('grantee list reference encryption');
  const publisher = createSession(fromHex(input['publisherPrivateKey']!));
  const { accessKeyDecryptionKey: key } = publisher.keys(publisher.publicKey);
  expect(toHex(key)).toBe(expected['key']);
  expect(toHex(transcrypt(key, fromHex(input['granteeListReference']!)))).toBe(
    expected['encryptedGranteeListReference'],
  );
});

test('a list is stored encrypted', async () => {
  const { input, expected } = named('grantee list stored encrypted');
  const body = encodeGrantees((input['keys'] as unknown as string[]).map(fromHex));
  const reference = await stored(body, new ChunkMap(), { encryption: contentKeys() });
  expect(reference).toBe(expected['granteeListReference']);
  const publisher = createSession(fromHex(input['publisherPrivateKey']!));
  const { accessKeyDecryptionKey: key } = publisher.keys(publisher.publicKey);
  expect(toHex(transcrypt(key, fromHex(reference)))).toBe(expected['encryptedGranteeListReference']);
});

test.each(having('lengths')[0]!.input['lengths'] as unknown as number[])(
  'a list of %i bytes is refused',
  (length) => {
    expect(() => decodeGrantees(new Uint8Array(length))).toThrow(
      expect.objectContaining({ code: 'GRANTEES_MALFORMED' }),
    );
  },
);

test.each(having('readerPrivateKey'))('$name', ({ input, expected }) => {
  const list = KeyValues.decode(Buffer.from(input['actJson']!));
  const reader = createSession(fromHex(input['readerPrivateKey']!));
  const publisher = fromHex(input['publisherPublicKey']!);
  expect(toHex(reader.keys(publisher).lookupKey)).toBe(expected['lookupKey']);
  if (expected['valid'] === true) {
    const reference = transcrypt(accessKeyOf(list, reader, publisher), fromHex(input['encryptedReference']!));
    expect(toHex(reference)).toBe(expected['reference']);
  } else {
    expect(() => accessKeyOf(list, reader, publisher)).toThrow(
      expect.objectContaining({ code: 'ENTRY_NOT_FOUND', message: expected['error'] }),
    );
  }
});
