/**
 * WebSockets, `http-api-completion.md` 6. A request for one takes the way of every request, up to an answer whose
 * `socket` says what to do on the connection; only then is the handshake looked at.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../env/clock.ts';
import { responseOn } from '../env/upgrade.ts';
import type { Cors } from './cors.ts';
import { ApiError } from './errors.ts';
import type { Exchange } from './exchange.ts';

/** Time for a message to be taken by the client's connection, milliseconds. */
const WRITE_MS = 4000;
/** Messages that wait for that, of one connection. */
const WAITING_MAX = 256;
/** Time for the client to answer a close frame, milliseconds: the API does not wait longer when it stops. */
const CLOSE_MS = 1000;
/** Longest message read, bytes: more than a chunk with its stamp. */
const MESSAGE_SIZE_MAX = 8192;
/** What `Sec-WebSocket-Version` must be. */
const VERSION = '13';
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
/** Close codes: RFC 6455, 7.4.1; 1005 is what the other side sees of a close frame without a code. */
const TRY_AGAIN_LATER = 1013;

/** What every failed handshake is answered with. */
export const HANDSHAKE_HEADERS = { 'sec-websocket-version': VERSION } as const;

/** An open connection of whole messages. */
export interface Socket {
  /** Aborts when the connection is closing, for whatever reason. */
  readonly signal: AbortSignal;
  /** Binary. Never waits: a client that takes too little too slowly is disconnected. */
  send(message: Uint8Array): void;
  ping(): void;
  /** @param code none: a close frame without one */
  close(code?: number, reason?: string): void;
}

/** What is done on the connection until it ends; its rejection closes it. */
export type SocketHandler = (socket: Socket) => Promise<void>;

/** WebSockets of one listener. */
export interface Upgrades {
  /**
   * Makes the request's connection a WebSocket and leaves it to the handler.
   * @throws ApiError `UPGRADE_FAILED`, `ORIGIN_REFUSED` when the handshake is none
   */
  upgrade(exchange: Exchange, handler: SocketHandler): void;
  /** Remembers the connection of a request for a WebSocket. @returns what answers it until then */
  released(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse;
}

interface UpgradeDeps {
  readonly clock: Clock;
  readonly cors: Pick<Cors, 'accepts'>;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

/** A connection that the HTTP server has let go of. */
interface Released {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly leave: () => void;
}

/** Whether the HTTP server lets go of the connection. To no other protocol: such a request is answered as it is. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Makes WebSockets of the requests of one listener. */
export function acceptUpgrades(deps: UpgradeDeps): Upgrades {
  const connections = new WeakMap<IncomingMessage, Released>();
  let websockets: WebSocketServer | undefined;
  return {
    released(request, socket, head) {
      // The client may be gone already; its request then ends by its signal.
      socket.on('error', () => socket.destroy());
      const { response, leave } = responseOn(request, socket);
      connections.set(request, { socket, head, leave });
      return response;
    },
    upgrade({ request, response }, handler) {
      const connection = connections.get(request);
      if (connection === undefined) throw new ApiError('UPGRADE_FAILED');
      checkHandshake(request, deps.cors);
      connection.leave();
      websockets ??= createWebSocketServer();
      websockets.handleUpgrade(request, connection.socket, connection.head, (websocket) => {
        // Whoever counts and times requests takes this one for answered.
        response.statusCode = 101;
        response.emit('finish');
        const session = new Session(websocket, deps);
        handler(session).then(
          () => session.close(),
          () => session.close(TRY_AGAIN_LATER, 'not available'),
        );
      });
    },
  };
}

/** The library is loaded with the first WebSocket: most nodes never have one. */
function createWebSocketServer(): WebSocketServer {
  const library = createRequire(import.meta.url)('ws') as typeof import('ws');
  return new library.WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MESSAGE_SIZE_MAX,
    handleProtocols: () => false,
  });
}

function checkHandshake({ headers }: IncomingMessage, cors: UpgradeDeps['cors']): void {
  if (headers['sec-websocket-version'] !== VERSION) throw new ApiError('UPGRADE_FAILED');
  const { origin, host } = headers;
  if (origin !== undefined && !cors.accepts(origin, host)) throw new ApiError('ORIGIN_REFUSED');
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) throw new ApiError('UPGRADE_FAILED');
}

class Session implements Socket {
  readonly #websocket: WebSocket;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly signal = this.#closing.signal;
  #waiting = 0;

  constructor(websocket: WebSocket, { clock, stopping }: UpgradeDeps) {
    this.#websocket = websocket;
    this.#clock = clock;
    const onStop = () => this.close();
    stopping.addEventListener('abort', onStop, { once: true });
    websocket.on('error', (error) => this.#closing.abort(error));
    websocket.once('close', () => {
      stopping.removeEventListener('abort', onStop);
      this.#closing.abort(new SocketClosedError());
    });
    if (stopping.aborted) onStop();
  }

  send(message: Uint8Array): void {
    this.#write((done) => this.#websocket.send(message, { binary: true }, done));
  }

  ping(): void {
    this.#write((done) => this.#websocket.ping(undefined, undefined, done));
  }

  close(code?: number, reason?: string): void {
    if (this.#websocket.readyState !== this.#websocket.OPEN) return;
    this.#closing.abort(new SocketClosedError());
    const limit = this.#clock.timer(CLOSE_MS, () => this.#websocket.terminate());
    this.#websocket.once('close', () => limit[Symbol.dispose]());
    this.#websocket.close(code, reason);
  }

  #write(write: (done: (error?: Error | null) => void) => void): void {
    if (this.signal.aborted) return;
    if (this.#waiting === WAITING_MAX) return this.#drop();
    this.#waiting++;
    const limit = this.#clock.timer(WRITE_MS, () => this.#drop());
    write((error) => {
      this.#waiting--;
      limit[Symbol.dispose]();
      if (error instanceof Error) this.#drop();
    });
  }

  /** There is no use in a close frame behind what the client does not take. */
  #drop(): void {
    this.#closing.abort(new SocketClosedError());
    this.#websocket.terminate();
  }
}

/** Reason of a socket's signal. */
class SocketClosedError extends Error {
  readonly code = 'SOCKET_CLOSED';

  constructor() {
    super('the connection is closed');
    this.name = 'SocketClosedError';
  }
}
