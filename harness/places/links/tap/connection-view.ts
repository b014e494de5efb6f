/** A connection of two nodes as it passes, in plain: the conversations on it. */
import { YAMUX_ID } from '../../../../node/p2p/libp2p/yamux.ts';
import { Conversation } from './conversation.ts';
import type { TapEvent } from './events.ts';
import { Arrived, NO_LINE, PENDING } from './lines.ts';
import type { RelayView } from './relay.ts';
import { beginning, type Names } from './values.ts';
import { YamuxFrames } from './yamux-frames.ts';

/** First byte of a frame of yamux: its version, and no length of a line. */
const YAMUX_START = 0;
/** Conversations at once; nodes allow each other fewer. */
const STREAMS_MAX = 20_000;

export interface ConnectionViewDeps {
  /** Tells connections apart. */
  readonly id: string;
  /** Name of the node that is dialled. */
  readonly target: string;
  readonly names: Names;
  readonly now: () => number;
  readonly emit: (event: TapEvent) => void;
  /** The dialled node has another identity than the one that is known of it. */
  readonly onMistaken: () => void;
}

/** What one end has sent. */
interface Sent {
  readonly isDialler: boolean;
  readonly arrived: Arrived;
  /** Once the ends have agreed on it. */
  frames: YamuxFrames | undefined;
  /** It is no yamux. */
  isUnknown: boolean;
}

export class ConnectionView implements RelayView {
  readonly #deps: ConnectionViewDeps;
  readonly #conversations = new Map<number, { readonly talk: Conversation; readonly byDialler: boolean }>();
  readonly #dialler: Sent = { isDialler: true, arrived: new Arrived(), frames: undefined, isUnknown: false };
  readonly #node: Sent = { isDialler: false, arrived: new Arrived(), frames: undefined, isUnknown: false };
  /** Name of the dialler. */
  #from = 'unknown';
  #openedAt: number | undefined;
  #bytes = 0;
  #isOver = false;

  constructor(deps: ConnectionViewDeps) {
    this.#deps = deps;
  }

  secured(dialler: string): void {
    this.#from = dialler;
    this.#openedAt = this.#deps.now();
    this.#tell('opened', { name: '', fields: {}, bytes: 0 });
  }

  fromDialler(plaintext: Buffer): void {
    this.#take(this.#dialler, plaintext);
  }

  fromNode(plaintext: Buffer): void {
    this.#take(this.#node, plaintext);
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
    for (const { talk } of this.#conversations.values()) talk.end(true, 'lost');
    this.#conversations.clear();
    const at = this.#deps.now();
    const ms = at - (this.#openedAt ?? at);
    this.#tell('end', { name, fields: { ...fields, ms }, bytes: this.#bytes });
  }

  #take(sent: Sent, plaintext: Buffer): void {
    this.#bytes += plaintext.length;
    if (sent.isUnknown) return this.#unknown(sent, plaintext);
    let bytes = plaintext;
    if (sent.frames === undefined) {
      sent.arrived.push(plaintext);
      if (!this.#hasAgreed(sent)) return;
      sent.frames = this.#framesOf(sent);
      bytes = sent.arrived.rest();
    }
    try {
      sent.frames.push(bytes);
    } catch (error) {
      sent.isUnknown = true;
      this.#unknown(sent, bytes, error as Error);
    }
  }

  /** Lines of the choice of a multiplexer, where it was not made within the handshake. */
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

  #framesOf({ isDialler }: Sent): YamuxFrames {
    const conversations = this.#conversations;
    return new YamuxFrames({
      opened: (id) => {
        if (conversations.size >= STREAMS_MAX || conversations.has(id)) return;
        conversations.set(id, { talk: this.#conversation(id, isDialler), byDialler: isDialler });
      },
      data: (id, bytes) => {
        const found = conversations.get(id);
        found?.talk.take(isDialler === found.byDialler, bytes);
      },
      ended: (id) => {
        const found = conversations.get(id);
        if (found?.talk.ended(isDialler === found.byDialler) === true) conversations.delete(id);
      },
      reset: (id) => {
        const found = conversations.get(id);
        found?.talk.end(isDialler === found.byDialler, 'reset');
        conversations.delete(id);
      },
    });
  }

  #conversation(id: number, byDialler: boolean): Conversation {
    const { id: connection, target, names, now, emit } = this.#deps;
    const [opener, acceptor] = byDialler ? [this.#from, target] : [target, this.#from];
    return new Conversation({ stream: `${connection}/${id}`, opener, acceptor, names, now, emit });
  }

  /** What nothing here reads. */
  #unknown({ isDialler }: Sent, bytes: Buffer, error?: Error): void {
    const name = error === undefined ? 'bytes' : 'undecodable';
    const reason = error === undefined ? {} : { reason: error.message };
    this.#tell(
      'message',
      { name, fields: { ...reason, bytes: beginning(bytes) }, bytes: bytes.length },
      isDialler,
    );
  }

  #tell(kind: TapEvent['kind'], what: Pick<TapEvent, 'name' | 'fields' | 'bytes'>, isDialler = true): void {
    const { id: stream, target, now, emit } = this.#deps;
    const [from, to] = isDialler ? [this.#from, target] : [target, this.#from];
    emit({ at: now(), from, to, stream, protocol: 'noise', id: '/noise', kind, ...what });
  }
}
