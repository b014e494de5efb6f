/**
 * The context of a span as exchanged with others: in the headers of a stream and of an HTTP request. An unreadable
 * one counts as no context, never as an error. Sources: p2p-protocols.md 2.2; Bee v2.8.1 pkg/tracing, v2.8.2
 * pkg/tracing for the second stream header; W3C Trace Context. Vectors: test/vectors/span-context.json
 */
import type { SpanContext } from './tracing.ts';

/**
 * Header of the public network's nodes up to v2.8.1, 37 bytes and baggage: trace id, span id, id of the parent span,
 * flags, count of baggage items, numbers in network order. Their tracer resets a stream whose value is shorter.
 */
const HEADER = 'tracing-span-context';
const LENGTH = 16 + 8 + 8 + 1 + 4;
/** Later Bees', 26 bytes: version, trace id, span id, flags. */
const NEW_HEADER = 'tracing-span-context-v2';
const NEW_LENGTH = 1 + 16 + 8 + 1;
const NEW_VERSION = 1;
const SAMPLED = 1;

type StreamHeaders = ReadonlyMap<string, Uint8Array>;

/** Both forms: a node ignores the one it does not know. */
export function streamHeaders(context: SpanContext): StreamHeaders {
  const ids = Buffer.from(context.traceId + context.spanId, 'hex');
  const flags = context.sampled ? SAMPLED : 0;
  const value = new Uint8Array(LENGTH);
  value.set(ids);
  value[32] = flags;
  return new Map([
    [HEADER, value],
    [NEW_HEADER, Uint8Array.of(NEW_VERSION, ...ids, flags)],
  ]);
}

export function contextOfStream(headers: StreamHeaders): SpanContext | undefined {
  const newer = headers.get(NEW_HEADER);
  if (newer?.length === NEW_LENGTH && newer[0] === NEW_VERSION) {
    return fromBytes(newer.subarray(1, 25), newer[25] as number);
  }
  const value = headers.get(HEADER);
  return value === undefined || value.length < LENGTH ? undefined : fromBytes(value, value[32] as number);
}

function fromBytes(ids: Uint8Array, flags: number): SpanContext | undefined {
  const hex = Buffer.from(ids.buffer, ids.byteOffset, 24).toString('hex');
  return contextOf(hex.slice(0, 32), hex.slice(32), flags);
}

/** An id of zeros means none. */
function contextOf(traceId: string, spanId: string, flags: number): SpanContext | undefined {
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (flags & SAMPLED) !== 0 };
}

/** Value of `traceparent`, and of `traceresponse` in answers. */
export function traceparentOf({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`;
}

/** @param own value of the header that the public network's nodes use for it: `trace:span:parent:flags` in hex */
export function contextOfRequest({
  traceparent,
  own,
}: {
  readonly traceparent: string | undefined;
  readonly own: string | undefined;
}): SpanContext | undefined {
  return fromTraceparent(traceparent ?? '') ?? fromColons(own ?? '');
}

/** A later version may have more fields after the four. */
function fromTraceparent(text: string): SpanContext | undefined {
  const match = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = match;
  if (version === '00' && more !== undefined) return undefined;
  return contextOf(traceId, spanId, Number.parseInt(flags, 16));
}

/** Leading zeros may be missing, and the colons may be escaped. */
function fromColons(text: string): SpanContext | undefined {
  const match = /^([0-9a-f]{1,32}):([0-9a-f]{1,16}):[0-9a-f]{0,16}:([0-9a-f]{1,2})$/i.exec(
    text.replace(/%3a/gi, ':'),
  );
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  const padded = (hex: string, length: number) => hex.toLowerCase().padStart(length, '0');
  return contextOf(padded(traceId, 32), padded(spanId, 16), Number.parseInt(flags, 16));
}
