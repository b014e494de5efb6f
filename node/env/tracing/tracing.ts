/**
 * Spans of work, nested by call, and across nodes by a context. Only a node that traces has a `Tracing`
 * (`open-telemetry.ts`).
 */

export interface SpanContext {
  /** 32 lower-case hex digits, not zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not zero. */
  readonly spanId: string;
  /** Its spans are kept. The first node decides. */
  readonly sampled: boolean;
}

/** Undefined values are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** Client: asks a node. Server: answers a node or application. Default: work within this node. */
  readonly kind?: 'client' | 'server';
  /** Default: the calling work's span. `none` starts a trace. */
  readonly parent?: SpanContext | 'none' | undefined;
  readonly attributes?: Attributes;
}

/** A span that has not ended. Without a running one, calls do nothing. */
export interface Span {
  readonly context: SpanContext;
  annotate(attributes: Attributes): void;
  event(name: string, attributes?: Attributes): void;
  fail(error: unknown): void;
}

export interface Tracing {
  /** Ends with `work`; a rejection makes it a failed one. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  current(): Span | undefined;
  /** Reading it counts as work of the code that calls this. */
  bind<T>(stream: AsyncIterable<T>): AsyncIterable<T>;
  /** The calling code's context, for later work. The oldest are forgotten. */
  keep(key: string): void;
  kept(key: string): SpanContext | undefined;
  /** Sends ended spans, but not for long. */
  stop(): Promise<void>;
}
