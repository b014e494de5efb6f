/** Sending messages, and listening to topics and single-owner addresses. */

import { WebSocket } from 'ws';
import type { Clock } from '../../formats/clock.ts';
import { argumentError, DIGITS, expectHex, expectText } from '../base/arguments.ts';
import type { Dialect } from './dialect.ts';
import { ClientError } from './errors.ts';
import { type HttpClient, settled } from './http.ts';

/** Mining for three bytes takes a minute of processor time, and longer on a busy machine. */
const SEND_TIMEOUT_MS = 600_000;
const OPEN_TIMEOUT_MS = 30_000;
/** Of one subscription; further messages are only counted. */
const KEPT_MAX = 100_000;
/** A message has at most 4 KiB; longer ones end the subscription. */
const MESSAGE_MAX = 65_536;
/** Of one subscription. */
const KEPT_BYTES_MAX = 512 * 2 ** 20;

/** Options of a message. */
export interface SendOptions {
  /** Default: the batch of the node. */
  readonly batch?: string;
  /** Public key in hex; default: anyone who knows the topic. */
  readonly recipient?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A message that a node delivered; `atMs`: milliseconds since the epoch. */
export interface ReceivedMessage {
  readonly payload: Uint8Array;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Binary messages are `ArrayBuffer`s. Written out for the published types. */
interface MessageSocket {
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number }) => void): void;
  close(): void;
}

/** An open WebSocket that a node sends messages to. */
export class Subscription implements Disposable {
  /** Oldest first. */
  readonly received: ReceivedMessage[] = [];
  readonly #socket: MessageSocket;
  #closed: number | undefined;
  #bytes = 0;

  constructor(socket: MessageSocket, clock: Pick<Clock, 'now'>) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const payload = new Uint8Array(data as ArrayBuffer);
      this.#bytes += payload.length;
      if (this.received.length < KEPT_MAX && this.#bytes <= KEPT_BYTES_MAX)
        this.received.push({ payload, atMs: clock.now() });
    });
    socket.addEventListener('close', ({ code }) => {
      this.#closed = code;
    });
  }

  /** Code with which the connection was closed; undefined while it is open. */
  get closed(): number | undefined {
    return this.#closed;
  }

  /** The received payloads, as text. */
  get texts(): string[] {
    return this.received.map(({ payload }) => Buffer.from(payload).toString('utf8'));
  }

  close(): void {
    this.#socket.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** `/pss` and `/gsoc/subscribe`. @throws ClientError from every method */
export class MessagesClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #options: { node: string; api: string; defaultBatch?: () => string | undefined };

  constructor(
    http: HttpClient,
    dialect: Dialect,
    options: { node: string; api: string; defaultBatch?: () => string | undefined },
  ) {
    this.#http = http;
    this.#dialect = dialect;
    this.#options = options;
  }

  /** @param targets hex, 1..3 bytes each @throws ClientError */
  async send(
    topic: string,
    targets: readonly string[],
    payload: Uint8Array | string,
    options: SendOptions = {},
  ): Promise<void> {
    const where = 'messages.send';
    expectText(`${where}: topic`, topic);
    expectTargets(`${where}: targets`, targets);
    if (typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
      throw argumentError(`${where}: payload`, payload, 'a Uint8Array or a string');
    }
    if (options.batch !== undefined) expectHex(`${where}: batch`, options.batch, DIGITS.hash);
    if (options.recipient !== undefined)
      expectHex(`${where}: recipient`, options.recipient, DIGITS.publicKey);
    const batch = options.batch ?? this.#options.defaultBatch?.() ?? '';
    const query = options.recipient === undefined ? '' : `?recipient=${options.recipient}`;
    const request = {
      method: 'POST',
      path: `/pss/send/${encodeURIComponent(topic)}/${targets.join(',')}${query}`,
      headers: { [`${this.#dialect.headerPrefix}postage-batch-id`]: batch },
      body: payload,
      timeoutMs: SEND_TIMEOUT_MS,
      signal: options.signal,
    } as const;
    await settled(this.#http.request(request));
  }

  /** Messages of a topic that this node can open. @throws ClientError */
  async listen(topic: string, signal?: AbortSignal): Promise<Subscription> {
    expectText('messages.listen: topic', topic);
    return this.#open(`/pss/subscribe/${encodeURIComponent(topic)}`, signal);
  }

  /** Payloads of the single-owner chunks of that address. @param address hex @throws ClientError */
  async listenTo(address: string, signal?: AbortSignal): Promise<Subscription> {
    expectHex('messages.listenTo: address', address, DIGITS.hash);
    return this.#open(`/gsoc/subscribe/${address}`, signal);
  }

  async #open(path: string, signal?: AbortSignal): Promise<Subscription> {
    const headers = { ...this.#http.authorization() };
    const socket = new WebSocket(this.#options.api.replace(/^http/, 'ws') + path, {
      headers,
      agent: this.#http.agent,
      maxPayload: MESSAGE_MAX,
    });
    const { promise, resolve, reject } = Promise.withResolvers<Subscription>();
    socket.binaryType = 'arraybuffer';
    // The open socket does not keep a program alive: a program that waits polls.
    socket.once('upgrade', ({ socket: connection }) => void connection.unref());
    const subscription = new Subscription(socket, this.#http.clock);
    using deadline = this.#http.clock.deadline(OPEN_TIMEOUT_MS, signal);
    const ending = deadline.signal;
    const fail = (reason: string, kind: 'client.connect' | 'client.aborted') => {
      socket.close();
      const about = { class: kind, node: this.#options.node, method: 'GET', path };
      reject(new ClientError(reason, about));
    };
    const onAbort = () => fail('no WebSocket in time', 'client.aborted');
    const onError = () => fail('no WebSocket', 'client.connect');
    ending.addEventListener('abort', onAbort, { once: true });
    // It may fail later: `closed` says so.
    socket.addEventListener('error', onError);
    socket.addEventListener('open', () => resolve(subscription), { once: true });
    if (ending.aborted) onAbort();
    try {
      return await promise;
    } finally {
      ending.removeEventListener('abort', onAbort);
    }
  }
}

/** Whole bytes, no more than a node mines for. */
const TARGET_DIGITS = [2, 4, 6];

function expectTargets(where: string, targets: unknown): void {
  if (!Array.isArray(targets) || targets.length === 0) {
    throw argumentError(where, targets, 'an array of hex prefixes of overlays');
  }
  for (const target of targets) expectHex(where, target, TARGET_DIGITS);
}
