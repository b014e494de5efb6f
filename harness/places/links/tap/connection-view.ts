import { StreamError } from '../../../../node/p2p/host.ts';
import { YAMUX_ID } from '../../../../node/p2p/libp2p/yamux.ts';
import { Conversation } from './conversation.ts';
import type { TapEvent } from './events.ts';
import { type Direction, Diversion, type DiversionDeps } from './faults/diversion.ts';
import type { DivertedStream } from './faults/diverted-stream.ts';
import { Arrived, NO_LINE, PENDING } from './lines.ts';
import type { RelayView } from './relay.ts';
import { beginning, type Names } from './values.ts';
import { YAMUX_FLAG, YAMUX_TYPE, type YamuxFrame, YamuxFrames } from './yamux-frames.ts';

/** Version of a frame, and no length of a line. */
const YAMUX_START = 0;
const STREAMS_MAX = 20_000;

export interface ConnectionViewDeps {
  readonly id: string;
  readonly target: string;
  readonly names: Names;
  readonly now: () => number;
  /** @param raw what was said; only until it returns */
  readonly emit: (event: TapEvent, raw?: Uint8Array) => void;
  /** The dialled node has another identity than the one that is known of it. */
  readonly onMistaken: () => void;
  readonly diversion: Omit<DiversionDeps, 'replayed' | 'cut'>;
}

interface Sent {
  readonly isDialler: boolean;
  readonly direction: Direction;
  readonly arrived: Arrived;
  frames: YamuxFrames | undefined;
  isUnknown: boolean;
}

export class ConnectionView implements RelayView {
  readonly #deps: ConnectionViewDeps;
  readonly #conversations = new Map<number, { readonly talk: Conversation; readonly byDialler: boolean }>();
  readonly #dialler = newSent(true);
  readonly #node = newSent(false);
  readonly #diversion: Diversion;
  #from = 'unknown';
  #openedAt: number | undefined;
  #bytes = 0;
  #isOver = false;

