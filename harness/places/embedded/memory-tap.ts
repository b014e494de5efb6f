/** Nothing is encrypted between nodes of one process, so this needs no key and no proxy. */
import type { Clock } from '../../../formats/clock.ts';
import { StreamError } from '../../../node/p2p/host.ts';
import type { MemoryRelay } from '../../../node/p2p/memory-host.ts';
import type { MemoryConversation, MemoryFrame } from '../../../node/p2p/memory-link.ts';
import type { RawStream } from '../../../node/p2p/transport.ts';
import { Conversation } from '../links/tap/conversation.ts';
import type { TapEvent } from '../links/tap/events.ts';
import { DivertedStream } from '../links/tap/faults/diverted-stream.ts';
import { Replays } from '../links/tap/faults/replays.ts';
import type { Outlet } from '../links/tap/faults/way.ts';
import { TapRecord } from '../links/tap/record.ts';
import type { Names } from '../links/tap/values.ts';

type Send = (frame: MemoryFrame) => void;

const RESET = new StreamError('STREAM_RESET', 'the other side reset the stream');

interface Connection {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly openedAt: number;
  readonly streams: Map<MemoryConversation, Stream>;
  readonly replays: Replays;
  opened: number;
  bytes: number;
}

interface Stream {
  readonly talk: Conversation;
  readonly opener: string;
  readonly diverted: DivertedStream | undefined;
  readonly opened: Way;
  readonly accepted: Way;
  isAgreed: boolean;
  /** Both ends have said their last word, which may still wait here. */
  isOver: boolean;
}

interface Passing {
  readonly frame: MemoryFrame;
  readonly send: Send;
}

/** How what one end has said goes on: as its last frames of either kind. */
interface Way {
  data: Passing | undefined;
  end: Passing | undefined;
  instead: Pick<RawStream, 'write' | 'closeWrite'> | undefined;
}

export interface MemoryTapDeps {
  readonly clock: Clock;
  readonly nameOf: (peerId: string) => string | undefined;
  readonly names: Names;
}

export class MemoryTap extends TapRecord implements MemoryRelay {
  readonly #deps: MemoryTapDeps;
  readonly #connections = new Map<object, Connection>();
  #count = 0;
  #isReplaying = false;
  #isPassing = false;

  constructor(deps: MemoryTapDeps) {
    super();
    this.#deps = deps;
  }

  opened(connection: object, dialler: string, dialled: string): void {
    const { clock } = this.#deps;
    const opened: Connection = {
      id: `c${this.#count++}`,
      from: this.#nameOf(dialler),
      to: this.#nameOf(dialled),
      openedAt: clock.now(),
      streams: new Map(),
      replays: new Replays(clock),
      opened: 0,
      bytes: 0,
    };
    this.#connections.set(connection, opened);
    this.#tell(opened, 'opened', { name: '', fields: {}, bytes: 0 });
  }

  closed(connection: object): void {
    const closed = this.#connections.get(connection);
    if (closed === undefined) return;
    this.#connections.delete(connection);
    closed.replays.close();
    for (const { talk, diverted, isOver } of closed.streams.values()) {
      diverted?.discard();
      if (!isOver) talk.end(true, 'lost');
    }
    const ms = this.#deps.clock.now() - closed.openedAt;
    this.#tell(closed, 'end', { name: 'closed', fields: { ms }, bytes: closed.bytes });
  }

