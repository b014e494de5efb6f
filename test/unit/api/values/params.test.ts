import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { dialectOf } from '../../../../node/api/dialect.ts';
import { ApiError, errorBody } from '../../../../node/api/errors.ts';
import {
  bigInteger,
  bool,
  hex,
  int,
  type Kind,
  mediaType,
  multiAddress,
  publicKey,
  reference,
  uint,
  uint64,
} from '../../../../node/api/values/kinds.ts';
import {
  length,
  max,
  min,
  optional,
  readIf,
  readParams,
  required,
  requiredIf,
  startsNotWith,
  varying,
} from '../../../../node/api/values/params.ts';
import { BATCH } from '../fake-postage.ts';
import { startKit } from '../kit.ts';

const svc = dialectOf('svc');
const swarm = dialectOf('swarm');

function failure(kind: Kind<unknown>, text: string, dialect = svc): string {
  try {
    kind.parse(text, dialect);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

const { api } = await startKit();

describe('kinds', () => {
  test.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('boolean %s is true', (text) => {
    expect(bool.parse(text, svc)).toBe(true);
  });
  test.each(['0', 'f', 'F', 'FALSE', 'false', 'False'])('boolean %s is false', (text) => {
    expect(bool.parse(text, svc)).toBe(false);
  });
  test.each(['', 'yes', 'tRUE', ' true', '2'])('boolean %j is invalid syntax', (text) => {
    expect(failure(bool, text)).toBe('invalid syntax');
  });

  test.each([
    [uint(8), '', 'invalid syntax'],
    [uint(8), 'x', 'invalid syntax'],
    [uint(8), '-1', 'invalid syntax'],
    [uint(8), '+1', 'invalid syntax'],
    [uint(8), ' 1', 'invalid syntax'],
    [uint(8), '256', 'value out of range'],
    [uint(8), '0'.repeat(5000) + '256', 'invalid syntax'],
    [uint64, '18446744073709551616', 'value out of range'],
    [int, '9223372036854775808', 'value out of range'],
    [int, '-9223372036854775809', 'value out of range'],
    [int, '1_000', 'invalid syntax'],
    [int, '0x1', 'invalid syntax'],
    [bigInteger, '', 'invalid value'],
    [bigInteger, '1.5', 'invalid value'],
    [bigInteger, '1e3', 'invalid value'],
    [bigInteger, '9'.repeat(300), 'invalid value'],
    [hex, 'abc', 'odd length hex string'],
    [hex, 'aG', "invalid hex byte: U+0047 'G'"],
    [hex, 'aGx', "invalid hex byte: U+0047 'G'"],
    [hex, '0xab', "invalid hex byte: U+0078 'x'"],
    [hex, 'ab\u0001', 'invalid hex byte: U+0001'],
    [publicKey, 'ab'.repeat(32), 'malformed public key: invalid length: 32'],
    [publicKey, `05${'ab'.repeat(32)}`, 'malformed public key: not a point of secp256k1'],
    [mediaType, 'text/', 'mime: expected token after slash'],
    [mediaType, ';', 'mime: no media type'],
    [mediaType, 'text plain', 'mime: expected slash after first token'],
    [mediaType, 'text/plain x', 'mime: unexpected content after media subtype'],
    [mediaType, 'text/plain; =x', 'mime: invalid media parameter'],
    [mediaType, 'text/plain; a=1; A=2', 'mime: duplicate parameter name'],
  ] as const)('%o %j is refused: %s', (kind, text, error) => {
    expect(failure(kind as Kind<unknown>, text)).toBe(error);
  });

  test.each([
    [uint(8), '255', 255],
    [int, '-5', -5],
    [uint64, '18446744073709551615', 18_446_744_073_709_551_615n],
    [bigInteger, '-12', -12n],
    [hex, '', undefined],
    [hex, 'AbcD', new Uint8Array([0xab, 0xcd])],
    [publicKey, '', undefined],
    [mediaType, '', undefined],
    [mediaType, 'text/html; charset="a;b"', 'text/html; charset="a;b"'],
    [mediaType, 'multipart/form-data; boundary=----x;', 'multipart/form-data; boundary=----x;'],
    [multiAddress, 'ip4/127.0.0.1/tcp/1634', '/ip4/127.0.0.1/tcp/1634'],
  ] as const)('%o %j is %o', (kind, text, value) => {
    expect((kind as Kind<unknown>).parse(text, svc)).toEqual(value);
  });

  test.each([
    [uint(8), '007', 7],
    [int, '+5', 5],
    [uint64, '00', 0n],
    [bigInteger, '+12', 12n],
  ] as const)('%o reads %j in the other dialect only', (kind, text, value) => {
    expect((kind as Kind<unknown>).parse(text, swarm)).toEqual(value);
    expect(failure(kind as Kind<unknown>, text)).toMatch(/^invalid (syntax|value)$/);
  });

  test('a public key may be compressed or not; its value is the compressed form', () => {
    const x = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
    const y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';
    expect(publicKey.parse(`04${x}${y}`, svc)).toEqual(publicKey.parse(`02${x}`, svc));
  });

  test('an invalid multi-address is named as the server reads it', () => {
    expect(failure(multiAddress, 'nonsense')).toMatch(/^failed to parse multiaddr "\/nonsense": /);
  });

  test('a reference may be hex of any even length', () => {
    expect(reference.parse('abcd', svc)).toEqual(new Uint8Array([0xab, 0xcd]));
  });

  test('a reference may be a CIDv1 in base 32', () => {
    const digest = 'ca6357a08e317d15ec560fef34e4c45f8f19f01c372aa70f1da72bfa7f1a4338';
    const cid = 'bah5acgzazjrvpieogf6rl3cwb7xtjzgel6hrt4a4g4vkody5u4v7u7y2im4a';
    expect(Buffer.from(reference.parse(cid, svc) as Uint8Array).toString('hex')).toBe(digest);
  });

  test.each([
    ['abc', svc, /^invalid name or svc address: failed parsing CID abc err .+: could not parse$/],
    ['name', swarm, /^invalid name or bzz address: failed parsing CID name err .+: could not parse$/],
    ['bah5acgzazjrvpieogf6rl3cwb7xtjzgel6hrt4a4g4vkody5u4v7u7y2im4', svc, /could not parse$/],
  ] as const)('reference %s is invalid', (text, dialect, error) => {
    expect(failure(reference, text, dialect)).toMatch(error);
  });
});

describe('the two passes', () => {
  const table = {
    tag: optional(uint(64), 0),
    postageBatchId: required(hex),
    redundancyLevel: optional(uint(8), 0, { checks: [max(3), min(1)] }),
  } as const;
  const read = (values: Record<string, string>) => {
    try {
      return readParams('header', table, (name) => values[name], svc);
    } catch (error) {
      return errorBody(error as ApiError, svc);
    }
  };

  test('all parse failures, and nothing else, are reported together under the declared names', () => {
    expect(read({ 'svc-tag': 'x', 'svc-redundancy-level': '256' })).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: ['Svc-Tag: invalid syntax', 'Svc-Redundancy-Level: value out of range'],
    });
  });

  test('all validation failures are reported together, under lower-case names', () => {
    expect(read({ 'svc-redundancy-level': '4' })).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: ['svc-postage-batch-id: want required:', 'svc-redundancy-level: want max:3'],
    });
  });

  test('an absent parameter has its default and is not validated', () => {
    expect(read({ 'svc-postage-batch-id': 'ab' })).toEqual({
      tag: 0,
      postageBatchId: new Uint8Array([0xab]),
      redundancyLevel: 0,
    });
  });

  test('path names are those of the operation, lower case when validated', () => {
    const path = {
      reference: required(hex, { field: 'Address', checks: [length(32)] }),
      name: optional(hex, undefined),
    };
    const reasonsOf = (values: Record<string, string>) => {
      try {
        return readParams('path', path, (name) => values[name], svc);
      } catch (error) {
        return (error as ApiError).reasons;
      }
    };
    expect(reasonsOf({ reference: 'xx' })).toEqual([
      { field: 'Address', error: "invalid hex byte: U+0078 'x'" },
    ]);
    expect(reasonsOf({ reference: 'ab' })).toEqual([{ field: 'address', error: 'want len:32' }]);
  });

  const varied = {
    tag: varying(({ stampedStreams }) => readIf(stampedStreams, optional(uint(64), 7))),
    postageBatchId: varying(({ stampedStreams }) => requiredIf(!stampedStreams, hex)),
    redundancyLevel: varying(({ uploadLevel }) => optional(uint(8), uploadLevel)),
  } as const;

  test('the dialect decides what is read, what is required, and what counts as an absent value', () => {
    const sent = (name: string) => (name.endsWith('-tag') ? '5' : undefined);
    expect(readParams('header', varied, sent, swarm)).toEqual({
      tag: 5,
      postageBatchId: undefined,
      redundancyLevel: 1,
    });
    expect(() => readParams('header', varied, sent, svc)).toThrow(
      expect.objectContaining({ reasons: [{ field: 'svc-postage-batch-id', error: 'want required:' }] }),
    );
    const malformed = (name: string) => ({ 'svc-tag': 'x', 'svc-postage-batch-id': 'ab' })[name];
    expect(readParams('header', varied, malformed, svc)).toMatchObject({ tag: 7, redundancyLevel: 0 });
  });

  test('a query parameter may be named like a header, in either family', () => {
    const table = { tag: optional(uint(64), 0, { named: 'tag' }) } as const;
    for (const name of ['swarm-tag', 'svc-tag']) {
      const values = readParams('query', table, (asked) => (asked === name ? '5' : undefined), swarm);
      expect(values).toEqual({ tag: 5 });
    }
    expect(readParams('query', table, (asked) => (asked === 'tag' ? '5' : undefined), swarm)).toEqual({
      tag: 0,
    });
  });

  test('a text may be forbidden to start with a given prefix', () => {
    expect(startsNotWith('/')('/x', svc)).toBe('want startsnotwith:/');
    expect(startsNotWith('/')('x/', svc)).toBeUndefined();
  });
});

