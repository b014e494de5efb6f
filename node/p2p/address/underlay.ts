/** Lists of multiaddresses as bytes: `p2p-protocols.md` 3.2. Vectors: `test/vectors/p2p.json`. */
import { uvarintSize } from '../codec/table.ts';
import { decodeMultiaddress, encodeMultiaddress } from './multiaddress.ts';
import { ip4, ip6, MultiaddressError } from './multiaddress-values.ts';

/** First byte of a list; no multiaddress starts with it. */
const LIST = 0x99;
export const UNDERLAYS_MAX = 20;
export const UNDERLAY_BYTES_MAX = 2048;

export class UnderlayError extends Error {
  readonly code = 'UNDERLAY_INVALID';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnderlayError';
  }
}

/** One address is written plainly, none or several as a list, in this order. */
export function encodeUnderlays(underlays: readonly string[]): Uint8Array {
  const encoded = underlays.map(encodeMultiaddress);
  if (encoded.length === 1) return encoded[0] as Uint8Array;
  const parts = encoded.flatMap((bytes) => [Uint8Array.from(prefix(bytes)), bytes]);
  return new Uint8Array(Buffer.concat([Uint8Array.of(LIST), ...parts]));
}

/** As many as the limits allow: IPv4, public and plain TCP first, otherwise in the given order. */
export function fittingUnderlays(underlays: readonly string[]): string[] {
  const best = [...underlays].sort((a, b) => score(a) - score(b));
  const kept: string[] = [];
  let size = 1;
  for (const underlay of best) {
    const { length } = encodeMultiaddress(underlay);
    size += uvarintSize(length) + length;
    if (kept.length === UNDERLAYS_MAX || size > UNDERLAY_BYTES_MAX) break;
    kept.push(underlay);
  }
  return kept;
}

/** @returns at least one address, those of unknown kinds left out @throws UnderlayError */
export function decodeUnderlays(bytes: Uint8Array): string[] {
  const parts = underlayParts(bytes);
  const underlays = parts.flatMap(parse);
  if (underlays.length === 0) throw new UnderlayError(`none of ${parts.length} underlays is of a known kind`);
  return underlays;
}

/** @returns at least one, those of unknown kinds too @throws UnderlayError */
export function underlayParts(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length === 0) throw new UnderlayError('no underlay');
  if (bytes.length > UNDERLAY_BYTES_MAX) throw new UnderlayError(`underlays of ${bytes.length} bytes`);
  const parts = bytes[0] === LIST ? splitList(bytes) : [bytes];
  if (parts.length === 0) throw new UnderlayError('empty list of underlays');
  return parts;
}

export function peerIdOf(underlay: string): string | undefined {
  return /\/p2p\/([1-9A-HJ-NP-Za-km-z]+)$/.exec(underlay)?.[1];
}

/** @param hostAndPort IPv6 in brackets; no host means all interfaces @throws UnderlayError */
export function underlayOf(hostAndPort: string): string {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]*)):(\d{1,5})$/.exec(hostAndPort);
  if (match === null) throw new UnderlayError(`not host:port: ${hostAndPort}`);
  const [, ip6, host = '', port] = match;
  if (ip6 !== undefined) return `/ip6/${ip6}/tcp/${port}`;
  if (host === '') return `/ip4/0.0.0.0/tcp/${port}`;
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(host) ? `/ip4/${host}/tcp/${port}` : `/dns/${host}/tcp/${port}`;
}

/** Turns an IPv4-mapped address back into IPv4. */
export function plainAddress(address: string): string {
  return address.replace(
    /^\/ip6\/::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\//,
    (_all, high: string, low: string) => {
      const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
      return `/ip4/${a >> 8}.${a & 0xff}.${b >> 8}.${b & 0xff}/`;
    },
  );
}

export const CARRIERS = ['tcp', 'ws', 'wss'] as const;
export type CarrierName = (typeof CARRIERS)[number];
export const DEFAULT_CARRIERS: readonly CarrierName[] = ['tcp'];

export interface DialTarget {
  readonly carrier: CarrierName;
  readonly host: string;
  /** What to resolve a name to; undefined: either. */
  readonly family: 4 | 6 | undefined;
  readonly port: number;
  /** Name in the certificate; undefined: the host. */
  readonly serverName: string | undefined;
}

