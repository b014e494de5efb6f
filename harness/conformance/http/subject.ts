import { createCipheriv, createHash } from 'node:crypto';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Clock } from '../../../formats/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { classOfFailure } from '../../client/errors.ts';
import { parseJson } from '../../client/json.ts';
import { Mismatch, NotApplicable, type RowRun } from '../row.ts';
import { answerText, conversationText, requestText, transcriptText } from './exchange-texts.ts';
import { differences, type Expectation, memberAt } from './expectation.ts';
import type { Conversation, HttpAnswer, HttpRequest, Place, Transcript } from './messages.ts';
import type { Names } from './names.ts';
import { routeAt } from './routes.ts';
import type { Transport } from './transport.ts';

const CLEANUP_MS = 5000;

interface Cleanup {
  /** Such as `tag 7`. */
  readonly what: string;
  readonly remove: () => Promise<unknown>;
}

type Memo = Map<string, Promise<unknown>>;

/** New bytes, equal by name in a run. */
export interface Fresh {
  readonly fresh: string;
  readonly length: number;
  readonly from?: number;
  readonly to?: number;
  readonly span?: true;
}

/** `Prerequisites` replace `{name}` in a path or header. */
export interface Ask extends Omit<HttpRequest, 'body'> {
  readonly body?: Fresh | Uint8Array | string;
}

export interface Expected extends Omit<Expectation, 'bytes'> {
  readonly bytes?: Fresh | Uint8Array;
}

/** First word of a `{name}` → its text. @param rest the other words */
export type Prerequisites = Readonly<Record<string, (session: RowSession, rest: string) => Promise<string>>>;

export interface SubjectParts {
  readonly clock: Clock;
  readonly prerequisites: Prerequisites;
  readonly names: Names;
  readonly transport: Transport;
  readonly places: ReadonlySet<Place>;
  /** Of the main interface. */
  readonly origin: string;
  /** Given, or the largest usable one. */
  readonly batch: string | undefined;
  /** Between polls, milliseconds. */
  readonly pollMs: number;
  /** Differs per run, so nothing old is found. */
  readonly seed: string;
}

export interface HttpSubject extends SubjectParts {
  /** Made on demand. */
  readonly memo: Memo;
  /** Undone at the end, last to first. */
  readonly cleanups: Cleanup[];
}

export interface Answered extends HttpAnswer {
  /** `a.b` or `list.0.name`; undefined: none. */
  readonly member: (path: string) => unknown;
  /** For text members. */
  readonly text: (path: string) => string;
}

export class RowSession {
  readonly names: Names;
  readonly subject: HttpSubject;
  readonly #run: RowRun;
  readonly #isSetup: boolean;
  readonly given = new Map<string, Promise<string>>();

