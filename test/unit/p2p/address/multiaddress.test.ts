import { fc, test as property } from '@fast-check/vitest';
import { multiaddr } from '@multiformats/multiaddr';
import { expect, test } from 'vitest';
import { toBase58 } from '../../../../formats/crypto/base58.ts';
import { decodeMultiaddress, encodeMultiaddress } from '../../../../node/p2p/address/multiaddress.ts';
import { MultiaddressError } from '../../../../node/p2p/address/multiaddress-values.ts';

const PEER = '12D3KooWJaLoT9G8U15XVpLKfP1RvQgMNZArhy6TuUraQggnFqEk';
const HASHED = 'QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC';

/** js-multiaddr is an independent implementation. */
const theirs = (text: string) => ({ bytes: multiaddr(text).bytes, text: multiaddr(text).toString() });

test.each([
  '/ip4/127.0.0.1/tcp/1634',
  `/ip4/8.8.8.8/tcp/1634/p2p/${PEER}`,
  `/ip6/2001:db8::1/tcp/65535/p2p/${HASHED}`,
  '/ip6/::/tcp/0',
  '/ip6/::ffff:7f00:1/tcp/5',
  '/ip6/1:0:0:2::3/udp/1/quic-v1/webtransport/certhash/uEiAkH5a4DPGKUuOBjYw0CgwjvcJCJMD2K_1aluKR_tpevQ',
  '/ip6zone/eth0/ip6/fe80::1/tcp/1',
  '/ip4/10.0.0.0/ipcidr/8',
  `/dns4/node.example/tcp/443/tls/sni/x.example/ws/p2p/${PEER}`,
  '/dns/node.example/tcp/443/wss',
  '/dns6/node.example/udp/1/quic',
  `/dnsaddr/bootstrap.example/p2p/${PEER}`,
  `/ip4/1.2.3.4/tcp/5/p2p/${PEER}/p2p-circuit/p2p/${HASHED}`,
  '/ip4/1.2.3.4/udp/5/webrtc-direct/webrtc',
  '/ip4/1.2.3.4/tcp/5/noise',
  '/ip4/1.2.3.4/tcp/5/https',
  '/unix/%2Ftmp%2Fsocket',
  '/onion/timaq4ygg2iegci7:1234',
  '/onion3/vww6ybal4bd7szmgncyruucpgfkqahzddi37ktceo3ah7ngmcopnpyyd:1234',
  '/ip4/1.2.3.4/sctp/5',
  '/ip4/1.2.3.4/dccp/5',
  '/ip4/1.2.3.4/udp/5/udt',
  '/ip4/1.2.3.4/udp/5/utp',
  '/memory/7',
  '/ip4/1.2.3.4/tcp/5/ws/p2p-webrtc-star',
  '/ip4/1.2.3.4/tcp/5/p2p-websocket-star',
  '/ip4/1.2.3.4/tcp/5/p2p-stardust',
  '/ip4/1.2.3.4/tcp/5/http/p2p-webrtc-direct',
])('%s has the bytes that another implementation gives it', (text) => {
  expect(encodeMultiaddress(text)).toEqual(new Uint8Array(theirs(text).bytes));
  expect(decodeMultiaddress(encodeMultiaddress(text))).toBe(text);
});

test('an HTTP path is written without its encoding', () => {
  const bytes = Uint8Array.of(0xe1, 3, 3, 97, 47, 98);
  expect(encodeMultiaddress('/http-path/a%2Fb')).toEqual(bytes);
  expect(decodeMultiaddress(bytes)).toBe('/http-path/a%2Fb');
});

test.each([
  [`/ip4/1.2.3.4/tcp/5/ipfs/${PEER}`, `/ip4/1.2.3.4/tcp/5/p2p/${PEER}`],
  ['/ip6/2001:0DB8:0:0::1/tcp/5', '/ip6/2001:db8::1/tcp/5'],
  ['/ip6/::ffff:127.0.0.1/tcp/5', '/ip6/::ffff:7f00:1/tcp/5'],
  ['/ip4/1.2.3.4/tcp/05', '/ip4/1.2.3.4/tcp/5'],
  ['/ip4/1.2.3.4/tcp/5/', '/ip4/1.2.3.4/tcp/5'],
])('%s is written as %s', (given, written) => {
  expect(decodeMultiaddress(encodeMultiaddress(given))).toBe(written);
});

