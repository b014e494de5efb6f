/**
 * What nodes without chunk events would report, told from their messages: who pushed a chunk to whom and with which answer,
 * who requested it, who pulled it. Uploads and evictions cannot be heard.
 */
import type { ChunkEvent, ChunkEventKind, Facts } from '../../../node/env/chunk-events.ts';
import { faultsOf, type TapEvent } from '../../places/links/tap/events.ts';
import type { Testimony } from './route.ts';

interface Words {
  readonly begins: ChunkEventKind;
  readonly tries: ChunkEventKind;
  readonly succeeds: ChunkEventKind;
  readonly fails: ChunkEventKind;
  readonly arrives: ChunkEventKind;
  /** By itself, with another's help, or not at all. */
  readonly answers: ChunkEventKind;
  readonly passes: ChunkEventKind;
  readonly refuses: ChunkEventKind;
  readonly done: ChunkEventKind;
}

const PUSH: Words = {
  begins: 'pushing',
  tries: 'push',
  succeeds: 'push-accepted',
  fails: 'push-failed',
  arrives: 'received',
  answers: 'signed',
  passes: 'forwarded',
  refuses: 'refused',
  done: 'synced',
};
const REQUEST: Words = {
  begins: 'requested',
  tries: 'ask',
  succeeds: 'ask-delivered',
  fails: 'ask-failed',
  arrives: 'requested',
  answers: 'delivered',
  passes: 'delivered',
  refuses: 'not-delivered',
  done: 'delivered',
};

interface Work {
  readonly seq: number;
  readonly own: boolean;
  attempts: number;
  isOpen: boolean;
  storer?: string;
}

interface Talk {
  readonly words: Words;
  readonly address: string;
  readonly cause: Work;
  readonly attempt: number;
  /** The other end; absent: the message has not arrived. */
  readonly work: Work | undefined;
  readonly opener: string;
  readonly acceptor: string;
}

/** @param nodes names and overlays of all nodes @param wanted 64 hex digits; undefined: all */
export async function overheard(
  events: AsyncIterable<TapEvent>,
  nodes: readonly { readonly name: string; readonly overlay: string }[],
  wanted: string | undefined,
): Promise<Testimony[]> {
  const listener = new Listener(new Map(nodes.map(({ name, overlay }) => [name, overlay])), wanted);
  for await (const event of events) listener.hear(event);
  return nodes.map(({ name, overlay }) => ({ node: name, overlay, events: listener.of(name) }));
}

function hasArrived(event: TapEvent): boolean {
  const done = faultsOf(event);
  return !done.includes('dropped') && !done.includes('answered');
}

export class Listener {
  readonly #overlays: ReadonlyMap<string, string>;
  readonly #wanted: string | undefined;
  readonly #told = new Map<string, ChunkEvent[]>();
  readonly #talks = new Map<string, Talk>();
  readonly #works = new Map<string, Work[]>();

  constructor(overlays: ReadonlyMap<string, string>, wanted: string | undefined) {
    this.#overlays = overlays;
    this.#wanted = wanted;
  }

  of(node: string): readonly ChunkEvent[] {
    return this.#told.get(node) ?? [];
  }

