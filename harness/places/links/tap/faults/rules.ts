/** What is done to which messages is drawn from the seed, the same for the same messages. */

import type { MessageTable } from '../../../../../node/p2p/codec/message.ts';
import { uniform } from '../../line.ts';
import { covers, Register } from '../../rules.ts';
import { messagesOf, protocolNamed } from '../protocols.ts';
import { encodedAnswer, expectAnswerable } from './answer.ts';
import { corrupted, hasField } from './corrupt.ts';
import {
  MESSAGE_COUNTERS,
  MESSAGES_MET,
  type MessageAnswer,
  type MessageCounter,
  type MessageRule,
} from './rule.ts';
import { selectorOf, type Told } from './where.ts';

export interface Passing extends Told {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly message: string;
  /** Undefined: an answer, or its beginning is not known. */
  readonly again: Again | undefined;
  readonly awaited: MessageTable | undefined;
  readonly bytes: Uint8Array;
}

interface Again {
  isPossible(): boolean;
  later(afterMs: number, onSaid: () => void): void;
}

export interface Verdict {
  bytes: Uint8Array;
  drop: 'hang' | 'reset' | undefined;
  delayMs: number;
  copies: number;
  /** It waits for the next one, which this one then counts. */
  swaps: ActiveMessageRule | undefined;
  cut: { readonly afterMs: number; readonly onCut: () => void } | undefined;
  answer: Uint8Array | undefined;
  readonly done: string[];
}

export class ActiveMessageRule {
  readonly rule: MessageRule;
  readonly counts = Object.fromEntries(MESSAGE_COUNTERS.map((name) => [name, 0])) as Record<
    MessageCounter,
    number
  >;
  readonly #text: string;
  readonly #selects: (told: Told) => boolean;
  readonly #numbers = new Map<string, number>();
  #hits = 0;
  /** Undefined: the answer does not fit that version of the protocol. */
  readonly #answers = new Map<MessageTable, Uint8Array | undefined>();

  constructor(rule: MessageRule) {
    this.rule = rule;
    this.#text = JSON.stringify(rule);
    const { where, protocol, message } = rule;
    this.#selects = where === undefined ? () => true : selectorOf(where, protocol, message);
  }

  meets(from: string, to: string): boolean {
    const { between, oneWay } = this.rule;
    const [one, other] = between;
    return (covers(one, from) && covers(other, to)) || (!oneWay && covers(one, to) && covers(other, from));
  }

