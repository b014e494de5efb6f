import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type NodeOptions, OptionError } from '../options.ts';
import { CARRIERS } from '../p2p/address/underlay.ts';
import type { HostOptions } from '../p2p/host-options.ts';
import type { Foundation } from './foundation.ts';

/**
 * What carries connections, with the listener's certificate. @throws OptionError for a file that cannot be read or holds
 * something else, and for a key of another certificate
 */
export async function givenCarriers(
  options: NodeOptions,
  { platform }: Pick<Foundation, 'platform'>,
): Promise<Pick<HostOptions, 'carriers' | 'secure' | 'authority'>> {
  const carriers = CARRIERS.filter((name) => options[`p2p-${name}-enable`]);
  if (!options['p2p-wss-enable']) return { carriers };
  const certificate = await read('p2p-wss-certificate', CERTIFICATES);
  const key = await read('p2p-wss-key', KEY);
  const [own] = CERTIFICATES.parse(certificate);
  if (own?.checkPrivateKey(KEY.parse(key)) !== true) {
    const { 'p2p-wss-key': path, 'p2p-wss-certificate': other } = options;
    throw new OptionError(`--p2p-wss-key ${path}: expected the key of --p2p-wss-certificate ${other}`);
  }
  const natAddress = options['nat-wss-addr'];
  return {
    carriers,
    secure: {
      listen: options['p2p-wss-addr'],
      certificate,
      key,
      ...(natAddress === '' ? {} : { natAddress }),
    },
    ...(options['p2p-wss-authority'] === ''
      ? {}
      : { authority: await read('p2p-wss-authority', CERTIFICATES) }),
  };

  async function read(
    name: 'p2p-wss-certificate' | 'p2p-wss-key' | 'p2p-wss-authority',
    { expected, parse }: typeof CERTIFICATES | typeof KEY,
  ): Promise<string> {
    const path = options[name];
    try {
      const pem = await platform.readText(path);
      parse(pem);
      return pem;
    } catch (cause) {
      const why = (cause as Error).message;
      throw new OptionError(`--${name} ${path}: ${why}; expected ${expected}`, { cause });
    }
  }
}

const CERTIFICATES = {
  expected: 'certificates in PEM (-----BEGIN CERTIFICATE-----)',
  parse: certificatesIn,
} as const;

const KEY = {
  expected: 'a private key in PEM (-----BEGIN PRIVATE KEY-----) without a passphrase',
  parse: (pem: string) => createPrivateKey(pem),
} as const;

function certificatesIn(pem: string): X509Certificate[] {
  const found = pem
    .split(/(?=-----BEGIN CERTIFICATE-----)/)
    .filter((part) => part.startsWith('-----BEGIN CERTIFICATE-----'));
  if (found.length === 0) throw new Error('no certificate is in it');
  return found.map((part) => new X509Certificate(part));
}
