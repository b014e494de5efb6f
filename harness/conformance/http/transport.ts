/** Raw HTTP: every status is an answer, paths are sent as written. */
import type { IncomingMessage } from 'node:http';
import { Pool } from 'undici';
import { WebSocket } from 'ws';
import { socketAgent } from '../../base/direct.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { readLimited } from '../../base/read-limited.ts';
import type { Expectation } from './expectation.ts';
import type { Conversation, HttpAnswer, HttpRequest, Place, Transcript } from './messages.ts';

const ANSWER_MAX = 64 * 2 ** 20;
const MESSAGE_MAX = 2 ** 20;
const MESSAGES_MAX = 1_000;

export interface Transport {
  /** @param expected for transports that change answers; undefined: unchecked */
  send(request: HttpRequest, signal: AbortSignal, expected: Expectation | undefined): Promise<HttpAnswer>;
  converse(conversation: Conversation, signal: AbortSignal): Promise<Transcript>;
}

export class NodeTransport implements Transport {
  readonly #pools: Readonly<Partial<Record<Place, Pool>>>;
  readonly #urls: Readonly<Partial<Record<Place, string>>>;
  readonly #authorization: Readonly<Record<string, string>>;

  constructor(urls: Partial<Record<Place, string>>, token: string | undefined) {
    this.#urls = urls;
    this.#authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#pools = Object.fromEntries(
      Object.entries(urls).map(([place, url]) => [
        place,
        new Pool(url, { connections: 4, headersTimeout: 0, bodyTimeout: 0 }),
      ]),
    );
  }

  has(place: Place): boolean {
    return this.#urls[place] !== undefined;
  }

  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { place = 'main', method = 'GET', path, headers = {}, body } = request;
    const pool = this.#pools[place];
    if (pool === undefined) throw new HarnessError('USAGE', `no URL of ${place}`);
    const answer = await pool.request({
      method,
      path,
      headers: { ...this.#authorization, ...headers },
      signal,
      // Otherwise an answer to HEAD ends the connection.
      reset: false,
      body: body ?? null,
    });
    const received: Record<string, string> = {};
    for (const [name, value] of Object.entries(answer.headers))
      received[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
    return { status: answer.statusCode, headers: received, body: await readLimited(answer.body, ANSWER_MAX) };
  }

  async converse(conversation: Conversation, signal: AbortSignal): Promise<Transcript> {
    const { place = 'main', path, headers = {}, messages = [], during, expected } = conversation;
    const url = `${this.#urls[place]?.replace(/^http/, 'ws')}${path}`;
    const socket = new WebSocket(url, {
      headers: { ...this.#authorization, ...headers },
      agent: socketAgent(url, {}),
      maxPayload: MESSAGE_MAX,
    });
    const received: Uint8Array[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<Transcript>();
    let doing: Promise<unknown> | undefined;
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const refuse = async (response: IncomingMessage) => {
      try {
        const body = await readLimited(response, ANSWER_MAX);
        const lines = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
        const headers = Object.fromEntries(lines) as Record<string, string>;
        resolve({ refused: { status: response.statusCode ?? 0, headers, body }, received });
      } catch (error) {
        reject(error);
      }
    };
    socket.on('unexpected-response', (_request, response) => void refuse(response));
    socket.on('message', (data: Buffer) => {
      received.push(new Uint8Array(data));
      if (received.length > MESSAGES_MAX) reject(new Error(`more than ${MESSAGES_MAX} messages came`));
      if (expected > 0 && received.length === expected) resolve({ received });
    });
    socket.on('close', (closed, reason) => resolve({ received, closed, closedReason: reason.toString() }));
    socket.on('error', (error) => reject(new Error(`the socket failed: ${messageOf(error)}`)));
    socket.on('open', () => {
      for (const message of messages) socket.send(message);
      doing = during?.();
      doing?.catch(reject);
    });
    try {
      const transcript = await promise;
      // A message may precede its request's answer.
      await doing;
      return transcript;
    } finally {
      signal.removeEventListener('abort', onAbort);
      socket.removeAllListeners();
      // Terminated from outside, it may still report that.
      socket.on('error', () => undefined);
      socket.terminate();
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.destroy()));
  }
}