test.each([
  ['', 'starts with "/"'],
  ['ip4/1.2.3.4', 'starts with "/"'],
  ['/', 'unknown protocol'],
  ['/nonsense', 'unknown protocol nonsense'],
  ['/ip4', '"ip4" without its value'],
  ['/ip4/1.2.3.4/tcp/', '"tcp" without its value'],
  ['/ip4//tcp/5', '"ip4" without its value'],
  ['/ip4/1.2.3/tcp/5', 'not an IPv4 address'],
  ['/ip4/01.2.3.4', 'not an IPv4 address'],
  ['/ip4/1.2.3.256', 'not an IPv4 address'],
  ['/ip6/1::2::3', 'not an IPv6 address'],
  ['/ip6/fe80::1%25eth0', 'not an IPv6 address'],
  ['/ip6/::1]@[::2', 'not an IPv6 address'],
  ['/tcp/65536', 'not a number up to 65535'],
  ['/tcp/-1', 'not a number'],
  ['/tcp/1e3', 'not a number'],
  ['/p2p/0', 'not a base58 digit'],
  ['/p2p/2g', 'not a peer id'],
  [`/p2p/${'1'.repeat(200)}`, 'too long'],
  ['/certhash/zabc', 'base64url'],
  ['/onion/short:1', 'not an onion address'],
  ['/unix/%zz', 'value of "unix"'],
  [`/dns4/${'a'.repeat(5000)}`, 'characters'],
])('"%s" is not a valid address: %s', (text, why) => {
  expect(() => encodeMultiaddress(text)).toThrow(MultiaddressError);
  expect(() => encodeMultiaddress(text)).toThrow(why);
});

test.each([
  ['nothing', []],
  ['an unknown protocol', [0x7f]],
  ['a port that is cut', [6, 1]],
  ['a name that is cut', [53, 4, 97]],
  ['a name of no length', [53, 0]],
  ['a name that is not UTF-8', [53, 1, 0xff]],
  ['a name with a slash', [53, 3, 97, 47, 98]],
  ['a number in more bytes than it needs', [0x86, 0x00, 1, 2]],
  ['a number of three bytes', [0x80, 0x80, 0x01]],
])('bytes that are %s are not a valid address', (_name, bytes) => {
  expect(() => decodeMultiaddress(Uint8Array.from(bytes))).toThrow(MultiaddressError);
});

const ip6 = fc
  .array(fc.constantFrom('0', '0', '1', 'ff', 'db8', '8000'), { minLength: 8, maxLength: 8 })
  .map((groups) => `/ip6/${groups.join(':')}`);
const host = fc.oneof(
  fc.ipV4().map((ip) => `/ip4/${ip}`),
  fc.ipV6().map((ip) => `/ip6/${ip}`),
  ip6,
  fc.domain().map((name) => `/dns4/${name}`),
);
const peer = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((digest) => `/p2p/${toBase58(Uint8Array.of(0x12, 32, ...digest))}`);
const address = fc
  .tuple(host, fc.nat(65_535), fc.constantFrom('', '/ws', '/tls/ws'), fc.option(peer, { nil: '' }))
  .map(([where, port, rest, who]) => `${where}/tcp/${port}${rest}${who}`);

property.prop([address])('any address reads and writes as in another implementation', (text) => {
  const { bytes, text: canonical } = theirs(text);
  expect(encodeMultiaddress(text)).toEqual(new Uint8Array(bytes));
  expect(decodeMultiaddress(new Uint8Array(bytes))).toBe(canonical);
});

property.prop([fc.uint8Array({ maxLength: 100 })])(
  'arbitrary bytes are an address that is written as it was read, or none',
  (bytes) => {
    let text: string;
    try {
      text = decodeMultiaddress(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(MultiaddressError);
      return;
    }
    expect(encodeMultiaddress(text)).toEqual(bytes);
  },
);