  testimonies(): Testimony[] {
    return Array.from(this.#told, ([node, events]) => ({ node, overlay: this.#overlay(node), events }));
  }

  hear(event: TapEvent): void {
    const { protocol, kind, name, stream } = event;
    const key = `${protocol} ${name}`;
    // A repetition is no other attempt.
    if (key === 'pushsync delivery' && !this.#talks.has(stream)) this.#begin(PUSH, event, 'address');
    else if (key === 'retrieval request' && !this.#talks.has(stream)) this.#begin(REQUEST, event, 'addr');
    else if (key === 'pushsync receipt' || key === 'retrieval delivery') this.#answer(event);
    else if (key === 'pullsync delivery') this.#pulled(event);
    else if (kind === 'end') this.#end(event);
  }

  #begin(words: Words, event: TapEvent, field: string): void {
    const { from, to, stream, at } = event;
    const address = this.#address(event.fields[field]);
    if (address === undefined) return;
    const cause = this.#causeAt(words, { node: from, address, at });
    cause.attempts++;
    const peer = this.#overlay(to);
    const facts = { at, address, peer, of: cause.seq, attempt: cause.attempts };
    const attempt = this.#add(from, words.tries, facts);
    const work = hasArrived(event)
      ? this.#work(words, { node: to, address, at, peer: this.#overlay(from) })
      : undefined;
    this.#talks.set(stream, { words, address, cause, attempt, work, opener: from, acceptor: to });
  }

  #answer(event: TapEvent): void {
    const { stream, at, fields } = event;
    const talk = this.#talks.get(stream);
    if (talk === undefined) return;
    const { words, address, work, acceptor } = talk;
    const { err: detail } = fields;
    const error = typeof detail === 'string' ? detail : undefined;
    if (work?.isOpen === true) {
      work.isOpen = false;
      const kind =
        error !== undefined ? words.refuses : work.storer === undefined ? words.answers : words.passes;
      work.storer ??= this.#overlay(acceptor);
      this.#add(acceptor, kind, { at, address, of: work.seq, detail: error });
    }
    if (hasArrived(event)) this.#heard(stream, talk, { at, error });
  }

  #heard(stream: string, talk: Talk, { at, error }: { at: number; error: string | undefined }): void {
    const { words, address, cause, attempt, work, opener, acceptor } = talk;
    this.#talks.delete(stream);
    const peer = this.#overlay(acceptor);
    const kind = error === undefined ? words.succeeds : words.fails;
    this.#add(opener, kind, { at, address, peer, of: attempt, detail: error });
    if (error !== undefined) return;
    cause.storer ??= work?.storer ?? peer;
    if (!cause.own || !cause.isOpen) return;
    cause.isOpen = false;
    this.#add(opener, words.done, { at, address, peer: cause.storer, of: cause.seq });
  }

  #end({ stream, at, name }: TapEvent): void {
    const talk = this.#talks.get(stream);
    if (talk === undefined) return;
    if (talk.work !== undefined) talk.work.isOpen = false;
    this.#heard(stream, talk, { at, error: `the stream was ${name} without an answer` });
  }

  #pulled(event: TapEvent): void {
    const { from, to, at, fields } = event;
    const address = this.#address(fields['address']);
    if (address === undefined || !hasArrived(event)) return;
    if (!faultsOf(event).includes('made up'))
      this.#add(from, 'pull-served', { at, address, peer: this.#overlay(to) });
    this.#add(to, 'pulled', { at, address, peer: this.#overlay(from) });
  }

  /** A peer's unanswered request, or else the node's own work. */
  #causeAt(
    words: Words,
    { node, address, at }: { readonly node: string; readonly address: string; readonly at: number },
  ): Work {
    const open = this.#worksOf(words, node, address).findLast(({ isOpen }) => isOpen);
    return open ?? this.#work(words, { node, address, at });
  }

  #work(
    words: Words,
    { node, address, at, peer }: { node: string; address: string; at: number; peer?: string },
  ): Work {
    const own = peer === undefined;
    const seq = this.#add(node, own ? words.begins : words.arrives, { at, address, peer });
    const work: Work = { seq, own, attempts: 0, isOpen: true };
    this.#worksOf(words, node, address).push(work);
    return work;
  }

  #worksOf({ tries }: Words, node: string, address: string): Work[] {
    const key = `${node} ${address} ${tries}`;
    const works = this.#works.get(key) ?? [];
    this.#works.set(key, works);
    return works;
  }

  #add(node: string, kind: ChunkEventKind, facts: Facts & Pick<ChunkEvent, 'at' | 'address'>): number {
    const events = this.#told.get(node) ?? [];
    this.#told.set(node, events);
    const seq = events.length + 1;
    events.push({ seq, kind, ...facts });
    return seq;
  }

  #address(value: unknown): string | undefined {
    if (typeof value !== 'string') return undefined;
    return this.#wanted === undefined || this.#wanted === value ? value : undefined;
  }

  /** A peer outside the cluster is what the tap calls it. */
  #overlay(name: string): string {
    return this.#overlays.get(name) ?? name;
  }
}