  constructor(subject: HttpSubject, run: RowRun, isSetup = false) {
    this.subject = subject;
    this.names = subject.names;
    this.#run = run;
    this.#isSetup = isSetup;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  /** @throws the signal's reason */
  pause(ms: number): Promise<void> {
    return this.subject.clock.sleep(ms, this.signal);
  }

  /** @throws NotApplicable without it */
  needs(place: Place): void {
    const flag = place === 'debug' ? '--debug-target' : '--second';
    if (!this.subject.places.has(place)) throw new NotApplicable(`needs ${flag}`);
  }

  async enabled(probe: string | undefined): Promise<void> {
    if (probe === undefined) return;
    const off = await this.once(`enabled ${probe}`, async (setup) => {
      const { status, body } = await setup.ask({ path: probe }, { status: [200, 400, 403, 500, 503] });
      const isOff = status === 403 || (status === 400 && Buffer.from(body).includes('full mode'));
      return isOff ? Buffer.from(body).toString('utf8') : undefined;
    });
    const [, message = off] = /"message":"([^"]*)"/.exec(off ?? '') ?? [];
    if (off !== undefined) throw new NotApplicable(`the node is configured without: ${message}`);
  }

  /** Header names and paths are those of `svc`. @throws Mismatch */
  async ask(ask: Ask, expect: Expected): Promise<Answered> {
    const request = await this.#request(ask);
    const { answer, wrong } = await this.#attempt(request, await this.#expectation(expect));
    if (wrong.length > 0) throw new Mismatch(`${requestLine(request)}: ${wrong.join('; ')}`);
    return answered(answer);
  }

  /** Asks until the answer fits or time is up. @throws Mismatch */
  async until(ask: Ask, expect: Expected): Promise<Answered> {
    const request = await this.#request(ask);
    const expected = await this.#expectation(expect);
    let last = '';
    for (;;) {
      try {
        const { answer, wrong } = await this.#attempt(request, expected);
        if (wrong.length === 0) return answered(answer);
        last = wrong.join('; ');
        await this.pause(this.subject.pollMs);
      } catch (error) {
        if (this.signal.aborted && last !== '') throw new Mismatch(`${requestLine(request)}: still ${last}`);
        throw error;
      }
    }
  }

  /** @throws Mismatch */
  async converse(
    conversation: Conversation,
    check: (transcript: Transcript) => string | undefined,
  ): Promise<Transcript> {
    const named = { ...conversation, ...this.#named(await this.#filled(conversation)) };
    const transcript = await this.subject.transport.converse(named, this.signal);
    const asks = [routeAt(this.names, 'GET', named.path)];
    this.#run.record({ sent: conversationText(named), received: transcriptText(transcript), asks });
    const wrong = check(transcript);
    if (wrong !== undefined) throw new Mismatch(`WebSocket ${conversation.path}: ${wrong}`);
    return transcript;
  }

  /** Shared by rows. @throws what the first attempt threw */
  once<T>(key: string, make: (session: RowSession) => Promise<T>): Promise<T> {
    const { memo } = this.subject;
    const known = memo.get(key) ?? make(new RowSession(this.subject, this.#run, true));
    memo.set(key, known);
    return known as Promise<T>;
  }

  content(name: string, length: number): Uint8Array {
    const key = createHash('sha256').update(`${this.subject.seed} ${name}`).digest();
    const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
    return new Uint8Array(stream.update(Buffer.alloc(length)));
  }

  bytes({ fresh, length, from = 0, to = length, span }: Fresh): Uint8Array {
    const content = this.content(fresh, length).subarray(from, to);
    return span === true ? makeCac(BigInt(length), content).data : content;
  }

  hex(name: string, length = 32): string {
    return Buffer.from(this.content(name, length)).toString('hex');
  }

  /** Removes it at the run's end, when the row's signal has ended. */
  later(what: string, request: HttpRequest): void {
    const named = { ...request, ...this.#named(request) };
    const remove = async () => {
      using limit = this.subject.clock.deadline(CLEANUP_MS);
      const { status } = await this.subject.transport.send(named, limit.signal, undefined);
      if (status >= 300 && status !== 404) throw new Error(`status ${status}`);
    };
    this.subject.cleanups.push({ what, remove });
  }

  /** Removes it at the run's end. */
  forgetTag(uid: string | undefined): void {
    const what = `tag ${uid}`;
    if (uid === undefined || this.subject.cleanups.some((known) => known.what === what)) return;
    this.later(what, { method: 'DELETE', path: `/tags/${uid}` });
  }

  /** Cannot be removed: named at the end. */
  stays(what: string, why: string): void {
    this.subject.cleanups.push({ what, remove: () => Promise.reject(new Error(why)) });
  }

  async #request({ body, ...ask }: Ask): Promise<HttpRequest> {
    const request = { ...ask, ...(await this.#filled(ask)) };
    return body === undefined ? request : { ...request, body: this.#bytes(body) };
  }

  async #expectation({ bytes, values, headers, ...expect }: Expected): Promise<Expectation> {
    return {
      ...expect,
      bytes: bytes && this.#bytes(bytes),
      values: values && (await this.#texts(values)),
      headers: headers && this.#headers(await this.#texts(headers)),
    };
  }

  #bytes<T>(of: Fresh | T): Uint8Array | T {
    return isFresh(of) ? this.bytes(of) : of;
  }

  async #filled({ path, headers = {} }: Pick<HttpRequest, 'path' | 'headers'>) {
    return { path: await this.text(path), headers: await this.#texts(headers) };
  }

  /** Other values remain. */
  async #texts<V>(all: Readonly<Record<string, V>>): Promise<Record<string, V>> {
    const texts: Record<string, V> = {};
    for (const [name, value] of Object.entries(all))
      texts[name] = typeof value === 'string' ? ((await this.text(value)) as V) : value;
    return texts;
  }

  /** Fills in `{name}`s. */
  async text(text: string): Promise<string> {
    let filled = text;
    for (const [whole, name = ''] of text.matchAll(/\{([^{}]+)\}/g))
      filled = filled.replace(whole, await this.#given(name));
    return filled;
  }

  #given(name: string): Promise<string> {
    const [first = '', ...rest] = name.split(' ');
    const find = this.subject.prerequisites[first];
    const known = this.given.get(name) ?? find?.(this, rest.join(' '));
    if (known === undefined) throw new Error(`a row names {${name}}, which nothing provides`);
    this.given.set(name, known);
    return known;
  }

  async #attempt(
    request: HttpRequest,
    wanted: Expectation,
  ): Promise<{ answer: HttpAnswer; wrong: string[] }> {
    const named = { ...request, ...this.#named(request) };
    const checked = this.#isSetup ? undefined : wanted;
    const answer = await this.#sent(named, checked);
    const asks = [routeAt(this.names, named.method ?? 'GET', named.path)];
    this.#run.record({ sent: requestText(named), received: answerText(answer), asks });
    if (answer.status === 201) this.forgetTag(answer.headers[this.names.header('svc-tag')]);
    return { answer, wrong: differences(answer, wanted, this.names.either('text', 'object')) };
  }

  async #sent(request: HttpRequest, checked: Expectation | undefined): Promise<HttpAnswer> {
    try {
      return await this.subject.transport.send(request, this.signal, checked);
    } catch (error) {
      const kind = classOfFailure(error, false);
      if (kind === 'client.timeout' || kind === 'client.aborted' || error instanceof Mismatch) throw error;
      const asks = [routeAt(this.names, request.method ?? 'GET', request.path)];
      this.#run.record({ sent: requestText(request), received: `no answer: ${messageOf(error)}`, asks });
      throw new Mismatch(`${requestLine(request)}: no answer: ${messageOf(error)}`);
    }
  }

  #named({ path, headers = {} }: Pick<HttpRequest, 'path' | 'headers'>): {
    path: string;
    headers: Record<string, string>;
  } {
    return { path: this.names.path(path), headers: this.#headers(headers) };
  }

  #headers<V>(headers: Readonly<Record<string, V>>): Record<string, V> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [this.names.header(name), value]),
    );
  }
}

function answered(answer: HttpAnswer): Answered {
  const member = (path: string) => memberAt(parseJson(Buffer.from(answer.body).toString('utf8')), path);
  return { ...answer, member, text: (path) => String(member(path)) };
}

function isFresh(value: unknown): value is Fresh {
  return typeof value === 'object' && value !== null && 'fresh' in value;
}

function requestLine({ method = 'GET', path }: HttpRequest): string {
  return `${method} ${path}`;
}
