/** What `peer-host.ts` gets: links and raw streams, by TCP (`libp2p-host.ts`) or in memory (`memory-host.ts`). */

/** One multiplexed stream: bytes in order, two ends that close separately. */
export interface RawStream {
  /** Queues bytes, which must not change afterwards. @throws StreamError `STREAM_RESET` */
  write(bytes: Uint8Array): void;
  /** Resolves with room; undefined: there is. */
  drained(): Promise<void> | undefined;
  /** Bytes that have already arrived. @throws StreamError `PROTOCOL_UNSUPPORTED` */
  take(): Uint8Array | undefined;
  /** Undefined at the end. One reader. @throws StreamError `STREAM_RESET`, `PROTOCOL_UNSUPPORTED` */
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

/** Before or after introduction. */
export interface Link {
  /** libp2p identity of the other end, proved by the transport. */
  readonly remoteId: string;
  /** As seen here, without `/p2p/`. */
  readonly remoteAddress: string;
  readonly direction: 'inbound' | 'outbound';
  /** Told ones, each with `/p2p/`; else the observed one. */
  listenAddresses(signal: AbortSignal): Promise<string[]>;
  /** Does not wait: a refusal is the first read's `PROTOCOL_UNSUPPORTED`. */
  open(protocolId: string): RawStream;
  /**
   * Best first. @returns the stream with the accepted id
   * @throws StreamError `PROTOCOL_UNSUPPORTED` when none was accepted; others; the signal's reason
   */
  negotiate(protocolIds: readonly string[], signal: AbortSignal): Promise<AcceptedStream>;
  /** With every stream. Safe to call twice. */
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
  /** A stream of an agreed, supported `protocolId`. */
  accepted(link: Link, protocolId: string, stream: RawStream): void;
  /** All ids that have a handler, for peers that ask. */
  protocolIds(): string[];
}

export interface Transport {
  /** Own libp2p identity. */
  readonly localId: string;
  /** Without `/p2p/`; empty before start. */
  addresses(): string[];
  start(events: LinkEvents): Promise<void>;
  /** @param underlay with `/p2p/`, the other end must prove that identity */
  dial(underlay: string, signal: AbortSignal): Promise<Link>;
  /**
   * As a stranger: one ping, under a separate identity.
   * @returns round-trip time of the ping, ms @throws HostError, StreamError and others; the signal's reason
   */
  probe(underlay: string, signal: AbortSignal): Promise<number>;
  /** Closes every link and frees the address. */
  stop(): Promise<void>;
}