const TARGET =
  /^\/(ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/(\d+)(?:(\/ws)|(\/wss|\/tls(?:\/sni\/([^/]+))?\/ws))?(?:\/p2p\/[^/]+)?$/;

/** @returns undefined for an address of another form: a relay, another transport */
export function dialTarget(underlay: string): DialTarget | undefined {
  const match = TARGET.exec(underlay);
  if (match === null) return undefined;
  const [, kind = '', host = '', port, ws, wss, serverName] = match;
  return {
    carrier: wss !== undefined ? 'wss' : ws !== undefined ? 'ws' : 'tcp',
    host,
    family: kind.endsWith('4') ? 4 : kind.endsWith('6') ? 6 : undefined,
    port: Number(port),
    serverName,
  };
}

/** One of these carriers can dial it; no relay. */
export function isDialable(underlay: string, carriers = DEFAULT_CARRIERS): boolean {
  const target = dialTarget(underlay);
  if (target === undefined || !carriers.includes(target.carrier)) return false;
  const { host } = target;
  // A name that is an address would be dialled without a lookup.
  const isName = underlay.startsWith('/dns') && !/^[\d.]+$|:/.test(host);
  return isName || isPeerAddress(host);
}

/**
 * Not link-local, unspecified, multicast, reserved and broadcast addresses: strangers tell a node what to dial, and behind
 * these are services of this machine and its network, such as cloud metadata at 169.254.169.254. @param address IPv4 or IPv6
 */
export function isPeerAddress(address: string): boolean {
  try {
    return address.includes(':') ? isPeerIp6(ip6.write(address)) : isPeerIp4(ip4.write(address));
  } catch (error) {
    if (error instanceof MultiaddressError) return false;
    throw error;
  }
}

function isPeerIp4([first = 0, second = 0]: Uint8Array): boolean {
  return first !== 0 && first < 224 && !(first === 169 && second === 254);
}

function isPeerIp6(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  if (first === 0xff || (first === 0xfe && (second & 0xc0) === 0x80)) return false;
  const prefix = Buffer.from(bytes.subarray(0, 12)).toString('hex');
  // Of this block only loopback is in use.
  if (prefix === UNSPECIFIED_PREFIX) return /^0{7}1$/.test(Buffer.from(bytes.subarray(12)).toString('hex'));
  return !IP4_PREFIXES.includes(prefix) || isPeerIp4(bytes.subarray(12));
}

const UNSPECIFIED_PREFIX = '00'.repeat(12);
/** IPv6 prefixes of mapped and translated (RFC 6052) IPv4 addresses. */
const IP4_PREFIXES: readonly string[] = [`${'00'.repeat(10)}ffff`, `0064ff9b${'00'.repeat(8)}`];

/** Loopback addresses lead other machines to themselves: kept only when there are no others. */
export function withoutLoopback(underlays: readonly string[]): readonly string[] {
  const rest = underlays.filter((underlay) => !isLoopback(underlay));
  return rest.length > 0 ? rest : underlays;
}

export function withoutPeerId(underlay: string): string {
  const peerId = peerIdOf(underlay);
  return peerId === undefined ? underlay : underlay.slice(0, -`/p2p/${peerId}`.length);
}

export function withPeerId(address: string, peerId: string): string {
  return peerIdOf(address) === undefined ? `${address}/p2p/${peerId}` : address;
}

/** Loopback, private and link-local addresses, and names of this machine. */
export function isPrivate(underlay: string): boolean {
  const [, kind, host = ''] = underlay.split('/');
  if (kind === 'ip4') return PRIVATE_IP4.test(host);
  if (kind === 'ip6') return host === '::1' || /^(f[cd]|fe[89ab])/i.test(host);
  return /^(.+\.)?localhost$/i.test(host);
}

const PRIVATE_IP4 =
  /^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;

export function isLoopback(underlay: string): boolean {
  return /^\/(ip4\/127\.|ip6\/::1\/)/.test(underlay);
}

/** Lower is better: IPv4 before others, public before private before loopback, plain TCP first. */
function score(underlay: string): number {
  const family = underlay.startsWith('/ip4/') ? 0 : 100;
  const scope = isLoopback(underlay) ? 20 : isPrivate(underlay) ? 10 : 0;
  const secure = /\/(tls|wss)(\/|$)/.test(underlay);
  const kind = /\/wss?(\/|$)/.test(underlay) ? (secure ? 2 : 1) : underlay.includes('/tcp/') ? 0 : 3;
  return family + scope + kind;
}

function prefix(bytes: Uint8Array): number[] {
  return bytes.length < 0x80 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
}

function splitList(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 1; at < bytes.length; ) {
    let length = 0;
    let shift = 0;
    for (let more = true; more; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 14) throw new UnderlayError('underlay list ends within a length');
      length |= (byte & 0x7f) << shift;
      more = byte >= 0x80;
    }
    if (length === 0 || at + length > bytes.length)
      throw new UnderlayError('underlay list ends within an address');
    if (parts.push(bytes.subarray(at, at + length)) > UNDERLAYS_MAX) {
      throw new UnderlayError(`more than ${UNDERLAYS_MAX} underlays`);
    }
    at += length;
  }
  return parts;
}

/** @returns nothing for an address of an unknown kind @throws UnderlayError */
function parse(bytes: Uint8Array): string[] {
  try {
    return [decodeMultiaddress(bytes)];
  } catch (cause) {
    if (cause instanceof MultiaddressError && cause.code === 'MULTIADDRESS_UNKNOWN') return [];
    throw new UnderlayError('underlay is no multiaddress', { cause });
  }
}