  /** @returns draws for what is done to it; undefined: it is spared */
  meant(passing: Passing): (() => number) | undefined {
    const { from, to, protocol, message, table, bytes, again, awaited } = passing;
    const { rule } = this;
    if (protocol !== rule.protocol || (rule.message ?? message) !== message || !this.meets(from, to)) {
      return undefined;
    }
    const { corrupt, replayMs, answer } = rule.actions;
    if (answer !== undefined && this.#answerIn(awaited) === undefined) return undefined;
    if (corrupt !== undefined && !hasField(bytes, table, corrupt)) return undefined;
    if (!this.#selects(passing)) return undefined;
    if (replayMs !== undefined && again?.isPossible() !== true) return undefined;
    const way = `${from} ${to} ${message}`;
    const number = (this.#numbers.get(way) ?? 0) + 1;
    this.#numbers.set(way, number);
    const met = ++this.counts[MESSAGES_MET];
    if (met % (rule.every ?? 1) !== 0 || this.#hits >= (rule.first ?? Infinity)) return undefined;
    const random = uniform(`${this.#text} ${way} ${number}`);
    if (random() >= rule.share) return undefined;
    this.#hits++;
    return random;
  }

  apply(verdict: Verdict, { table, again, awaited }: Passing, random: () => number): void {
    const { drop, delayMs, duplicate, reorder, replayMs, cutMs, corrupt, answer } = this.rule.actions;
    const count = (what: 'dropped' | 'delayed' | 'duplicated' | 'corrupted' | 'answered') => {
      this.counts[`messages ${what}`]++;
      verdict.done.push(what);
    };
    if (corrupt !== undefined) {
      verdict.bytes = corrupted(verdict.bytes, table, { field: corrupt, random });
      count('corrupted');
    }
    if (delayMs !== undefined) {
      const [shortest, longest] = delayMs;
      verdict.delayMs += shortest + random() * (longest - shortest);
      count('delayed');
    }
    if (duplicate === true) {
      verdict.copies++;
      count('duplicated');
    }
    if (reorder === true) {
      verdict.swaps = this;
      verdict.done.push('kept for the next one');
    }
    if (replayMs !== undefined) {
      again?.later(replayMs, () => void this.counts['messages replayed']++);
      verdict.done.push('kept for a replay');
    }
    if (cutMs !== undefined) {
      verdict.cut = { afterMs: cutMs, onCut: () => void this.counts['streams cut']++ };
      verdict.done.push('the last before a cut');
    }
    if (drop !== undefined) {
      verdict.drop = drop;
      count('dropped');
    }
    if (answer !== undefined) {
      verdict.answer = this.#answerIn(awaited);
      count('answered');
    }
  }

  #answerIn(table: MessageTable | undefined): Uint8Array | undefined {
    const { answer } = this.rule.actions;
    if (table === undefined || answer === undefined) return undefined;
    if (!this.#answers.has(table)) this.#answers.set(table, fitting(answer, table));
    return this.#answers.get(table);
  }
}

export class MessageRules extends Register<MessageRule, ActiveMessageRule> {
  constructor() {
    super((rule) => new ActiveMessageRule(rule));
  }

  concern(one: string, other: string): boolean {
    if (this.isEmpty) return false;
    return this.active.some((rule) => rule.meets(one, other) || rule.meets(other, one));
  }

  get replay(): boolean {
    return this.active.some(({ rule }) => rule.actions.replayMs !== undefined);
  }

  judged(message: Passing): Verdict | undefined {
    let verdict: Verdict | undefined;
    for (const rule of this.active) {
      const random = rule.meant(message);
      if (random === undefined) continue;
      verdict ??= {
        bytes: message.bytes,
        drop: undefined,
        delayMs: 0,
        copies: 0,
        swaps: undefined,
        cut: undefined,
        answer: undefined,
        done: [],
      };
      rule.apply(verdict, message, random);
    }
    return verdict;
  }
}

function fitting(answer: MessageAnswer, table: MessageTable): Uint8Array | undefined {
  try {
    return encodedAnswer(answer, table);
  } catch {
    return undefined;
  }
}

/** @throws RangeError naming what is known, for a rule that no message can ever match */
export function expectKnown(rule: MessageRule): void {
  const { between, share, protocol, message, where, actions } = rule;
  const { corrupt, replayMs, answer } = actions;
  if (!Array.isArray(between) || between.length !== 2 || !between.every(Array.isArray) || !(share >= 0)) {
    throw new RangeError('expected two lists of nodes, and a share of the messages');
  }
  const meant = messagesOf(protocol, message);
  if (where !== undefined) selectorOf(where, protocol, message);
  if (answer !== undefined) expectAnswerable(protocol, message, answer);
  const opening = protocolNamed(protocol)?.opener ?? [];
  if (replayMs !== undefined && !meant.some((row) => opening.includes(row))) {
    const names = opening.map(({ name }) => name).join(', ') || 'none';
    throw new RangeError(
      `${protocol} ${message ?? 'messages'} cannot be replayed: an answer has no stream of its own (messages that have: ${names})`,
    );
  }
  if (corrupt === undefined || meant.some(({ table }) => Object.hasOwn(table, corrupt))) return;
  const fields = meant.flatMap(({ table }) => Object.keys(table));
  const of = message === undefined ? protocol : `${protocol} ${message}`;
  throw new RangeError(`no field '${corrupt}' of ${of} (known: ${[...new Set(fields)].join(', ')})`);
}
