/**
 * Spans, nested by call, and across nodes by contexts. Without tracing there is no `Tracing`; with it,
 * `open-telemetry.ts`.
 */

/** What identifies a span on other nodes. */
export interface SpanContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
  /** Decided at the first node. */
  readonly sampled: boolean;
}

/** Undefined ones are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** Client: asks a node. Server: answers. Default: within this node. */
  readonly kind?: 'client' | 'server';
  /** Default: the calling span. `none`: a new trace. */
  readonly parent?: SpanContext | 'none' | undefined;
  readonly attributes?: Attributes;
}

/** An open span. Without one, calls do nothing. */
export interface Span {
  readonly context: SpanContext;
  annotate(attributes: Attributes): void;
  /** Something at one moment of the span. */
  event(name: string, attributes?: Attributes): void;
  /** The work failed, even if nothing is thrown. */
  fail(error: unknown): void;
}

export interface Tracing {
  /** Ends with `work`; a rejection fails it. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Undefined: the code is part of none. */
  current(): Span | undefined;
  /** Continues as the caller's work, whoever reads. */
  bind<T>(stream: AsyncIterable<T>): AsyncIterable<T>;
  /** For later work elsewhere; oldest ones are forgotten. */
  keep(key: string): void;
  kept(key: string): SpanContext | undefined;
  /** Sends ended spans, but does not wait for long. */
  stop(): Promise<void>;
}
