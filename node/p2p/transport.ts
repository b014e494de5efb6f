/**
 * What a transport gives to `peer-host.ts`: links to other nodes and raw streams on them. There are two: TCP with
 * noise and yamux (`libp2p-host.ts`) and links inside one process (`memory-host.ts`).
 */

/** One multiplexed stream: bytes in order, two ends that close separately. */
export interface RawStream {
  /** Queues bytes, which must not change afterwards. @throws StreamError `STREAM_RESET` */
  write(bytes: Uint8Array): void;
  /** Resolves when the transport has room for more; undefined when it has. */
  drained(): Promise<void> | undefined;
  /** Bytes that have already arrived. @throws StreamError `PROTOCOL_UNSUPPORTED` */
  take(): Uint8Array | undefined;
  /**
   * Next bytes, or undefined at the other side's end. One reader at a time.
   * @throws StreamError `STREAM_RESET`, `PROTOCOL_UNSUPPORTED`
   */
  read(): Promise<Uint8Array | undefined>;
  /** Ends our side. Safe to call twice. */
  closeWrite(): void;
  /** Ends both sides at once. Safe to call at any time. */
  reset(reason: Error): void;
}

/** A stream and the protocol agreed on it. */
export interface AcceptedStream {
  readonly protocolId: string;
  readonly stream: RawStream;
}

/** A connection to another node, before or after it has introduced itself. */
export interface Link {
  /** libp2p identity of the other end, proved by the transport. */
  readonly remoteId: string;
  /** Multiaddress of the other end as seen from here, without `/p2p/`. */
  readonly remoteAddress: string;
  readonly direction: 'inbound' | 'outbound';
  /**
   * Addresses that the other end says it listens on, each with `/p2p/`; its observed address when it says nothing.
   */
  listenAddresses(signal: AbortSignal): Promise<string[]>;
  /**
   * Proposes `protocolId` without waiting for the answer: a refusal appears at the first read as
   * `PROTOCOL_UNSUPPORTED`.
   */
  open(protocolId: string): RawStream;
  /**
   * Proposes one id after another on one stream, best first. @returns the stream with the accepted id
   * @throws StreamError `PROTOCOL_UNSUPPORTED` when none was accepted; others; the signal's reason
   */
  negotiate(protocolIds: readonly string[], signal: AbortSignal): Promise<AcceptedStream>;
  /** Ends the link and every stream on it. Safe to call twice. */
  close(reason: Error): void;
}

/** What the transport calls. */
export interface LinkEvents {
  /** Whether there is a handler for this protocol id. */
  supports(protocolId: string): boolean;
  /** A link is ready, dialled by either side. */
  opened(link: Link): void;
  /** Called once per opened link. */
  closed(link: Link): void;
  /** The other side opened a stream and `protocolId`, a supported one, was agreed. */
  accepted(link: Link, protocolId: string, stream: RawStream): void;
  /** All ids that have a handler, for peers that ask. */
  protocolIds(): string[];
}

export interface Transport {
  /** Own libp2p identity. */
  readonly localId: string;
  /** Where this node can be dialled, without `/p2p/`; empty before start. */
  addresses(): string[];
  start(events: LinkEvents): Promise<void>;
  /** @param underlay multiaddress, with or without `/p2p/`; with it, the other end must prove that identity */
  dial(underlay: string, signal: AbortSignal): Promise<Link>;
  /**
   * Probes as a stranger: connects under a separate identity, pings once and leaves.
   * @returns round-trip time of the ping, ms @throws HostError, StreamError and others; the signal's reason
   */
  probe(underlay: string, signal: AbortSignal): Promise<number>;
  /** Closes every link and frees the address. */
  stop(): Promise<void>;
}
