/** What a handler answers; `exchange.ts` writes it. Without a body member the answer has no body. */
export interface Answer {
  readonly status: number;
  /** Lower-case names; an array is sent as several header lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly json?: unknown;
  readonly text?: string;
  readonly bytes?: Uint8Array;
  /**
   * Pulled no faster than the client reads; its `return` is called when the client disconnects. The next piece is
   * requested when the system has taken the previous one, whose memory may then be reused.
   */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** With status 101: handles the WebSocket that the connection becomes. */
  readonly socket?: SocketHandler;
}

/** An open connection of whole messages. */
export interface Socket {
  /** Aborts when the connection is closing, for whatever reason. */
  readonly signal: AbortSignal;
  /** Binary. Never waits: a client that takes too little too slowly is disconnected. */
  send(message: Uint8Array): void;
  /**
   * As `send`, for a caller with nothing else to do: resolves when the connection has taken it, or no longer takes
   * anything.
   */
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
  /** Sets the close code and reason for when the node stops; the default is a close frame without a code. */
  sayAtStop(code: number, reason: string): void;
  /** Aborts when the node stops and handlers have had their time to finish running work. */
  readonly ending: AbortSignal;
}

/** Handles the connection to its end; a rejection closes it. */
export type SocketHandler = (socket: Socket) => Promise<void>;
