/** Without a body member it has no body. */
export interface Answer {
  readonly status: number;
  /** Lower case; an array becomes several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly json?: unknown;
  readonly text?: string;
  readonly bytes?: Uint8Array;
  /**
   * Pulled no faster than the client reads; `return` is called when it disconnects. A piece is requested when the system has
   * the one before, whose memory may be reused.
   */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** Goes with status 101. */
  readonly socket?: SocketHandler;
}

export interface Socket {
  /** The connection is closing, for whatever reason. */
  readonly signal: AbortSignal;
  /** Never waits: a slow client is disconnected. */
  send(message: Uint8Array): void;
  /** Resolves when the connection has taken the message, or takes nothing more. */
  sent(message: Uint8Array): Promise<void>;
  /**
   * The client is held back until a message is requested; messages sent before a close still arrive. One caller at a time,
   * from the start: until the first call messages are ignored.
   * @param idleMs after which a silent connection is dropped
   * @returns undefined when there are no more
   */
  read(idleMs: number): Promise<Uint8Array | string | undefined>;
  ping(): void;
  /** @param code none: without one */
  close(code?: number, reason?: string): void;
  drop(): void;
  /** Default: a close frame without a code. */
  sayAtStop(code: number, reason: string): void;
  /** Aborts after the time that handlers get at a stop. */
  readonly ending: AbortSignal;
}

/** A rejection closes the connection. */
export type SocketHandler = (socket: Socket) => Promise<void>;
