import type { Names } from './names.ts';
import type { RouteData, RouteParam } from './routes.ts';

export const NOTHING = 'ab'.repeat(32);
const OWNER = 'ab'.repeat(20);
/** Of the secp256k1 private key 1. */
const PUBLIC_KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';

const SYNTAX = 'invalid syntax';
const RANGE = 'value out of range';
const NO_HEX: Refused[] = [
  { text: 'zz', error: "invalid hex byte: U+007A 'z'" },
  { text: 'abc', error: 'odd length hex string' },
];
const NO_UINT64: Refused[] = [
  { text: 'x', error: SYNTAX },
  { text: '-1', error: SYNTAX },
  { text: '1.5', error: SYNTAX },
  { text: '+1', error: SYNTAX },
  { text: '18446744073709551616', error: RANGE },
];

export interface Refused {
  readonly text: string;
  readonly error: string | RegExp;
  /** Found after all parameters are read: the reason has the lower-case name. */
  readonly checked?: true;
}

const PATHS: Readonly<Record<string, string>> = {
  uid: '4294967295',
  topic: 'abcd',
  targets: 'ab',
  owner: OWNER,
  id: NOTHING,
  exp: Buffer.from('^nothing$').toString('base64url'),
  verbosity: 'info',
  multiAddress: 'ip4/127.0.0.1/tcp/1/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF',
  amount: '0',
  depth: '17',
  coin: 'nativetoken',
  txHash: `0x${NOTHING}`,
  anchor1: NOTHING,
  anchor2: NOTHING,
  path: 'x',
};

/** Only the document's formats exclude these. */
const WRONG_LENGTH: Refused = { text: 'abcd', error: 'want len:32 or 64', checked: true };
const NO_HASH: Refused = { text: 'abcd', error: 'want len:32', checked: true };
/** Zero is no amount, and no batch has this id. */
const TOP_UP = /^\/stamps\/topup\//;
/** Chunks' addresses, not references. */
const ADDRESSES = /^\/(chunks|gsoc)\//;
const LEADING_ZERO: Refused = { text: '01', error: SYNTAX };
const NEGATIVE: Refused = { text: '-1', error: 'want min:0', checked: true };

export function samplePath(
  { path }: Pick<RouteData, 'path'>,
  given: Readonly<Record<string, string>> = {},
): string {
  const samples = TOP_UP.test(path) ? { ...PATHS, amount: '1' } : PATHS;
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => given[name] ?? samples[name] ?? NOTHING);
}

export function sampleOf({ name, type }: RouteParam): string {
  if (name === 'amount') return '0';
  if (name === 'address') return OWNER;
  if (type === 'hex65') return 'ab'.repeat(65);
  return type === 'publicKey' ? PUBLIC_KEY : NOTHING;
}

export function refusedInPath(route: RouteData, name: string, type: string, names: Names): Refused[] {
  switch (type) {
    case 'ref':
      return [
        ...names.either([ADDRESSES.test(route.path) ? NO_HASH : WRONG_LENGTH], []),
        {
          text: 'zz',
          error: names.either(/^invalid name or svc address: /, /^invalid name or bzz address: /),
        },
      ];
    case 'hex32|hex64':
      return [...NO_HEX, ...names.either([WRONG_LENGTH], [])];
    case 'hex':
      return name.startsWith('anchor') ? [...NO_HEX, ...names.either<Refused[]>([NO_HASH], [])] : NO_HEX;
    case 'hex32':
      // A single-owner chunk's id is any hex text.
      return /^\/(stamps|batches)\//.test(route.path) || (name !== 'id' && !names.isSwarm)
        ? [...NO_HEX, NO_HASH]
        : NO_HEX;
    case 'uint64>0':
      return [
        ...NO_UINT64,
        ...names.either([LEADING_ZERO], []),
        { text: '0', error: 'want required:', checked: true },
      ];
    case 'bigint':
      return [
        { text: 'x', error: 'invalid value' },
        ...names.either([{ text: '+1', error: 'invalid value' }], []),
      ];
    case '17..255':
      return [
        { text: 'x', error: SYNTAX },
        { text: '256', error: RANGE },
        { text: '16', error: 'want min:17', checked: true },
      ];
    case '1..255':
      return [
        { text: 'x', error: SYNTAX },
        { text: '256', error: RANGE },
        { text: '0', error: 'want required:', checked: true },
      ];
    case '0..255':
      return [
        { text: 'x', error: SYNTAX },
        { text: '256', error: RANGE },
      ];
    case 'base64':
      return [{ text: '%25', error: 'illegal base64 data at input byte 0' }];
    case 'none|error|warning|info|debug|all':
      return [{ text: 'loud', error: 'want oneof:none error warning info debug all', checked: true }];
    default:
      return name === 'multiAddress' ? [{ text: 'x', error: /^failed to parse multiaddr "\/x"/ }] : [];
  }
}

export function refusedText({ name, type }: RouteParam, names: Names): Refused[] {
  switch (type) {
    case 'bool':
      return [
        { text: 'x', error: SYNTAX },
        { text: '2', error: SYNTAX },
      ];
    case 'hex32':
      return name.endsWith('-batch-id') ? [...NO_HEX, ...names.either([NO_HASH], [])] : NO_HEX;
    case 'hex65':
    case 'hex113':
      return NO_HEX;
    case 'ref':
      return [...NO_HEX, ...names.either([WRONG_LENGTH], [])];
    case 'uint64':
      return [...NO_UINT64, ...names.either([LEADING_ZERO], [])];
    case 'int':
    case 'int64':
      return [
        ...names.either([LEADING_ZERO], []),
        { text: 'x', error: SYNTAX },
        { text: '9223372036854775808', error: RANGE },
      ];
    case '0..4':
      return [
        { text: 'x', error: SYNTAX },
        { text: '256', error: RANGE },
        { text: '5', error: 'want redundancy level to be between 0 and 4', checked: true },
      ];
    case '0..3':
      // The other dialect accepts any number.
      return [{ text: 'x', error: SYNTAX }, ...names.either([{ text: '256', error: RANGE }], [])];
    case 'bigint':
      return [
        { text: 'x', error: 'invalid value' },
        ...names.either([NEGATIVE, { text: '01', error: 'invalid value' }], []),
      ];
    case 'publicKey':
      return [
        { text: 'zz', error: "invalid hex byte: U+007A 'z'" },
        { text: 'abcd', error: 'malformed public key: invalid length: 2' },
      ];
    case 'int>=0':
      return [
        { text: 'x', error: SYNTAX },
        { text: '-1', error: 'want min:0', checked: true },
      ];
    case '1..1000':
      return [
        { text: 'x', error: SYNTAX },
        ...names.either<Refused[]>(
          [
            { text: '0', error: 'want min:1', checked: true },
            { text: '1001', error: 'want max:1000', checked: true },
          ],
          [{ text: '-1', error: 'want min:0', checked: true }],
        ),
      ];
    default:
      return name === 'content-type' && !names.isSwarm ? [{ text: 'a/b/c', error: /^mime: / }] : [];
  }
}

export function fieldOf({ path }: Pick<RouteData, 'path'>, name: string): string {
  if (name === 'reference') return path.startsWith('/pins') ? 'reference' : 'address';
  if (name === 'peer-id') return 'peer';
  if (name === 'address' && /^\/(balances|consumed|settlements)/.test(path)) return 'peer';
  return { uid: 'id', multiAddress: 'multi-address' }[name] ?? name;
}
