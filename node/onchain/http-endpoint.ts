/**
 * JSON-RPC over HTTP. One request per block is most of an idle node's cost: with `node:http` fifty idle nodes take 2.2 % of
 * a core more, a seventh of their total. Modules are loaded by name, `node:tls` only when needed.
 */
import type { Socket } from 'node:net';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import { type HttpAnswer, HttpAnswerError, HttpAnswerReader } from '../../formats/ethereum/http-answer.ts';
import { shownUrl } from '../../formats/shown-url.ts';
import { Slots } from '../env/turns/slots.ts';
import type { ChainEndpoint } from './rpc.ts';

const TOO_MANY_REQUESTS = 429;
/** Further readers wait. */
const CONNECTIONS_MAX = 8;
/** A page of logs with 10,000 events has about 8 MB. */
const ANSWER_SIZE_MAX = 64 * 1024 * 1024;
/** Idle connections are probed, so that one forgotten by a firewall is closed before a request waits on it. */
const KEEP_ALIVE_MS = 30_000;

/**
 * @param endpoint user and password become basic authorisation
 * @throws TypeError unless http:// or https://
 */
export function httpEndpoint(endpoint: string): ChainEndpoint {
  return new HttpEndpoint(endpointUrl(endpoint));
}

function endpointUrl(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`chain endpoint '${shownUrl(endpoint)}' is not an http:// or https:// URL`);
  }
  return url;
}

class HttpEndpoint implements ChainEndpoint {
  readonly shown: string;
  readonly #url: URL;
  readonly #head: string;
  readonly #slots = new Slots(CONNECTIONS_MAX);
  /** The youngest last. */
  readonly #idle: Socket[] = [];

  constructor(url: URL) {
    this.#url = url;
    this.shown = shownUrl(url.href);
    this.#head = headOf(url);
  }

  /**
   * Repeated once, in case an idle connection was just closed. All methods may arrive twice; a transaction keeps its hash.
   */
  async post(body: string, { signal }: { readonly signal: AbortSignal }): Promise<string> {
    await this.#slots.acquire(signal);
    try {
      signal.throwIfAborted();
      const idle = this.#idle.pop();
      if (idle === undefined) return await this.#attempt(this.#open(), body, signal);
      try {
        return await this.#attempt(idle, body, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ChainError) throw error;
        return await this.#attempt(this.#open(), body, signal);
      }
    } finally {
      this.#slots.release();
    }
  }

  close(): void {
    for (const socket of this.#idle.splice(0)) socket.destroy();
  }

  #open(): Socket {
    const socket = this.#connect();
    const leave = () => {
      const at = this.#idle.indexOf(socket);
      if (at !== -1) this.#idle.splice(at, 1);
      socket.destroy();
    };
    // An idle connection that receives something cannot carry the next answer.
    const stray = () => {
      if (this.#idle.includes(socket)) leave();
    };
    return socket.on('data', stray).on('end', leave).on('close', leave).on('error', leave);
  }

  #connect(): Socket {
    const { protocol, hostname, port } = this.#url;
    const host = hostname.replace(/^\[|\]$/g, '');
    if (protocol === 'https:') {
      const { connect } = process.getBuiltinModule('node:tls');
      // TLS server names exclude addresses.
      const named = process.getBuiltinModule('node:net').isIP(host) === 0 ? { servername: host } : {};
      return connect({ host, port: Number(port || 443), ALPNProtocols: ['http/1.1'], ...named });
    }
    const { connect } = process.getBuiltinModule('node:net');
    return connect({ host, port: Number(port || 80), noDelay: true });
  }

  async #attempt(socket: Socket, body: string, signal: AbortSignal): Promise<string> {
    const answer = await this.#exchange(socket, body, signal).catch((error: unknown) => {
      throw error instanceof HttpAnswerError
        ? new ChainError('RPC_ERROR', error.message, { cause: error })
        : error;
    });
    const text = answer.body.toString('utf8');
    if (answer.status >= 400 && !text.trimStart().startsWith('{')) {
      const busy = answer.status === TOO_MANY_REQUESTS;
      throw new ChainError('RPC_UNREACHABLE', `chain endpoint ${this.shown} answered HTTP ${answer.status}`, {
        busy,
      });
    }
    // Some endpoints send 4xx with an error object.
    return text;
  }

  /** The socket is idle afterwards, or gone. */
  #exchange(socket: Socket, body: string, signal: AbortSignal): Promise<HttpAnswer> {
    const reader = new HttpAnswerReader(ANSWER_SIZE_MAX);
    return new Promise((resolve, reject) => {
      const done = (answer: HttpAnswer) => {
        settle();
        if (answer.reusable && !socket.destroyed) {
          // An idle socket keeps no process alive.
          socket.setKeepAlive(true, KEEP_ALIVE_MS).unref();
          this.#idle.push(socket);
        } else socket.destroy();
        resolve(answer);
      };
      const fail = (error: unknown) => {
        settle();
        socket.destroy();
        reject(error);
      };
      const attempt = (read: () => HttpAnswer | undefined) => {
        try {
          const answer = read();
          if (answer !== undefined) done(answer);
        } catch (error) {
          fail(error);
        }
      };
      const onData = (piece: Buffer) => attempt(() => reader.push(piece));
      const onEnd = () => attempt(() => reader.end());
      const onAbort = () => fail(signal.reason);
      const settle = () => {
        socket.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', fail);
        signal.removeEventListener('abort', onAbort);
      };
      socket.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', fail);
      signal.addEventListener('abort', onAbort, { once: true });
      socket.ref();
      socket.write(`${this.#head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  }
}

function headOf({ host, pathname, search, username, password }: URL): string {
  const lines = [`POST ${pathname}${search} HTTP/1.1`, `host: ${host}`, 'content-type: application/json'];
  if (username !== '' || password !== '') {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    lines.push(`authorization: Basic ${Buffer.from(credentials).toString('base64')}`);
  }
  return `${lines.join('\r\n')}\r\ncontent-length: `;
}
