/** A transport that changes the node's messages on their way, one by one. */
import { framed, join } from '../../../harness/conformance/wire/hostile-bytes.ts';
import { StreamError } from '../../../node/p2p/host.ts';
import { FrameReader } from '../../../node/p2p/stream/framing.ts';
import type { Link, LinkEvents, RawStream, Transport } from '../../../node/p2p/transport.ts';

/** @param n number of the message on its stream, from 0; headers count @returns the body that travels instead */
type Change = (body: Uint8Array, n: number) => Uint8Array;

export interface Alteration {
  readonly protocolId: string;
  /** What the peer of the node says. */
  readonly received?: Change;
  /** What the node says. */
  readonly sent?: Change;
}

export interface Habits {
  /** Beside those of the node. */
  readonly agrees?: (protocolId: string) => boolean;
  readonly oneForAll?: boolean;
}

export function altered(
  transport: Transport,
  alterations: readonly Alteration[],
  { agrees = () => false, oneForAll = false }: Habits = {},
): Transport {
  const links = new Set<Link>();
  return {
    localId: transport.localId,
    addresses: () => transport.addresses(),
    dial: (underlay, signal) => transport.dial(underlay, signal),
    probe: (underlay, signal) => transport.probe(underlay, signal),
    stop: () => transport.stop(),
    start: (events: LinkEvents) =>
      transport.start({
        ...events,
        opened: (link) => {
          const open = link.open.bind(link);
          link.open = (id) => changed(open(id), id, alterations);
          links.add(link);
          events.opened(link);
        },
        closed: (link) => {
          links.delete(link);
          events.closed(link);
          for (const other of oneForAll ? links : [])
            if (other.remoteId === link.remoteId) other.close(new StreamError('STREAM_RESET', 'all or none'));
        },
        supports: (id) => agrees(id) || events.supports(id),
        accepted: (link, id, raw) => events.accepted(link, id, changed(raw, id, alterations)),
      }),
  };
}

function changed(raw: RawStream, protocolId: string, alterations: readonly Alteration[]): RawStream {
  const alteration = alterations.find((one) => one.protocolId === protocolId);
  return alteration === undefined ? raw : new AlteredStream(raw, alteration);
}

/** What a node writes is not judged here. */
const FRAME_SIZE_MAX = 2 ** 20;

class AlteredStream implements RawStream {
  readonly #raw: RawStream;
  readonly #sent: Change;
  readonly #received: Change;
  readonly #frames = new FrameReader();
  #sentCount = 0;
  #receivedCount = 0;

  constructor(raw: RawStream, { sent = same, received = same }: Alteration) {
    this.#raw = raw;
    this.#sent = sent;
    this.#received = received;
  }

  /** Nodes write whole frames. */
  write(bytes: Uint8Array): void {
    const reader = new FrameReader(FRAME_SIZE_MAX);
    reader.push(bytes);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      this.#raw.write(framed(this.#sent(frame.bytes, this.#sentCount++)));
    }
  }

  drained(): Promise<void> | undefined {
    return this.#raw.drained();
  }

  take(): Uint8Array | undefined {
    for (let bytes = this.#raw.take(); bytes !== undefined; bytes = this.#raw.take())
      this.#frames.push(bytes);
    return this.#next();
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const frames = this.take();
      if (frames !== undefined) return frames;
      const bytes = await this.#raw.read();
      if (bytes === undefined) {
        if (this.#frames.buffered > 0) throw new StreamError('STREAM_ENDED', 'ended within a message');
        return undefined;
      }
      this.#frames.push(bytes);
    }
  }

  #next(): Uint8Array | undefined {
    const whole: Uint8Array[] = [];
    for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
      whole.push(framed(this.#received(frame.bytes, this.#receivedCount++)));
    }
    return whole.length === 0 ? undefined : join(...whole);
  }

  closeWrite(): void {
    this.#raw.closeWrite();
  }

  reset(reason: Error): void {
    this.#raw.reset(reason);
  }
}

const same: Change = (body) => body;
