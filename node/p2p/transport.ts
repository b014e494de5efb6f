/** Links and raw streams for `peer-host.ts`, by `libp2p-host.ts` or `memory-host.ts`. */

/** Bytes in order, two ends that close separately. */
export interface RawStream {
  /** The bytes must not change afterwards. @throws StreamError `STREAM_RESET` */
  write(bytes: Uint8Array): void;
  /** Resolves when there is room; undefined when there is. */
  drained(): Promise<void> | undefined;
  /** Bytes that have already arrived. @throws StreamError `PROTOCOL_UNSUPPORTED` */
  take(): Uint8Array | undefined;
  /**
   * Undefined at the other side's end. One reader at a time.
   * @throws StreamError `STREAM_RESET`, `PROTOCOL_UNSUPPORTED`
   */
  read(): Promise<Uint8Array | undefined>;
  /** Ends our side. Safe to call twice. */
  closeWrite(): void;
  reset(reason: Error): void;
}

export interface AcceptedStream {
  readonly protocolId: string;
  readonly stream: RawStream;
}

export interface Link {
  /** Proved by the transport. */
  readonly remoteId: string;
  readonly remoteAddress: string;
  readonly direction: 'inbound' | 'outbound';
  /** Each with `/p2p/`; the observed address when the other end says nothing. */
  listenAddresses(signal: AbortSignal): Promise<string[]>;
  /** Does not wait: a refusal appears at the first read as `PROTOCOL_UNSUPPORTED`. */
  open(protocolId: string): RawStream;
  /**
   * Proposes one id after another on one stream, best first.
   * @throws StreamError `PROTOCOL_UNSUPPORTED` when none was accepted; others; the signal's reason
   */
  negotiate(protocolIds: readonly string[], signal: AbortSignal): Promise<AcceptedStream>;
  /** Safe to call twice. */
  close(reason: Error): void;
}

export interface LinkEvents {
  supports(protocolId: string): boolean;
  /** Dialled by either side. */
  opened(link: Link): void;
  closed(link: Link): void;
  /** `protocolId` is supported and agreed. */
  accepted(link: Link, protocolId: string, stream: RawStream): void;
  protocolIds(): string[];
}

export interface Transport {
  readonly localId: string;
  addresses(): string[];
  start(events: LinkEvents): Promise<void>;
  /** @param underlay with `/p2p/`, the other end must prove that identity */
  dial(underlay: string, signal: AbortSignal): Promise<Link>;
  /**
   * @returns round-trip time of one ping under a separate identity, ms
   * @throws HostError, StreamError and others; the signal's reason
   */
  probe(underlay: string, signal: AbortSignal): Promise<number>;
  stop(): Promise<void>;
}