  pass(frame: MemoryFrame, send: Send): void {
    const { conversation } = frame;
    const connection = conversation && this.#connections.get(conversation.connection);
    if (connection === undefined || this.#isPassing) return send(frame);
    if (frame.kind === 'open') this.#open(connection, frame);
    const stream = connection.streams.get(conversation as MemoryConversation);
    if (stream === undefined) return send(frame);
    this.#take(connection, stream, { frame, send });
  }

  #open(connection: Connection, { from, to, protocolId, conversation }: MemoryFrame): void {
    if (conversation === undefined) return;
    const { clock, names } = this.#deps;
    const [opener, acceptor] = [this.#nameOf(from), this.#nameOf(to)];
    const opened = newWay();
    const accepted = newWay();
    const isReplay = this.#isReplaying;
    const diverted =
      !isReplay && this.rules.concern(opener, acceptor)
        ? new DivertedStream({
            opener,
            acceptor,
            rules: this.rules,
            clock,
            outletOf: (isOpener) => this.#outletOf(isOpener ? opened : accepted),
            replays: connection.replays,
            replay: (said) => this.#replay(conversation, said),
            cut: () => this.#break(connection, conversation, true),
            takeOver: () => {
              accepted.instead = conversation.takeOver(RESET);
            },
            onOver: () => connection.streams.delete(conversation),
          })
        : undefined;
    const talk = new Conversation({
      stream: `${connection.id}/${++connection.opened}`,
      opener,
      acceptor,
      names,
      now: () => clock.now(),
      emit: (event, raw) => this.ring.add(event, raw),
      diverted,
      isReplay,
    });
    const stream: Stream = { talk, opener: from, diverted, opened, accepted, isAgreed: false, isOver: false };
    connection.streams.set(conversation, stream);
    // The answer of the other end, and what follows, names the one it chose of several.
    if (!protocolId.includes(' ')) this.#agreed(stream, protocolId);
  }

  #replay(conversation: MemoryConversation, said: Buffer): void {
    this.#isReplaying = true;
    try {
      const stream = conversation.again();
      stream.write(said);
      stream.closeWrite();
    } finally {
      this.#isReplaying = false;
    }
  }

  #agreed(stream: Stream, protocolId: string): void {
    stream.isAgreed = true;
    stream.talk.agreed(protocolId);
  }

  #take(connection: Connection, stream: Stream, passing: Passing): void {
    const { frame, send } = passing;
    const { kind, from, protocolId, bytes, conversation } = frame;
    const { talk, diverted } = stream;
    if (conversation === undefined || kind === 'open') return send(frame);
    const isOpener = from === stream.opener;
    if (!stream.isAgreed) this.#agreed(stream, protocolId);
    const way = isOpener ? stream.opened : stream.accepted;
    if (way.instead !== undefined) return;
    if (kind === 'data') {
      way.data = passing;
      connection.bytes += bytes.length;
      talk.take(isOpener, asBuffer(bytes));
      stream.isOver = talk.isOver;
      if (diverted === undefined) return send(frame);
      if (diverted.isDoomed) {
        this.#break(connection, conversation, isOpener);
      }
    } else if (kind === 'end') {
      way.end = passing;
      stream.isOver = talk.ended(isOpener);
      if (diverted !== undefined) return diverted.ended(isOpener);
      if (stream.isOver) connection.streams.delete(conversation);
      send(frame);
    } else {
      this.#lose(connection, conversation, { isOpener, name: kind === 'refuse' ? 'refused' : 'reset' });
      send(frame);
    }
  }

  #break(connection: Connection, conversation: MemoryConversation, isOpener: boolean): void {
    this.#lose(connection, conversation, { isOpener, name: 'reset' });
    conversation.break(RESET);
  }

  #lose(
    { streams }: Connection,
    conversation: MemoryConversation,
    { isOpener, name }: { readonly isOpener: boolean; readonly name: string },
  ): void {
    const stream = streams.get(conversation);
    stream?.diverted?.discard();
    // Its end may wait for what was delayed.
    if (stream?.isOver === false) stream.talk.end(isOpener, name);
    streams.delete(conversation);
  }

  /** Writers in memory wait for what has not arrived, so nothing here counts it. */
  #outletOf(way: Way): Outlet {
    const passing = (send: () => void) => {
      this.#isPassing = true;
      try {
        send();
      } finally {
        this.#isPassing = false;
      }
    };
    return {
      window: Infinity,
      data(bytes) {
        const { instead, data } = way;
        if (instead !== undefined) passing(() => instead.write(bytes));
        else data?.send({ ...data.frame, bytes });
      },
      end() {
        const { instead, end } = way;
        if (instead !== undefined) passing(() => instead.closeWrite());
        else end?.send(end.frame);
      },
      held: () => undefined,
    };
  }

  #nameOf(peerId: string): string {
    return this.#deps.nameOf(peerId) ?? peerId;
  }

  #tell(
    { id: stream, from, to }: Connection,
    kind: TapEvent['kind'],
    what: Pick<TapEvent, 'name' | 'fields' | 'bytes'>,
  ): void {
    const at = this.#deps.clock.now();
    this.ring.add({ at, from, to, stream, protocol: 'noise', id: '/noise', kind, ...what });
  }
}

function newWay(): Way {
  return { data: undefined, end: undefined, instead: undefined };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
