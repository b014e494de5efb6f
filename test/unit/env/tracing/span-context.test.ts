import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import {
  contextOfRequest,
  contextOfStream,
  streamHeaders,
  traceparentOf,
} from '../../../../node/env/tracing/span-context.ts';
import vectors from '../../../vectors/span-context.json' with { type: 'json' };

const CONTEXT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true };

const hex = (digits: number) =>
  fc.uint8Array({ minLength: digits / 2, maxLength: digits / 2 }).map((bytes) => {
    bytes[0] = (bytes[0] as number) | 1;
    return Buffer.from(bytes).toString('hex');
  });
const contexts = fc.record({ traceId: hex(32), spanId: hex(16), sampled: fc.boolean() });

describe('in the headers of a stream', () => {
  test.each(vectors.streams)('$name', ({ headers, expected }) => {
    const received = new Map(
      Object.entries(headers).map(([name, value]) => [name, new Uint8Array(Buffer.from(value, 'hex'))]),
    );
    expect(contextOfStream(received) ?? null).toEqual(expected);
  });

  test('both forms are sent, whole', () => {
    const sent = [...streamHeaders(CONTEXT)].map(([name, value]) => [
      name,
      Buffer.from(value).toString('hex'),
    ]);
    expect(Object.fromEntries(sent)).toEqual({
      'tracing-span-context': vectors.streams[0]?.headers['tracing-span-context'],
      'tracing-span-context-v2': vectors.streams[4]?.headers['tracing-span-context-v2'],
    });
  });

  property.prop([contexts, fc.constantFrom(0, 1)])('either form says what was sent', (context, which) => {
    const sent = [...streamHeaders(context)];
    expect(contextOfStream(new Map(sent))).toEqual(context);
    expect(contextOfStream(new Map([sent[which] as (typeof sent)[number]]))).toEqual(context);
  });

  property.prop([fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ maxLength: 60 })])(
    'any bytes are a context or none',
    (value, newer) => {
      const context = contextOfStream(
        new Map([
          ['tracing-span-context', value],
          ['tracing-span-context-v2', newer],
        ]),
      );
      if (context === undefined) return;
      expect(context.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(context.spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    },
  );
});

describe('in the headers of a request', () => {
  test.each(vectors.requests)('$name', ({ traceparent, own, expected }) => {
    expect(contextOfRequest({ traceparent, own }) ?? null).toEqual(expected);
  });

  property.prop([contexts])('traceparent says what was sent', (context) => {
    expect(contextOfRequest({ traceparent: traceparentOf(context), own: undefined })).toEqual(context);
  });

  property.prop([fc.string(), fc.string()])('any text is a context or none', (traceparent, own) => {
    expect(() => contextOfRequest({ traceparent, own })).not.toThrow();
  });
});
