/**
 * WebSockets, `http-api-completion.md` 6. The request is processed like any other up to an answer with a `socket`; only then
 * is the handshake checked.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../formats/clock.ts';
import { responseOn } from '../../env/upgrade.ts';
import { ApiError } from '../errors.ts';
import type { Socket, SocketHandler } from './answer.ts';
import type { Exchange } from './exchange.ts';

/** Time for a connection to take a message. */
const WRITE_MS = 4000;
const WAITING_MAX = 256;
/** For the answer to a close frame, also when the API stops. */
const CLOSE_MS = 1000;
/** Longer than a chunk with its stamp. */
const MESSAGE_SIZE_MAX = 8192;
/**
 * Bytes without a complete wanted message: control frames, and all that a subscriber sends. More than the longest message in
 * pieces of one byte. Empty frames cost six bytes each, and the library counts none.
 */
const UNWANTED_MAX = 256 * 1024;
const UNWANTED_MS = 60_000;
const VERSION = '13';
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
/** RFC 6455, 7.4.1; 1005 is seen for a frame without a code. */
export const CLOSE = {
  goingAway: 1001,
  unsupportedData: 1003,
  internalError: 1011,
  tryAgainLater: 1013,
} as const;

export const HANDSHAKE_HEADERS = { 'sec-websocket-version': VERSION } as const;

export interface Upgrades {
  /** Leaves the connection to the handler. @throws ApiError `UPGRADE_FAILED` when the handshake is invalid */
  upgrade(exchange: Exchange, handler: SocketHandler): void;
  /** Until the upgrade a response answers the connection; undefined when it is ended instead. */
  released(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse | undefined;
  /** Handlers have finished, or had their time. */
  finished(): Promise<void>;
}

interface UpgradeDeps {
  readonly clock: Clock;
  readonly stopping: AbortSignal;
}

interface Released {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly leave: () => void;
}

/** Never for other protocols and methods, whose bodies the HTTP server would release too. */
export function wantsWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

export function acceptUpgrades(deps: UpgradeDeps): Upgrades {
  const connections = new WeakMap<IncomingMessage, Released>();
  let websockets: WebSocketServer | undefined;
  const running = new Set<Promise<void>>();
  const ending = new AbortController();
  return {
    released(request, socket, head) {
      // The client may be gone; the request's signal ends the socket.
      socket.on('error', () => socket.destroy());
      const taken = responseOn(request, socket);
      if (taken === undefined) {
        socket.end(() => socket.destroy());
        return undefined;
      }
      connections.set(request, { socket, head, leave: taken.leave });
      return taken.response;
    },
    upgrade({ request, response }, handler) {
      const connection = connections.get(request);
      if (connection === undefined) throw new ApiError('UPGRADE_FAILED');
      checkHandshake(request);
      connection.leave();
      websockets ??= createWebSocketServer();
      websockets.handleUpgrade(request, connection.socket, connection.head, (websocket) => {
        // Counters and timers take the request as answered now.
        response.statusCode = 101;
        response.emit('finish');
        const session = new Session(websocket, { ...deps, ending: ending.signal });
        connection.socket.prependListener('data', (part: Uint8Array) => session.received(part.length));
        const handled = handler(session).then(
          () => session.close(),
          () => session.close(CLOSE.tryAgainLater, 'not available'),
        );
        running.add(handled);
        void handled.then(() => running.delete(handled));
      });
    },
    async finished() {
      using _grace = deps.clock.timer(CLOSE_MS, () => ending.abort(new SocketClosedError()));
      await Promise.all(running);
    },
  };
}

/** Loaded with the first WebSocket. */
function createWebSocketServer(): WebSocketServer {
  const library = createRequire(import.meta.url)('ws') as typeof import('ws');
  return new library.WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // It would queue answers that the client does not take.
    autoPong: false,
    maxPayload: MESSAGE_SIZE_MAX,
    handleProtocols: () => false,
  });
}

function checkHandshake({ headers }: IncomingMessage): void {
  if (headers['sec-websocket-version'] !== VERSION) throw new ApiError('UPGRADE_FAILED');
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) throw new ApiError('UPGRADE_FAILED');
}

