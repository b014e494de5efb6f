/** Recorded answers of a node, replayed to the same rows: unchanged, or with one claim broken. */
import {
  differences,
  type Expectation,
  type ReasonForm,
} from '../../../../harness/conformance/http/expectation.ts';
import type {
  Conversation,
  HttpAnswer,
  HttpRequest,
  Transcript,
} from '../../../../harness/conformance/http/messages.ts';
import type { Transport } from '../../../../harness/conformance/http/transport.ts';
import { Mismatch } from '../../../../harness/conformance/row.ts';
import { mutationsOf } from './mutations.ts';

type Kept =
  | { readonly answer: HttpAnswer; readonly expected: Expectation }
  | { readonly transcript: Transcript };

/** Without what rows ask to set something up. */
export class KeepingTransport implements Transport {
  kept: Kept[] = [];
  #replayed: Kept[] | undefined;
  readonly #inner: Transport;

  readonly #form: ReasonForm;

  constructor(inner: Transport, form: ReasonForm) {
    this.#inner = inner;
    this.#form = form;
  }

  async send(
    request: HttpRequest,
    signal: AbortSignal,
    expected: Expectation | undefined,
  ): Promise<HttpAnswer> {
    if (expected === undefined) return this.#inner.send(request, signal, expected);
    const next = this.#next('answer');
    if (next !== undefined) return next.answer;
    const answer = await this.#inner.send(request, signal, expected);
    // Until an answer is as expected, it shows nothing.
    if (differences(answer, expected, this.#form).length === 0) this.kept.push({ answer, expected });
    return answer;
  }

  async converse(conversation: Conversation, signal: AbortSignal): Promise<Transcript> {
    if (this.#replayed !== undefined) {
      await conversation.during?.();
      const { transcript } = this.#next('transcript') as { transcript: Transcript };
      return transcript;
    }
    const transcript = await this.#inner.converse(conversation, signal);
    this.kept.push({ transcript });
    return transcript;
  }

  replay(kept: Kept[]): void {
    this.#replayed = kept;
  }

  #next<K extends 'answer' | 'transcript'>(kind: K): Extract<Kept, Record<K, unknown>> | undefined {
    if (this.#replayed === undefined) return undefined;
    // A message may come before the answer that led to it.
    const at = this.#replayed.findIndex((one) => kind in one);
    const [next] = at === -1 ? [] : this.#replayed.splice(at, 1);
    if (next === undefined) throw new Mismatch('the node says nothing more');
    return next as Extract<Kept, Record<K, unknown>>;
  }
}

/** In each list one claim about one answer does not hold. */
export function* brokenCopies(kept: readonly Kept[]): Generator<{ about: string; kept: Kept[] }> {
  for (const [i, one] of kept.entries()) {
    for (const { about, changed } of 'answer' in one ? brokenAnswers(one) : brokenTranscripts(one))
      yield { about: `answer ${i + 1}: ${about}`, kept: kept.with(i, changed) };
  }
}

function* brokenAnswers(
  one: Extract<Kept, { answer: unknown }>,
): Generator<{ about: string; changed: Kept }> {
  for (const { about, answer } of mutationsOf(one.answer, one.expected))
    yield { about, changed: { ...one, answer } };
}

function* brokenTranscripts({
  transcript,
}: Extract<Kept, { transcript: unknown }>): Generator<{ about: string; changed: Kept }> {
  const { received, closed, refused } = transcript;
  const wrong = (about: string, change: Partial<Transcript>) => ({
    about,
    changed: { transcript: { ...transcript, ...change } },
  });
  if (refused !== undefined) yield wrong('another status', { refused: { ...refused, status: 299 } });
  if (closed !== undefined) yield wrong('another code', { closed: 4999 });
  if (received.length > 0) {
    yield wrong('another message', { received: [Uint8Array.of(7, 7), ...received.slice(1)] });
    yield wrong('one message less', { received: received.slice(1) });
  }
}
