import { expect, test } from 'vitest';
import { createAuthority } from '../../../harness/base/machine/certificates.ts';
import { givenCarriers } from '../../../node/compose/carriers.ts';
import { resolveOptions } from '../../../node/option-sources.ts';
import type { Platform } from '../../../node/platform/platform.ts';

const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const authority = createAuthority('authority of this test');
const { certificate, key } = authority.issue(['*.nodes.example']);
const files: Readonly<Record<string, string>> = {
  'own.pem': certificate,
  'chain.pem': certificate + authority.certificate,
  'broken-chain.pem': certificate + authority.certificate.replace(/\n(.{8}).*/, '\n$1'),
  'key.pem': key,
  'other-key.pem': authority.issue(['other.example']).key,
  'authority.pem': authority.certificate,
  'words.txt': 'no PEM at all\n',
};

async function readText(path: string): Promise<string> {
  const text = files[path];
  if (text === undefined) throw new Error('ENOENT: no such file');
  return text;
}

function given(certificateFile: string, keyFile: string, authorityFile: string) {
  const options = resolveOptions(
    [
      ['--swap-endpoint', 'http://127.0.0.1:8545'],
      ['--token-address', CONTRACT, '--postage-stamp-address', CONTRACT],
      ['--p2p-wss-enable'],
      ['--p2p-wss-certificate', certificateFile],
      ['--p2p-wss-key', keyFile],
      ['--p2p-wss-authority', authorityFile],
    ].flat(),
    {},
    () => undefined,
  );
  return givenCarriers(options, { platform: { readText } as Platform });
}

test('takes a certificate with its chain, its key, and an authority', async () => {
  expect(await given('chain.pem', 'key.pem', 'authority.pem')).toEqual({
    carriers: ['tcp', 'wss'],
    secure: { listen: '127.0.0.1:1636', certificate: files['chain.pem'], key },
    authority: authority.certificate,
  });
});

test.each([
  ['none.pem', 'key.pem', 'authority.pem', /^--p2p-wss-certificate none\.pem: ENOENT/],
  ['key.pem', 'key.pem', 'authority.pem', /^--p2p-wss-certificate key\.pem: .*expected certificates in PEM/],
  [
    'broken-chain.pem',
    'key.pem',
    'authority.pem',
    /^--p2p-wss-certificate broken-chain\.pem: .*expected cert/,
  ],
  [
    'words.txt',
    'key.pem',
    'authority.pem',
    /^--p2p-wss-certificate words\.txt: no certificate is in it; exp/,
  ],
  ['own.pem', 'own.pem', 'authority.pem', /^--p2p-wss-key own\.pem: .*expected a private key in PEM/],
  [
    'own.pem',
    'other-key.pem',
    'authority.pem',
    /^--p2p-wss-key other-key\.pem: expected the key of --p2p-wss-certificate own\.pem$/,
  ],
  ['own.pem', 'key.pem', 'key.pem', /^--p2p-wss-authority key\.pem: .*expected certificates in PEM/],
])('certificate %s, key %s and authority %s are refused', async (own, ownKey, trusted, message) => {
  const refused = given(own, ownKey, trusted);
  await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  await expect(refused).rejects.toThrow(message);
});