class Session implements Socket {
  readonly #websocket: WebSocket;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly signal = this.#closing.signal;
  readonly ending: AbortSignal;
  #waiting = 0;
  #atStop: { readonly code?: number; readonly reason?: string } = {};
  /** Bounded by the packet in which they arrive. */
  #arrived: (Uint8Array | string)[] | undefined;
  #wake: (() => void) | undefined;
  #unwanted = 0;
  #unwantedSinceMs: number;

  constructor(websocket: WebSocket, { clock, stopping, ending }: UpgradeDeps & { ending: AbortSignal }) {
    this.#websocket = websocket;
    this.#clock = clock;
    this.#unwantedSinceMs = clock.monotonic();
    this.ending = ending;
    const onStop = () => this.close(this.#atStop.code, this.#atStop.reason);
    stopping.addEventListener('abort', onStop, { once: true });
    websocket.on('error', (error) => this.#closing.abort(error));
    websocket.on('ping', (data) => this.#write((done) => websocket.pong(data, false, done)));
    websocket.once('close', () => {
      stopping.removeEventListener('abort', onStop);
      this.#closing.abort(new SocketClosedError());
    });
    if (stopping.aborted) onStop();
  }

  /** Counts bytes before they are read as frames. */
  received(bytes: number): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#unwantedSinceMs > UNWANTED_MS) {
      this.#unwantedSinceMs = nowMs;
      this.#unwanted = 0;
    }
    this.#unwanted += bytes;
    if (this.#unwanted > UNWANTED_MAX) this.drop();
  }

  send(message: Uint8Array): void {
    this.#write((done) => this.#websocket.send(message, { binary: true }, done));
  }

  sent(message: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#write((done) => this.#websocket.send(message, { binary: true }, done), resolve);
    });
  }

  async read(idleMs: number): Promise<Uint8Array | string | undefined> {
    this.#arrived ??= this.#listen();
    if (this.#arrived.length === 0 && !this.signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      using _limit = this.#clock.timer(idleMs, () => this.drop());
      this.#websocket.resume();
      await promise;
    }
    return this.#arrived.shift();
  }

  ping(): void {
    this.#write((done) => this.#websocket.ping(undefined, undefined, done));
  }

  close(code?: number, reason?: string): void {
    if (this.#websocket.readyState !== this.#websocket.OPEN) return;
    this.#end();
    const limit = this.#clock.timer(CLOSE_MS, () => this.#websocket.terminate());
    this.#websocket.once('close', () => limit[Symbol.dispose]());
    this.#websocket.close(code, reason);
    // The client's close frame must be read.
    this.#websocket.resume();
  }

  drop(): void {
    this.#end();
    this.#websocket.terminate();
  }

  sayAtStop(code: number, reason: string): void {
    this.#atStop = { code, reason };
  }

  #listen(): (Uint8Array | string)[] {
    const arrived: (Uint8Array | string)[] = [];
    this.#websocket.on('message', (data, isBinary) => {
      if (this.signal.aborted) return;
      this.#unwanted = 0;
      arrived.push(isBinary ? bytesOf(data) : bytesOf(data).toString());
      this.#websocket.pause();
      this.#wake?.();
    });
    this.signal.addEventListener('abort', () => this.#wake?.(), { once: true });
    return arrived;
  }

  #end(): void {
    if (this.#arrived !== undefined) this.#arrived.length = 0;
    this.#closing.abort(new SocketClosedError());
  }

  /** @param over written, or never will be. A close frame behind stuck messages would be useless. */
  #write(write: (done: (error?: Error | null) => void) => void, over: () => void = () => undefined): void {
    if (this.signal.aborted) return over();
    if (this.#waiting === WAITING_MAX) {
      this.drop();
      return over();
    }
    this.#waiting++;
    const limit = this.#clock.timer(WRITE_MS, () => this.drop());
    write((error) => {
      this.#waiting--;
      limit[Symbol.dispose]();
      // Messages that the client sent before it left still count.
      if (error instanceof Error) this.#websocket.terminate();
      over();
    });
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

class SocketClosedError extends Error {
  readonly code = 'SOCKET_CLOSED';

  constructor() {
    super('the connection is closed');
    this.name = 'SocketClosedError';
  }
}
