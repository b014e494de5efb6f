/** A handler's answer, written by `exchange.ts`. */
export interface Answer {
  readonly status: number;
  /** Lower-case names; an array: several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly json?: unknown;
  readonly text?: string;
  readonly bytes?: Uint8Array;
  /**
   * Pulled as the client reads; `return` is called on disconnect. A piece's memory may be reused when the next is
   * requested.
   */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** With status 101: handles the WebSocket. */
  readonly socket?: SocketHandler;
}

/** An open connection of whole messages. */
export interface Socket {
  /** Aborts when the connection is closing, for whatever reason. */
  readonly signal: AbortSignal;
  /** Binary. Never waits: too slow clients are disconnected. */
  send(message: Uint8Array): void;
  /** As `send`; resolves when the connection has taken it, or takes no more. */
  sent(message: Uint8Array): Promise<void>;
  /**
   * The next message, bytes or text. The client is held back until a message is requested; messages that it
   * sent before a close still arrive. For one caller at a time, from the start: until the first call,
   * messages are ignored.
   * @param idleMs after which a silent connection is dropped
   * @returns undefined when there are no more
   */
  read(idleMs: number): Promise<Uint8Array | string | undefined>;
  ping(): void;
  /** @param code none: a close frame without one */
  close(code?: number, reason?: string): void;
  /** Ends the connection without a close frame. */
  drop(): void;
  /** Close code and reason at the node's stop; default: no code. */
  sayAtStop(code: number, reason: string): void;
  /** Aborts when the node stops and handlers had their time. */
  readonly ending: AbortSignal;
}

/** Handles the connection to its end; a rejection closes it. */
export type SocketHandler = (socket: Socket) => Promise<void>;
