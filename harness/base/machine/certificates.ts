/** A local authority for TLS between nodes: X.509 version 3, P-256, SHA-256. Names determine all but keys. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';

/** PEM. */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority {
  /** PEM, to be trusted. */
  readonly certificate: string;
  /** @param names hosts, perhaps with `*.`, and IPv4 addresses */
  issue(names: readonly string[]): Issued;
}

/** RFC 5280 and RFC 5758: DER contents in hex. */
const OID = {
  commonName: '550403',
  basicConstraints: '551d13',
  keyUsage: '551d0f',
  extendedKeyUsage: '551d25',
  subjectAltName: '551d11',
  subjectKeyIdentifier: '551d0e',
  authorityKeyIdentifier: '551d23',
  serverAuth: '2b06010505070301',
  ecdsaWithSha256: '2a8648ce3d040302',
} as const;
/** Both far away: programs renew in the last third. */
const VALIDITY = { from: '200101000000Z', until: '20991231235959Z' } as const;
/** Bits 5 and 0: sign certificates, sign. */
const KEY_USAGE = { authority: '030202 04', server: '030207 80' } as const;
const LINE_LENGTH = 64;

/**
 * Authorities of one name and key stand for each other.
 * @param name shown where a certificate is refused @param key P-256, PEM; absent: a new one
 */
export function createAuthority(name: string, key?: string): Authority {
  const privateKey =
    key === undefined ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : createPrivateKey(key);
  const publicKey = createPublicKey(privateKey);
  const issuer = { name, key: privateKey };
  return {
    certificate: certificate({ subject: name, key: publicKey, isAuthority: true, names: [] }, issuer),
    issue(names) {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return {
        certificate: certificate(
          { subject: names[0] ?? '', key: own.publicKey, isAuthority: false, names },
          issuer,
        ),
        key: own.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
      };
    },
  };
}

interface Subject {
  readonly subject: string;
  readonly key: KeyObject;
  readonly isAuthority: boolean;
  readonly names: readonly string[];
}

function certificate(of: Subject, issuer: { readonly name: string; readonly key: KeyObject }): string {
  const key = of.key.export({ format: 'der', type: 'spki' });
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const serial = createHash('sha256').update(key).digest().subarray(0, 16);
  // A positive number.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const statement = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    algorithm,
    nameOf(issuer.name),
    sequence(der(0x17, Buffer.from(VALIDITY.from)), der(0x18, Buffer.from(VALIDITY.until))),
    nameOf(of.subject),
    key,
    der(0xa3, sequence(...extensionsOf(of, issuer.key))),
  );
  const signature = sign('sha256', statement, issuer.key);
  const whole = sequence(statement, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = whole.toString('base64').match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function extensionsOf({ key, isAuthority, names }: Subject, issuer: KeyObject): Buffer[] {
  const identifier = extension(OID.subjectKeyIdentifier, der(0x04, identifierOf(key)));
  if (isAuthority) {
    return [
      identifier,
      extension(OID.basicConstraints, sequence(YES), { isCritical: true }),
      extension(OID.keyUsage, hex(KEY_USAGE.authority)),
    ];
  }
  const alternatives = names.map((name) =>
    isIP(name) === 4
      ? der(0x87, Buffer.from(name.split('.').map(Number)))
      : der(0x82, Buffer.from(name, 'latin1')),
  );
  const signer = sequence(der(0x80, identifierOf(createPublicKey(issuer))));
  return [
    identifier,
    extension(OID.authorityKeyIdentifier, signer),
    extension(OID.keyUsage, hex(KEY_USAGE.server)),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
    extension(OID.subjectAltName, sequence(...alternatives)),
  ];
}

function identifierOf(key: KeyObject): Buffer {
  return createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest()
    .subarray(0, 20);
}

function extension(id: string, value: Buffer, { isCritical = false } = {}): Buffer {
  return sequence(oid(id), ...(isCritical ? [YES] : []), der(0x04, value));
}

const YES = Buffer.of(0x01, 0x01, 0xff);

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from(commonName)))));
}

function oid(contents: string): Buffer {
  return der(0x06, hex(contents));
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function der(tag: number, contents: Uint8Array): Buffer {
  const { length } = contents;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), contents]);
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}
