/**
 * A span's context in headers of streams and HTTP requests. An unreadable one counts as none. Sources: p2p-protocols.md 2.2;
 * Bee v2.8.1 and v2.8.2 pkg/tracing; W3C Trace Context. Vectors: test/vectors/span-context.json
 */
import type { SpanContext } from './tracing.ts';

/**
 * Bees up to v2.8.1, 37 bytes and baggage: trace id, span id, parent span id, flags, count of baggage items, in network
 * order. Their tracer resets a stream with a shorter value.
 */
const HEADER = 'tracing-span-context';
const LENGTH = 16 + 8 + 8 + 1 + 4;
/** Later Bees, 26 bytes: version, trace id, span id, flags. */
const NEW_HEADER = 'tracing-span-context-v2';
const NEW_LENGTH = 1 + 16 + 8 + 1;
const NEW_VERSION = 1;
const SAMPLED = 1;

type StreamHeaders = ReadonlyMap<string, Uint8Array>;

/** Both forms: nodes ignore unknown ones. */
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

function contextOf(traceId: string, spanId: string, flags: number): SpanContext | undefined {
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (flags & SAMPLED) !== 0 };
}

export function traceparentOf({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`;
}

/** @param own header of the public network's nodes: `trace:span:parent:flags` in hex */
export function contextOfRequest({
  traceparent,
  own,
}: {
  readonly traceparent: string | undefined;
  readonly own: string | undefined;
}): SpanContext | undefined {
  return fromTraceparent(traceparent ?? '') ?? fromColons(own ?? '');
}

/** Later versions may have more fields. */
function fromTraceparent(text: string): SpanContext | undefined {
  const match = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = match;
  if (version === '00' && more !== undefined) return undefined;
  return contextOf(traceId, spanId, Number.parseInt(flags, 16));
}

/** May lack leading zeros, and have escaped colons. */
function fromColons(text: string): SpanContext | undefined {
  const match = /^([0-9a-f]{1,32}):([0-9a-f]{1,16}):[0-9a-f]{0,16}:([0-9a-f]{1,2})$/i.exec(
    text.replace(/%3a/gi, ':'),
  );
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  const padded = (hex: string, length: number) => hex.toLowerCase().padStart(length, '0');
  return contextOf(padded(traceId, 32), padded(spanId, 16), Number.parseInt(flags, 16));
}
