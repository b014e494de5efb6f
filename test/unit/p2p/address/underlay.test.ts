import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { decodeMultiaddress, encodeMultiaddress } from '../../../../node/p2p/address/multiaddress.ts';
import {
  CARRIERS,
  decodeUnderlays,
  dialTarget,
  encodeUnderlays,
  fittingUnderlays,
  isDialable,
  isPrivate,
  plainAddress,
  UnderlayError,
  underlayOf,
  withoutLoopback,
} from '../../../../node/p2p/address/underlay.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };

test.each(vectors.underlays)('worked encoding of $underlays.length underlays', ({ underlays, bytes }) => {
  expect(toHex(encodeUnderlays(underlays))).toBe(bytes);
  expect(decodeUnderlays(fromHex(bytes))).toEqual(underlays);
});

test.each([
  ['nothing', ''],
  ['an empty list', '99'],
  ['a list that ends within a length', '9980'],
  ['a list that ends within an address', '9908047f'],
  ['an address of no length', '9900'],
  ['bytes that are no multiaddress', 'ffff'],
  ['more than 2048 bytes', '00'.repeat(2049)],
  ['more than 20 addresses', `99${'08047f000001060662'.repeat(21)}`],
])('%s is refused', (_name, hex) => {
  expect(() => decodeUnderlays(fromHex(hex))).toThrow(UnderlayError);
});

/** An address of `/ip4/8.8.8.8/tcp/1634` and these bytes behind it. */
const KNOWN = '0408080808060662';
const listOf = (...addresses: string[]) =>
  fromHex(`99${addresses.map((hex) => (hex.length / 2).toString(16).padStart(2, '0') + hex).join('')}`);

test.each([
  ['a code of one byte', '7f010203'],
  ['a code of two bytes', 'b37f0a0b'],
  ['a code of five bytes', '8080808001ff'],
  ['a code of nine bytes', 'ffffffffffffffff7f'],
  ['an unknown code behind known ones', `${KNOWN}b37f0a0b`],
])('an address of an unknown kind, %s, is left out, wherever it stands in the list', (_name, unknown) => {
  for (const list of [listOf(unknown, KNOWN), listOf(KNOWN, unknown), listOf(unknown, KNOWN, unknown)]) {
    expect(decodeUnderlays(list)).toEqual(['/ip4/8.8.8.8/tcp/1634']);
  }
  for (const alone of [listOf(unknown), fromHex(unknown)]) {
    expect(() => decodeUnderlays(alone)).toThrow(/underlays is of a known kind/);
  }
});

test.each([
  ['cut within a value', '0408'],
  ['cut within a code', 'ff'],
  ['a code in more bytes than it needs', '8600'],
  ['a code of ten bytes', '80808080808080808001'],
])('a damaged address, %s, is not of an unknown kind: the list is refused', (_name, damaged) => {
  expect(() => decodeUnderlays(listOf(KNOWN, damaged))).toThrow('underlay is no multiaddress');
});

property.prop([fc.uint8Array({ maxLength: 300 }), fc.boolean()])(
  'arbitrary bytes are addresses or an error of their own',
  (bytes, list) => {
    try {
      expect(decodeUnderlays(list ? Uint8Array.of(0x99, ...bytes) : bytes).length).toBeGreaterThan(0);
    } catch (error) {
      expect(error).toBeInstanceOf(UnderlayError);
    }
  },
);

test('the best addresses are kept, in stable order', () => {
  const id = vectors.underlays[0]?.underlays[0]?.split('/p2p/')[1];
  const all = [
    '/ip6/::1/tcp/1',
    '/ip4/127.0.0.1/tcp/2',
    '/ip4/10.1.1.1/tcp/3/ws',
    '/ip4/10.1.1.1/tcp/4',
    '/ip4/8.8.8.8/tcp/5',
  ];
  const underlays = all.map((address) => `${address}/p2p/${id}`);
  expect(
    fittingUnderlays(underlays)
      .map((underlay) => /tcp\/(\d)/.exec(underlay)?.[1])
      .join(''),
  ).toBe('54321');
  const many = Array.from({ length: 30 }, (_, i) => `/ip4/8.8.8.${i}/tcp/1634/p2p/${id}`);
  expect(fittingUnderlays(many)).toEqual(many.slice(0, 20));
  expect(decodeUnderlays(encodeUnderlays(fittingUnderlays(many)))).toHaveLength(20);
});

