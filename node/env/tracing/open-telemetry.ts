/**
 * Traces with the OpenTelemetry SDK, which takes half a start to load. Ended spans are sent from a bounded queue; those that
 * find it full are dropped. Failures are logged at most once a minute.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Span as ApiSpan,
  type SpanContext as ApiSpanContext,
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Clock } from '../../../formats/clock.ts';
import type { Random } from '../../../formats/random.ts';
import type { Logger } from '../logger.ts';
import { shortened } from '../shortened.ts';
import type { Attributes, Span, SpanContext, SpanOptions, Tracing } from './tracing.ts';

/** Some twenty megabytes. */
const QUEUE_MAX = 8192;
const BATCH = 512;
/** Time between a span's end and its sending. */
const DELAY_MS = 1000;
const EXPORT_TIMEOUT_MS = 10_000;
/** For a stopping node's last spans; its callers wait for 1.5 s. */
const STOP_MS = 500;
const LOG_PAUSE_MS = 60_000;
/** Peers choose their words. */
const MESSAGE_MAX = 500;
const STACK_MAX = 4000;
/** Uploads with chunks still to push. */
const KEPT_MAX = 1024;

export interface TracingOptions {
  readonly serviceName: string;
  readonly version: string;
  readonly instance: string;
  /** Of the traces started here, 0 to 1. Otherwise the context decides. */
  readonly ratio: number;
  readonly endpoint: string;
}

export interface TracingDeps {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export function createTracing(options: TracingOptions, deps: TracingDeps): Tracing {
  return new OpenTelemetry(options, deps);
}

const KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;

class OpenTelemetry implements Tracing {
  readonly #clock: Clock;
  readonly #queue: BoundedQueue;
  readonly #provider: TracerProvider;
  readonly #tracer: ReturnType<TracerProvider['getTracer']>;
  /** Per node: another node's code in this process is not its work. */
  readonly #running = new AsyncLocalStorage<RunningSpan>();
  readonly #kept = new Map<string, SpanContext>();
  /** Wall time at the monotonic clock's zero, for fractions of ms. */
  readonly #origin: number;

  constructor({ serviceName, version, instance, ratio, endpoint }: TracingOptions, deps: TracingDeps) {
    const { clock, random } = deps;
    this.#clock = clock;
    this.#origin = clock.now() - clock.monotonic();
    this.#queue = new BoundedQueue(endpoint, deps);
    const idOf = (bytes: number) => () => Buffer.from(random.bytes(bytes)).toString('hex');
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': serviceName,
        'service.version': version,
        'service.instance.id': instance,
      }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
      idGenerator: { generateTraceId: idOf(16), generateSpanId: idOf(8) },
      spanProcessors: [this.#queue],
    });
    this.#tracer = this.#provider.getTracer('svcnet', version);
  }

  async span<T>(
    name: string,
    { kind, parent = this.#running.getStore()?.context, attributes = {} }: SpanOptions,
    work: (span: Span) => Promise<T>,
  ): Promise<T> {
    const around =
      parent === undefined || parent === 'none'
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, apiContext(parent));
    const startTime = this.#time();
    const settings = { attributes, startTime, ...(kind === undefined ? {} : { kind: KINDS[kind] }) };
    const made = this.#tracer.startSpan(name, settings, around);
    const span = new RunningSpan(made, () => this.#time());
    try {
      return await this.#running.run(span, work, span);
    } catch (error) {
      span.fail(error);
      throw error;
    } finally {
      made.end(this.#time());
    }
  }

  #time(): HrTime {
    const ms = this.#origin + this.#clock.monotonic();
    const seconds = Math.floor(ms / 1000);
    return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
  }

  current(): Span | undefined {
    return this.#running.getStore();
  }

  bind<T>(stream: AsyncIterable<T>): AsyncIterable<T> {
    const within = AsyncLocalStorage.snapshot();
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = stream[Symbol.asyncIterator]();
        return {
          next: () => within(() => iterator.next()),
          return: (value) =>
            within(() => iterator.return?.(value) ?? Promise.resolve({ done: true, value: undefined })),
        };
      },
    };
  }

  keep(key: string): void {
    const context = this.#running.getStore()?.context;
    if (context === undefined) return;
    this.#kept.delete(key);
    this.#kept.set(key, context);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
  }

  kept(key: string): SpanContext | undefined {
    return this.#kept.get(key);
  }

  async stop(): Promise<void> {
    const late = Promise.withResolvers<void>();
    using _limit = this.#clock.timer(STOP_MS, () => {
      this.#queue.complain(`not all were sent within ${STOP_MS} ms of the stop`);
      late.resolve();
    });
    const sent = this.#provider.shutdown().catch((error: Error) => this.#queue.complain(error.message));
    await Promise.race([sent, late.promise]);
  }
}

class RunningSpan implements Span {
  readonly context: SpanContext;
  readonly #span: ApiSpan;
  readonly #time: () => HrTime;

  constructor(span: ApiSpan, time: () => HrTime) {
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.context = { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 };
    this.#span = span;
    this.#time = time;
  }

  annotate(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  event(name: string, attributes: Attributes = {}): void {
    this.#span.addEvent(name, attributes, this.#time());
  }

  fail(error: unknown): void {
    const failure: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    const message = shortened(failure.message, MESSAGE_MAX);
    const stack = shortened(failure.stack ?? '', STACK_MAX);
    // A number is the legacy code of an aborted wait.
    const name = typeof failure.code === 'string' ? failure.code : failure.name;
    this.#span.recordException({ name, message, stack }, this.#time());
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
}

function apiContext({ traceId, spanId, sampled }: SpanContext): ApiSpanContext {
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, isRemote: true };
}

/** The SDK's queue reports neither dropped nor unsent spans. */
class BoundedQueue implements SpanProcessor {
  readonly #queue: BatchSpanProcessor;
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #complainedAt = Number.NEGATIVE_INFINITY;
  #waiting = 0;
  #lost = 0;

  constructor(endpoint: string, { exporter, clock, log }: TracingDeps) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#log = log;
    this.#queue = new BatchSpanProcessor({
      exporter: this.#observed(exporter),
      maxQueueSize: QUEUE_MAX,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: DELAY_MS,
      exportTimeoutMillis: EXPORT_TIMEOUT_MS,
    });
  }

  #observed(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          if (result.error !== undefined) {
            this.#lost += spans.length;
            this.complain(result.error.message);
          }
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }

  onStart(): void {
    // Only ended spans matter.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= QUEUE_MAX) {
      this.#lost++;
      this.complain('more spans end than can be sent');
      return;
    }
    this.#waiting++;
    this.#queue.onEnd(span);
  }

  complain(failure: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#complainedAt < LOG_PAUSE_MS) return;
    this.#complainedAt = now;
    this.#log.warn({ endpoint: this.#endpoint, failure, lost: this.#lost }, 'trace spans dropped');
    this.#lost = 0;
  }

  forceFlush(): Promise<void> {
    return this.#queue.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#queue.shutdown();
  }
}
