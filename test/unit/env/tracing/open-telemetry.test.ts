import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLogger } from '../../../../node/env/logger.ts';
import { createTracing, type TracingOptions } from '../../../../node/env/tracing/open-telemetry.ts';
import type { SpanContext, Tracing } from '../../../../node/env/tracing/tracing.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const OPTIONS: TracingOptions = {
  serviceName: 'node-0',
  version: '0.1.0',
  instance: 'ab'.repeat(32),
  ratio: 1,
  endpoint: 'http://127.0.0.1:4318/v1/traces',
};
const REMOTE: SpanContext = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  sampled: true,
};
const QUEUE_MAX = 8192;

interface Kit {
  readonly tracing: Tracing;
  readonly clock: ManualClock;
  readonly spans: ReadableSpan[];
  readonly logged: string[];
}

function kit(options: Partial<TracingOptions> = {}, how: { failure?: Error; hangs?: boolean } = {}): Kit {
  const spans: ReadableSpan[] = [];
  const logged: string[] = [];
  const clock = new ManualClock();
  const exporter: SpanExporter = {
    export(sent, done) {
      spans.push(...sent);
      if (how.hangs === true) return;
      const result: unknown = how.failure === undefined ? { code: 0 } : { code: 1, error: how.failure };
      done(result as Parameters<typeof done>[0]);
    },
    shutdown: async () => undefined,
  };
  let drawn = 0;
  const random = {
    // Never zeros, which are not a valid id.
    bytes: (length: number) => new Uint8Array(length).fill((drawn++ % 255) + 1),
    below: () => 0,
  };
  const log = createLogger(
    { verbosity: 'warn' },
    { clock, destination: { write: (line) => logged.push(line) } },
  );
  return {
    tracing: createTracing({ ...OPTIONS, ...options }, { exporter, clock, random, log }),
    clock,
    spans,
    logged,
  };
}

const byName = (spans: readonly ReadableSpan[], name: string) => spans.find((span) => span.name === name);

describe('a span', () => {
  test('is the parent of what its work calls, even after it has waited', async () => {
    const { tracing, spans } = kit();
    await tracing.span('outer', {}, async () => {
      await new Promise(setImmediate);
      await tracing.span('inner', {}, async () => undefined);
    });
    await tracing.stop();
    const [inner, outer] = [byName(spans, 'inner'), byName(spans, 'outer')];
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    expect(inner?.spanContext().traceId).toBe(outer?.spanContext().traceId);
    expect(outer?.parentSpanContext).toBeUndefined();
  });

  test('of another node in the same process is not a parent', async () => {
    const [one, other] = [kit(), kit()];
    await one.tracing.span('calls', {}, () => other.tracing.span('is called', {}, async () => undefined));
    await other.tracing.stop();
    expect(other.spans.map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined]);
  });

  test('continues the trace of the context that came with a stream', async () => {
    const { tracing, spans } = kit();
    await tracing.span('handler', { kind: 'server', parent: REMOTE }, async () => undefined);
    await tracing.stop();
    expect(spans[0]?.parentSpanContext).toMatchObject({ spanId: REMOTE.spanId, isRemote: true });
    expect(spans[0]?.spanContext().traceId).toBe(REMOTE.traceId);
  });

  test('starts a trace of its own where requested', async () => {
    const { tracing, spans } = kit();
    await tracing.span('outer', {}, () => tracing.span('apart', { parent: 'none' }, async () => undefined));
    await tracing.stop();
    expect(byName(spans, 'apart')?.parentSpanContext).toBeUndefined();
  });

  test('of failing work is marked as failed, and the failure is passed on', async () => {
    const { tracing, spans } = kit();
    const work = () => Promise.reject(new Error('could not push chunk'));
    await expect(tracing.span('push-chunk', {}, work)).rejects.toThrow('could not push chunk');
    await tracing.stop();
    expect(spans[0]?.status).toEqual({ code: 2, message: 'could not push chunk' });
    expect(spans[0]?.events.map(({ name }) => name)).toEqual(['exception']);
  });

  test('keeps the code of a failure, and part of the peer’s message about it', async () => {
    const { tracing, spans } = kit();
    const failure = Object.assign(new Error(`delivery failed: ${'x'.repeat(130_000)}`), { code: 'REFUSED' });
    const work = () => Promise.reject(failure);
    await expect(tracing.span('retrieve-chunk', {}, work)).rejects.toBe(failure);
    await tracing.stop();
    const [{ status, events } = { status: { message: '' }, events: [] }] = spans;
    const [event] = events;
    expect(status.message).toMatch(/^delivery failed: x+…$/);
    expect(event?.attributes).toMatchObject({
      'exception.type': 'REFUSED',
      'exception.message': status.message,
    });
    expect(status.message).toHaveLength(501);
    expect(event?.attributes?.['exception.stacktrace']).toHaveLength(4001);
  });

  test('has the time of the node’s clock, the ids of its randomness, and names its node', async () => {
    const { tracing, clock, spans } = kit();
    const startMs = clock.now();
    await tracing.span('takes 250 ms', { attributes: { 'chunk.address': 'ab', tag: undefined } }, () =>
      clock.advance(250),
    );
    await tracing.stop();
    const [span] = spans as [ReadableSpan];
    expect(span.startTime).toEqual([Math.floor(startMs / 1000), (startMs % 1000) * 1e6]);
    expect(span.duration).toEqual([0, 250_000_000]);
    expect(span.spanContext()).toMatchObject({ spanId: '01'.repeat(8), traceId: '02'.repeat(16) });
    expect(span.attributes).toEqual({ 'chunk.address': 'ab' });
    expect(span.resource.attributes).toEqual({
      'service.name': 'node-0',
      'service.version': '0.1.0',
      'service.instance.id': 'ab'.repeat(32),
    });
  });

  test('can be annotated by the code that runs in it', async () => {
    const { tracing, spans } = kit();
    expect(tracing.current()).toBeUndefined();
    await tracing.span('handler', {}, async () => {
      tracing.current()?.annotate({ forwarded: true });
      tracing.current()?.event('stored');
    });
    await tracing.stop();
    expect(spans[0]?.attributes).toEqual({ forwarded: true });
    expect(spans[0]?.events.map(({ name }) => name)).toEqual(['stored']);
  });
});