test.each([
  ['/ip4/127.0.0.1/tcp/1', true],
  ['/ip4/100.64.0.1/tcp/1', true],
  ['/ip4/100.128.0.1/tcp/1', false],
  ['/ip4/172.31.0.1/tcp/1', true],
  ['/ip4/172.32.0.1/tcp/1', false],
  ['/ip4/192.168.3.4/tcp/1', true],
  ['/ip4/169.254.3.4/tcp/1', true],
  ['/ip4/8.8.8.8/tcp/1', false],
  ['/ip6/::1/tcp/1', true],
  ['/ip6/fd00::1/tcp/1', true],
  ['/ip6/fe80::1/tcp/1', true],
  ['/ip6/2001:db8::1/tcp/1', false],
  ['/dns4/localhost/tcp/1', true],
  ['/dns4/node.localhost/tcp/1', true],
  ['/dns4/node.example/tcp/1', false],
])('%s is private: %s', (underlay, expected) => {
  expect(isPrivate(underlay)).toBe(expected);
});

test.each([
  ['127.0.0.1:1634', '/ip4/127.0.0.1/tcp/1634'],
  ['[::1]:1634', '/ip6/::1/tcp/1634'],
  [':1634', '/ip4/0.0.0.0/tcp/1634'],
  ['node.example:7', '/dns/node.example/tcp/7'],
])('host and port %s are %s', (text, underlay) => {
  expect(underlayOf(text)).toBe(underlay);
});

test('any bytes are either addresses that can be written again, or refused', () => {
  const listed = vectors.underlays.map(({ bytes }) => fromHex(bytes));
  const changed = fc
    .tuple(fc.constantFrom(...listed), fc.nat(200), fc.nat(255), fc.nat(200))
    .map(([bytes, at, value, length]) =>
      bytes.map((byte, i) => (i === at % bytes.length ? value : byte)).subarray(0, length),
    );
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), changed), (bytes) => {
      try {
        const underlays = decodeUnderlays(bytes);
        expect(underlays.length).toBeGreaterThan(0);
        expect(decodeUnderlays(encodeUnderlays(underlays))).toEqual(underlays);
      } catch (error) {
        expect(error).toBeInstanceOf(UnderlayError);
      }
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['/ip4/8.8.8.8/tcp/1634', true],
  ['/ip6/2001:db8::1/tcp/1634/p2p/12D3KooW', true],
  ['/dns4/node.example/tcp/1634', true],
  ['/ip4/8.8.8.8/udp/1634/quic-v1', false],
  ['/ip4/8.8.8.8/tcp/1634/ws', false],
  ['/ip4/8.8.8.8/tcp/1635/tls/sni/x.example/ws/p2p/12D3KooW', false],
  ['/ip4/8.8.8.8/tcp/1634/p2p/12D3KooW/p2p-circuit', false],
  ['/dnsaddr/node.example', false],
  ['no address', false],
])('%s can be dialled: %s', (underlay, expected) => {
  expect(isDialable(underlay)).toBe(expected);
});

test.each([
  ['/ip4/8.8.8.8/tcp/1634', ['tcp', '8.8.8.8', 4, 1634, undefined]],
  ['/ip6/::1/tcp/1634/ws/p2p/12D3KooW', ['ws', '::1', 6, 1634, undefined]],
  ['/ip4/8.8.8.8/tcp/1635/tls/ws', ['wss', '8.8.8.8', 4, 1635, undefined]],
  ['/ip4/8.8.8.8/tcp/1635/tls/sni/x.example/ws/p2p/12D3KooW', ['wss', '8.8.8.8', 4, 1635, 'x.example']],
  ['/dns/x.example/tcp/443/wss', ['wss', 'x.example', undefined, 443, undefined]],
  ['/dns6/x.example/tcp/443/tls/ws', ['wss', 'x.example', 6, 443, undefined]],
] as const)('%s leads to %j, if that way is on', (underlay, [carrier, host, family, port, serverName]) => {
  expect(dialTarget(underlay)).toEqual({ carrier, host, family, port, serverName });
  const address = underlay.replace(/\/p2p.*/, '');
  expect(decodeMultiaddress(encodeMultiaddress(address))).toBe(address);
  for (const way of CARRIERS) expect(isDialable(underlay, [way]), way).toBe(way === carrier);
});

