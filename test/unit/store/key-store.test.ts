import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { encryptKey } from '../../../formats/crypto/keystore.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { loadOrCreateKey } from '../../../node/store/key-store.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-keys');
const random = systemRandom();
const scrypt = { n: 2, r: 1, p: 1 };

test('a missing key is made in a private folder and file, and found again', async () => {
  const directory = join(folder, 'data', 'keys');
  const options = { directory, name: 'swarm', password: 'p', kind: 'secp256k1' } as const;
  const { secret, created } = await loadOrCreateKey(options, { random });
  expect(created).toBe(true);
  const file = join(directory, 'swarm.key');
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    address: toHex(createSigner(secret).address),
  });
  expect(await loadOrCreateKey(options, { random })).toEqual({ secret, created: false });
  expect(existsSync(`${file}.new`)).toBe(false);
});

test('an empty file counts as missing', async () => {
  writeFileSync(join(folder, 'libp2p.key'), '\n');
  const options = { directory: folder, name: 'libp2p', password: 'p', kind: 'ed25519' } as const;
  const { secret, created } = await loadOrCreateKey(options, { random });
  expect(created).toBe(true);
  expect(secret).toHaveLength(32);
  // The file must only name another thing than the seed.
  expect(readFileSync(join(folder, 'libp2p.key'), 'utf8')).not.toContain(toHex(secret));
});

test('the file of an Ed25519 seed names its public key', async () => {
  const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
  const fixed = {
    ...random,
    bytes: (length: number) => (length === 32 ? seed.slice() : random.bytes(length)),
  };
  const options = { directory: folder, name: 'rfc8032', password: 'p', kind: 'ed25519' } as const;
  await loadOrCreateKey(options, { random: fixed });
  expect(JSON.parse(readFileSync(join(folder, 'rfc8032.key'), 'utf8'))).toMatchObject({
    address: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  });
});

test('a number that is not a valid key is drawn again', async () => {
  const draws = [new Uint8Array(32), new Uint8Array(32).fill(7)];
  const fixed = { ...random, bytes: (length: number) => draws.shift() ?? random.bytes(length) };
  const options = { directory: folder, name: 'drawn', password: 'p', kind: 'secp256k1' } as const;
  expect((await loadOrCreateKey(options, { random: fixed })).secret).toEqual(new Uint8Array(32).fill(7));
});

test('a wrong password is refused, naming the file', async () => {
  const file = join(folder, 'pss.key');
  writeFileSync(
    file,
    encryptKey(new Uint8Array(32).fill(3), { password: 'right', random, address: '', scrypt }),
  );
  const options = { directory: folder, name: 'pss', password: 'wrong', kind: 'secp256k1' } as const;
  await expect(loadOrCreateKey(options, { random })).rejects.toMatchObject({
    code: 'PASSWORD_INVALID',
    message: `${file}: invalid password`,
  });
});

test.each([
  ['too short', new Uint8Array(31).fill(1)],
  ['zero', new Uint8Array(32)],
])('a secret that is %s is not a valid key', async (name, secret) => {
  writeFileSync(
    join(folder, `${name}.key`),
    encryptKey(secret, { password: 'p', random, address: '', scrypt }),
  );
  const options = { directory: folder, name, password: 'p', kind: 'secp256k1' } as const;
  await expect(loadOrCreateKey(options, { random })).rejects.toMatchObject({
    code: 'KEY_FILE_MALFORMED',
    message: expect.stringContaining(join(folder, `${name}.key`)),
  });
});

test('a folder that cannot be used is named', async () => {
  writeFileSync(join(folder, 'file'), '');
  const directory = join(folder, 'file', 'keys');
  const options = { directory, name: 'swarm', password: 'p', kind: 'secp256k1' } as const;
  await expect(loadOrCreateKey(options, { random })).rejects.toMatchObject({
    code: 'DATA_DIR_UNUSABLE',
    message: expect.stringContaining(directory),
  });
});
