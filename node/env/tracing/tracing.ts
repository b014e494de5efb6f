/**
 * Traces as the node sees them: spans of work, nested by call, and across nodes by a context that travels with a
 * stream or a request. A node that does not trace has no `Tracing` at all, so the only cost is checking for it. A
 * node that does uses `open-telemetry.ts`.
 */

/** What identifies a span on other nodes. */
export interface SpanContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
  /** Whether its spans are kept. Decided at the first node, for all others. */
  readonly sampled: boolean;
}

/** Undefined ones are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** Client: asks another node. Server: answers one, or an application. Default: work within this node. */
  readonly kind?: 'client' | 'server';
  /** Default: the span of the calling work. `none` starts a new trace. */
  readonly parent?: SpanContext | 'none' | undefined;
  readonly attributes?: Attributes;
}

/** A span that has not ended. When no span runs, calls on the running code's span do nothing. */
export interface Span {
  readonly context: SpanContext;
  annotate(attributes: Attributes): void;
  /** Something at one moment of the span. */
  event(name: string, attributes?: Attributes): void;
  /** The work failed, even if nothing is thrown. */
  fail(error: unknown): void;
}

export interface Tracing {
  /** Runs `work` as a span, which ends with it; a rejection makes it a failed one. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** The span of the calling code; undefined when it is part of none. */
  current(): Span | undefined;
  /** The same stream, which continues as work of the calling code, no matter who reads it. */
  bind<T>(stream: AsyncIterable<T>): AsyncIterable<T>;
  /**
   * Keeps the context of the calling code for work that is done later and elsewhere. The oldest ones are forgotten.
   */
  keep(key: string): void;
  kept(key: string): SpanContext | undefined;
  /** Sends ended spans, but does not wait for long. */
  stop(): Promise<void>;
}
