import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { decodeSpan, encodeSpan } from '../../../../formats/chunk/span.ts';

test.each([0n, 1n, 4096n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n])(
  'the span %i survives a round trip through its 8 bytes',
  (span) => {
    expect(decodeSpan(encodeSpan(span))).toBe(span);
  },
);

test.prop([fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.uint8Array({ maxLength: 16 })])(
  'a span is the first 8 bytes, little-endian, whatever follows',
  (span, payload) => {
    expect(decodeSpan(Buffer.concat([encodeSpan(span), payload]))).toBe(span);
  },
);
