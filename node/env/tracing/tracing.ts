/**
 * Traces as the node sees them: spans of work, nested by who has called whom, across nodes by a context that travels with
 * a stream or a request. A node that does not trace has no `Tracing` at all, so what it costs there is a look whether
 * there is one. `open-telemetry.ts` is what a node has that does.
 */

/** What a span is known by on other nodes. */
export interface SpanContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
  /** Its spans are kept. Decided at the first node, for all others. */
  readonly sampled: boolean;
}

/** What is undefined is left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** Client: asks another node. Server: answers one, or an application. Default: work of this node alone. */
  readonly kind?: 'client' | 'server';
  /** Default: the span whose work calls. `none` begins a trace of its own. */
  readonly parent?: SpanContext | 'none' | undefined;
  readonly attributes?: Attributes;
}

/** A span that has not ended. What is said of the span of running code is said of nothing when no span runs. */
export interface Span {
  readonly context: SpanContext;
  annotate(attributes: Attributes): void;
  /** Something at one moment of the span. */
  event(name: string, attributes?: Attributes): void;
  /** The work went wrong, also where nothing is thrown. */
  fail(error: unknown): void;
}

export interface Tracing {
  /** Runs `work` as a span, which ends with it; a rejection makes it a failed one. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Of the code that calls; undefined when it is part of no span. */
  current(): Span | undefined;
  /** The same stream, which goes on as work of the calling code, no matter who reads it. */
  bind<T>(stream: AsyncIterable<T>): AsyncIterable<T>;
  /** Keeps the context of the calling code for work that is done later and elsewhere. Those kept longest are forgotten. */
  keep(key: string): void;
  kept(key: string): SpanContext | undefined;
  /** Sends what has ended, but does not wait for long. */
  stop(): Promise<void>;
}