describe('which traces are kept', () => {
  test.each([
    [0, REMOTE, 1],
    [1, { ...REMOTE, sampled: false }, 0],
    [0, 'none' as const, 0],
    [1, 'none' as const, 1],
  ])('ratio %s, beginning with %j: %s spans', async (ratio, parent, count) => {
    const { tracing, spans } = kit({ ratio });
    await tracing.span('one', { parent }, async ({ context }) => {
      if (parent !== 'none') expect(context.sampled).toBe(parent.sampled);
    });
    await tracing.stop();
    expect(spans).toHaveLength(count);
  });
});

describe('work that is done later and elsewhere', () => {
  test('a bound stream continues as work of its span, no matter who reads it', async () => {
    const { tracing } = kit();
    async function* parts() {
      for (let n = 0; n < 3; n++) yield tracing.current()?.context.spanId;
    }
    const { stream, id } = await tracing.span('request', {}, async ({ context }) => ({
      stream: tracing.bind(parts()),
      id: context.spanId,
    }));
    expect(await Array.fromAsync(stream)).toEqual([id, id, id]);
  });

  test('a bound stream that is left is told so', async () => {
    const { tracing } = kit();
    const left = vi.fn();
    async function* parts() {
      try {
        yield 1;
        yield 2;
      } finally {
        left();
      }
    }
    for await (const part of tracing.bind(parts())) if (part === 1) break;
    expect(left).toHaveBeenCalledOnce();
  });

  test('a kept context can be found again, except the oldest of very many', async () => {
    const { tracing } = kit();
    tracing.keep('outside');
    expect(tracing.kept('outside')).toBeUndefined();
    await tracing.span('upload', {}, async ({ context }) => {
      for (let n = 0; n <= 1024; n++) tracing.keep(`tag ${n}`);
      expect(tracing.kept('tag 1024')).toEqual(context);
      expect(tracing.kept('tag 1')).toEqual(context);
      expect(tracing.kept('tag 0')).toBeUndefined();
    });
  });
});

describe('an unavailable receiver', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('is reported once a minute', async () => {
    const { tracing, clock, logged } = kit({}, { failure: new Error('connect ECONNREFUSED') });
    const spanAndSend = async () => {
      await tracing.span('one', {}, async () => undefined);
      await vi.advanceTimersByTimeAsync(1000);
    };
    await spanAndSend();
    await spanAndSend();
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([
      { msg: 'trace spans dropped', endpoint: OPTIONS.endpoint, failure: 'connect ECONNREFUSED', lost: 1 },
    ]);
    await clock.advance(60_000);
    await spanAndSend();
    expect(logged.map((line) => JSON.parse(line) as object)[1]).toMatchObject({ lost: 2 });
  });

  test('does not make the queue longer than allowed', async () => {
    const { tracing, spans, logged } = kit({}, { hangs: true });
    const sent = 512;
    for (let n = 0; n < QUEUE_MAX + sent + 10; n++) await tracing.span('one', {}, async () => undefined);
    expect(spans).toHaveLength(sent);
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([
      { failure: 'more spans end than can be sent', lost: 1 },
    ]);
  });

  test('does not hold up a stop for longer than half a second', async () => {
    const { tracing, clock, logged } = kit({}, { hangs: true });
    await tracing.span('one', {}, async () => undefined);
    const stopped = vi.fn();
    const stopping = tracing.stop().then(stopped);
    await clock.advance(499);
    expect(stopped).not.toHaveBeenCalled();
    await clock.advance(1);
    await stopping;
    expect(logged.join('')).toContain('not all were sent within 500 ms of the stop');
  });
});
