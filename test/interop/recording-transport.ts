/** Records what crosses every stream, and changes nothing. */
import { toHex } from '../../formats/crypto/hex.ts';
import type { AcceptedStream, Link, LinkEvents, RawStream, Transport } from '../../node/p2p/transport.ts';

export interface Recorded {
  readonly about: string;
  readonly opener: 'ours' | 'theirs';
  readonly protocol: string;
  /** Unix seconds of our clock, at its opening. */
  readonly at: number;
  readonly remote: { readonly id: string; readonly address: string };
  /** `>` and hex of what we sent, `<` and hex of what they sent. */
  readonly turns: string[];
  whole: boolean;
}

export class RecordingTransport implements Transport {
  readonly recorded: Recorded[] = [];
  /** What is going on; streams opened now get it. */
  about = '';
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get localId(): string {
    return this.#transport.localId;
  }

  addresses(): string[] {
    return this.#transport.addresses();
  }

  start(events: LinkEvents): Promise<void> {
    return this.#transport.start({
      ...events,
      opened: (link) => events.opened(this.#link(link)),
      closed: (link) => events.closed(this.#link(link)),
      accepted: (link, protocol, stream) =>
        events.accepted(
          this.#link(link),
          protocol,
          this.#stream(link, stream, { opener: 'theirs', protocol }),
        ),
    });
  }

  async dial(underlay: string, signal: AbortSignal): Promise<Link> {
    return this.#link(await this.#transport.dial(underlay, signal));
  }

  probe(underlay: string, signal: AbortSignal): Promise<number> {
    return this.#transport.probe(underlay, signal);
  }

  stop(): Promise<void> {
    return this.#transport.stop();
  }

  readonly #links = new WeakMap<Link, Link>();

  /** The same for the same. */
  #link(link: Link): Link {
    const known = this.#links.get(link);
    if (known !== undefined) return known;
    const recording: Link = {
      remoteId: link.remoteId,
      remoteAddress: link.remoteAddress,
      direction: link.direction,
      listenAddresses: (signal) => link.listenAddresses(signal),
      open: (protocol) => this.#stream(link, link.open(protocol), { opener: 'ours', protocol }),
      negotiate: (ids, signal) => this.#negotiate(link, ids, signal),
      close: (reason) => link.close(reason),
    };
    this.#links.set(link, recording);
    return recording;
  }

  async #negotiate(link: Link, ids: readonly string[], signal: AbortSignal): Promise<AcceptedStream> {
    const { protocolId, stream } = await link.negotiate(ids, signal);
    return { protocolId, stream: this.#stream(link, stream, { opener: 'ours', protocol: protocolId }) };
  }

  #stream(link: Link, stream: RawStream, what: Pick<Recorded, 'opener' | 'protocol'>): RawStream {
    const remote = { id: link.remoteId, address: link.remoteAddress };
    const at = Math.floor(Date.now() / 1000);
    const recorded: Recorded = { about: this.about, ...what, at, remote, turns: [], whole: false };
    this.recorded.push(recorded);
    const ends = { ours: false, theirs: false, broken: false };
    const note = (side: '>' | '<', bytes: Uint8Array) => {
      const last = recorded.turns.length - 1;
      if (recorded.turns[last]?.startsWith(side) === true) recorded.turns[last] += toHex(bytes);
      else recorded.turns.push(`${side}${toHex(bytes)}`);
    };
    const ended = (side: 'ours' | 'theirs') => {
      ends[side] = true;
      recorded.whole = ends.ours && ends.theirs && !ends.broken;
    };
    const arrived = (bytes: Uint8Array | undefined) => {
      if (bytes !== undefined) note('<', bytes);
      return bytes;
    };
    return {
      write(bytes) {
        note('>', bytes);
        stream.write(bytes);
      },
      drained: () => stream.drained(),
      take: () => arrived(stream.take()),
      async read() {
        const bytes = arrived(await stream.read());
        if (bytes === undefined) ended('theirs');
        return bytes;
      },
      closeWrite() {
        ended('ours');
        stream.closeWrite();
      },
      reset(reason) {
        ends.broken = true;
        recorded.whole = false;
        stream.reset(reason);
      },
    };
  }
}