test.each([
  '/ip4/8.8.8.8/tcp/1634/tls',
  '/ip4/8.8.8.8/tcp/1634/tls/sni/x.example',
  '/ip4/8.8.8.8/tcp/1634/sni/x.example/ws',
  '/ip4/8.8.8.8/tcp/1634/ws/ws',
  '/ip4/8.8.8.8/tcp/1634/wss/ws',
  '/ip4/8.8.8.8/udp/1634/ws',
  '/ip4/169.254.169.254/tcp/80/ws',
  '/ip4/8.8.8.8/tcp/443/tls/ws/p2p/12D3KooW/p2p-circuit',
])('%s is dialled in no way', (underlay) => {
  expect(isDialable(underlay, CARRIERS)).toBe(false);
});

test.each([
  '/ip4/169.254.169.254/tcp/80',
  '/ip4/0.0.0.0/tcp/1634',
  '/ip4/0.1.2.3/tcp/1634',
  '/ip4/224.0.0.1/tcp/1634',
  '/ip4/239.255.255.250/tcp/1900',
  '/ip4/240.0.0.1/tcp/1634',
  '/ip4/255.255.255.255/tcp/1634',
  '/ip6/::/tcp/1634',
  '/ip6/fe80::1/tcp/1634',
  '/ip6/febf:ffff::1/tcp/1634',
  '/ip6/fe80::1%eth0/tcp/1634',
  '/ip6/ff02::1/tcp/1634',
  '/ip6/::ffff:169.254.169.254/tcp/80',
  '/ip6/::FFFF:a9fe:a9fe/tcp/80',
  '/ip6/0:0:0:0:0:ffff:0:0/tcp/80',
  '/ip6/64:ff9b::a9fe:a9fe/tcp/80',
  '/ip6/::7f00:1/tcp/80',
  '/ip4/0251.0376.1.1/tcp/80',
  '/ip4/2851995905/tcp/80',
  '/dns4/169.254.169.254/tcp/80',
  '/dns6/fe80::1/tcp/80',
])('%s is not a peer address and is never dialled', (underlay) => {
  expect(isDialable(underlay)).toBe(false);
});

test.each(['/ip4/127.0.0.1/tcp/1', '/ip6/::1/tcp/1', '/ip6/::ffff:10.0.0.1/tcp/1', '/ip4/223.1.1.1/tcp/1'])(
  '%s may be a peer address',
  (underlay) => {
    expect(isDialable(underlay)).toBe(true);
  },
);

test('loopback addresses are left out where there are others', () => {
  const [local, lan, open] = [
    '/ip4/127.0.0.1/tcp/1',
    '/ip4/192.168.0.7/tcp/1',
    '/ip4/8.8.8.8/tcp/1',
  ] as const;
  expect(withoutLoopback([local, lan, '/ip6/::1/tcp/1', open])).toEqual([lan, open]);
  expect(withoutLoopback([local])).toEqual([local]);
});

test('an IPv4-mapped IPv6 address is an IPv4 address', () => {
  expect(plainAddress('/ip6/::ffff:7f00:1/tcp/5')).toBe('/ip4/127.0.0.1/tcp/5');
  expect(plainAddress('/ip6/::ffff:808:809/tcp/5')).toBe('/ip4/8.8.8.9/tcp/5');
  expect(plainAddress('/ip6/2001:db8::1/tcp/5')).toBe('/ip6/2001:db8::1/tcp/5');
});