  constructor(deps: ConnectionViewDeps) {
    this.#deps = deps;
    this.#diversion = new Diversion({
      ...deps.diversion,
      replayed: (direction, id, said) => {
        const talk = this.#talk(direction === 'up', id, undefined);
        talk.take(true, said);
        talk.ended(true);
      },
      cut: (id) => this.#reset(true, id),
    });
  }

  secured(dialler: string): void {
    this.#from = dialler;
    this.#diversion.between(dialler, this.#deps.target);
    this.#openedAt = this.#deps.now();
    this.#tell('opened', { name: '', fields: {}, bytes: 0 });
  }

  fromDialler(plaintext: Buffer): Buffer {
    return this.#take(this.#dialler, plaintext);
  }

  fromNode(plaintext: Buffer): Buffer {
    return this.#take(this.#node, plaintext);
  }

  held(direction: Direction): number {
    return this.#diversion.held(direction);
  }

  mistaken(): void {
    this.#deps.onMistaken();
  }

  failed({ message: reason }: Error): void {
    this.#end('failed', { reason });
  }

  closed(): void {
    if (this.#openedAt !== undefined) this.#end('closed', {});
  }

  #end(name: string, fields: TapEvent['fields']): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#diversion.close();
    for (const { talk } of this.#conversations.values()) talk.end(true, 'lost');
    this.#conversations.clear();
    const at = this.#deps.now();
    const ms = at - (this.#openedAt ?? at);
    this.#tell('end', { name, fields: { ...fields, ms }, bytes: this.#bytes });
  }

  #take(sent: Sent, plaintext: Buffer): Buffer {
    this.#bytes += plaintext.length;
    if (sent.isUnknown) {
      this.#unknown(sent, plaintext);
      return plaintext;
    }
    let bytes = plaintext;
    if (sent.frames === undefined) {
      sent.arrived.push(plaintext);
      if (!this.#hasAgreed(sent)) return plaintext;
      sent.frames = this.#framesOf(sent);
      bytes = sent.arrived.rest();
    }
    const { frames, direction } = sent;
    const passed = this.#diversion.pass(direction, bytes, frames, () => frames.push(bytes));
    // Lines of the choice before the first frame pass as they are.
    return passed === plaintext || bytes === plaintext
      ? passed
      : Buffer.concat([plaintext.subarray(0, plaintext.length - bytes.length), passed]);
  }

  /** Lines of the choice of a multiplexer, if the handshake did not make it. */
  #hasAgreed(sent: Sent): boolean {
    while (sent.arrived.first !== YAMUX_START) {
      const line = sent.arrived.line();
      if (line === PENDING) return false;
      if (line === NO_LINE) {
        sent.isUnknown = true;
        this.#unknown(sent, sent.arrived.rest());
        return false;
      }
      if (line === YAMUX_ID && !sent.isDialler) return true;
    }
    return true;
  }

  #framesOf(sent: Sent): YamuxFrames {
    const { isDialler, direction } = sent;
    const conversations = this.#conversations;
    const diversion = this.#diversion;
    return new YamuxFrames({
      begun: (frame, header) => {
        if (isOfStream(frame) && (frame.flags & YAMUX_FLAG.syn) !== 0) this.#open(sent, frame);
        diversion.begun(direction, frame, header);
      },
      data: ({ id }, bytes) => {
        diversion.data(direction, bytes);
        const found = diversion.ignores(direction) ? undefined : conversations.get(id);
        found?.talk.take(isDialler === found.byDialler, bytes);
        if (found?.talk.isOver === true) conversations.delete(id);
      },
      over: (frame) => {
        if (isOfStream(frame) && !diversion.ignores(direction)) this.#ended(isDialler, frame);
        const isReset = diversion.over(direction, frame);
        if (isReset) this.#reset(isDialler, frame.id);
      },
      unknown: (bytes) => {
        sent.isUnknown = true;
        diversion.unknown(direction, bytes);
        this.#unknown(sent, bytes, new StreamError('STREAM_RESET', 'yamux: unknown frame'));
      },
    });
  }

  #open({ isDialler, direction }: Sent, frame: YamuxFrame): void {
    const { id } = frame;
    if (this.#conversations.size >= STREAMS_MAX || this.#conversations.has(id)) return;
    const diverted = this.#diversion.open(direction, frame, this.#endsOf(isDialler));
    this.#talk(isDialler, id, { diverted });
  }

  /** @param opened undefined: in the opener's name, to repeat what it said */
  #talk(
    byDialler: boolean,
    id: number,
    opened: { readonly diverted: DivertedStream | undefined } | undefined,
  ): Conversation {
    const { id: connection, names, now, emit } = this.#deps;
    const [opener, acceptor] = this.#endsOf(byDialler);
    const stream = `${connection}/${id}`;
    const talk = new Conversation({
      stream,
      opener,
      acceptor,
      names,
      now,
      emit,
      diverted: opened?.diverted,
      isReplay: opened === undefined,
    });
    this.#conversations.set(id, { talk, byDialler });
    return talk;
  }

  #endsOf(byDialler: boolean): readonly [opener: string, acceptor: string] {
    const { target } = this.#deps;
    return byDialler ? [this.#from, target] : [target, this.#from];
  }

  #ended(isDialler: boolean, { id, flags }: YamuxFrame): void {
    if ((flags & YAMUX_FLAG.rst) !== 0) return this.#reset(isDialler, id);
    const found = this.#conversations.get(id);
    if (found === undefined || (flags & YAMUX_FLAG.fin) === 0) return;
    if (found.talk.ended(isDialler === found.byDialler)) this.#conversations.delete(id);
  }

  #reset(isDialler: boolean, id: number): void {
    const found = this.#conversations.get(id);
    found?.talk.end(isDialler === found.byDialler, 'reset');
    this.#conversations.delete(id);
  }

  #unknown({ isDialler }: Sent, bytes: Buffer, error?: Error): void {
    const name = error === undefined ? 'bytes' : 'undecodable';
    const reason = error === undefined ? {} : { reason: error.message };
    this.#tell(
      'message',
      { name, fields: { ...reason, bytes: beginning(bytes) }, bytes: bytes.length },
      isDialler,
      bytes,
    );
  }

  #tell(
    kind: TapEvent['kind'],
    what: Pick<TapEvent, 'name' | 'fields' | 'bytes'>,
    isDialler = true,
    raw?: Uint8Array,
  ): void {
    const { id: stream, target, now, emit } = this.#deps;
    const [from, to] = isDialler ? [this.#from, target] : [target, this.#from];
    emit({ at: now(), from, to, stream, protocol: 'noise', id: '/noise', kind, ...what }, raw);
  }
}

function newSent(isDialler: boolean): Sent {
  const direction = isDialler ? 'up' : 'down';
  return { isDialler, direction, arrived: new Arrived(), frames: undefined, isUnknown: false };
}

function isOfStream({ type }: YamuxFrame): boolean {
  return type === YAMUX_TYPE.data || type === YAMUX_TYPE.windowUpdate;
}