const headerValue = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map((text) => text.trim()),
  fc.stringMatching(/^[\x21-\x7e\x80-\xff]{0,40}$/),
  fc.constantFrom(
    '',
    '0',
    '1',
    '-1',
    '256',
    'true',
    BATCH,
    '99999999999999999999',
    'bytes=0-',
    'bytes=9-1',
    '*',
    '"x"',
  ),
);
const HEADER_NAMES = [
  ...Object.values(svc.headers).map((header) => header.active),
  ...Object.values(swarm.headers).map((header) => header.active),
  'origin',
];
const headers = fc.dictionary(fc.constantFrom(...HEADER_NAMES), headerValue, { maxKeys: 8 });

describe('any header values', () => {
  const target = fc.constantFrom(
    ['POST', '/bytes'],
    ['POST', '/chunks'],
    ['POST', '/svc'],
    ['GET', `/bytes/${'0'.repeat(64)}`],
    ['HEAD', `/svc/${'0'.repeat(64)}/x`],
    ['GET', `/chunks/${'0'.repeat(64)}`],
    ['POST', '/stamps/1/20'],
    ['GET', '/tags'],
  );

  property.prop([target, headers], { numRuns: 300 })(
    'never make the server fail',
    async ([method, url], sent) => {
      const answer = await api.main.inject({
        method,
        url,
        headers: sent,
        ...(method === 'POST' ? { payload: Buffer.alloc(100) } : {}),
      });
      expect(answer.statusCode, answer.body).toBeLessThan(502);
      expect(answer.statusCode, answer.body).not.toBe(500);
    },
  );

  property.prop([fc.webQueryParameters()], { numRuns: 100 })('nor do any query parameters', async (query) => {
    const answer = await api.main.get(`/tags?${query}`);
    expect([200, 400]).toContain(answer.statusCode);
  });
});
