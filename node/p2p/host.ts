/** What a protocol may do with the network: `libp2p-host.ts` (TCP, noise, yamux) or `memory-host.ts` (virtual clock). */
import { CodedError } from '../../formats/coded-error.ts';
import type { MessageOf, MessageTable } from './codec/message.ts';

/** Handshake version spoken with a peer. The older one, of Bee v2.7, has records without timestamp. */
export type Generation = '15.0.0' | '14.0.0';

/** One object per session after the handshake; compare by `overlayHex`. */
export interface Peer {
  /** 64 hex. */
  readonly overlayHex: string;
  /** 32 bytes. */
  readonly overlay: Uint8Array;
  /** Chain address of the handshake record, 20 bytes. */
  readonly ethereum: Uint8Array;
  readonly fullNode: boolean;
  readonly direction: 'inbound' | 'outbound';
  readonly generation: Generation;
  /** Multiaddress of the other end, without its identity: the peer cannot make it up. */
  readonly remoteAddress: string;
  /** Addresses of its signed record, each ending in `/p2p/<peer id>`. */
  readonly underlays: readonly string[];
  readonly welcomeMessage: string;
  /** Monotonic time of the handshake, ms. */
  readonly connectedAt: number;
  /** Aborts when the connection is gone. */
  readonly closed: AbortSignal;
}

/** A peer's signed addresses; what hive gossips. `p2p-protocols.md` 3. */
export interface AddressRecord {
  readonly overlay: Uint8Array;
  /** Exactly as signed (3.2); never re-encode. */
  readonly underlay: Uint8Array;
  readonly signature: Uint8Array;
  readonly nonce: Uint8Array;
  /** Unix seconds; 0 in generation 14.0.0, whose signature covers neither nonce nor timestamp. */
  readonly timestamp: bigint;
  /** 20 bytes, zero when none. */
  readonly chequebook: Uint8Array;
}

export interface AddressBook {
  get(overlayHex: string): AddressRecord | undefined;
  /** Rejects when the disk does not take it; the record is known all the same. */
  put(record: AddressRecord): Promise<void>;
  remove(overlayHex: string): Promise<void>;
  overlays(): string[];
}

export type Headers = ReadonlyMap<string, Uint8Array>;

/** One stream after the headers exchange. Frames: uvarint length ‖ protobuf, at most 128 KiB. */
export interface MessageStream {
  readonly peer: Peer;
  readonly headers: Headers;
  /**
   * @throws StreamError `STREAM_RESET`, `STREAM_ENDED` (other side closed first), `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`;
   *   the signal's reason
   */
  read<T extends MessageTable>(table: T, signal?: AbortSignal): Promise<MessageOf<T>>;
  /** Resolves when the transport has room again. Absent fields count as zero. */
  write<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Promise<void>;
  /** Ends the write side and waits up to 30 s for the other side's end; a byte instead of the end is an error. */
  close(): Promise<void>;
  /** Ends both sides at once. Safe to call at any time. */
  reset(reason: Error): void;
}

export type StreamErrorCode =
  | 'STREAM_RESET'
  | 'STREAM_ENDED'
  | 'MESSAGE_TOO_LARGE'
  | 'MESSAGE_MALFORMED'
  | 'PEER_NOT_FOUND'
  | 'PROTOCOL_UNSUPPORTED'
  | 'HEADERS_TIMEOUT';

export class StreamError extends CodedError<StreamErrorCode> {}

export interface ProtocolSpec {
  /** Other patch versions and lower minor versions are served too. */
  readonly id: string;
  /** Simultaneous inbound streams of one peer. */
  readonly inboundStreamsMax: number;
}

/** The host closes the stream when the promise resolves, and resets it when it rejects. */
export type ProtocolHandler = (stream: MessageStream, signal: AbortSignal) => Promise<void>;

/** Answers the headers of an inbound stream. */
export type HeadersAnswer = (peer: Peer, received: Headers) => Headers;

export type HostErrorCode =
  | 'ALREADY_CONNECTED'
  | 'SELF_DIAL'
  | 'PEER_BLOCKLISTED'
  | 'PEER_IS_LIGHT'
  /** The peer is none of those accepted. */
  | 'PEER_NOT_ALLOWED'
  | 'DIAL_FAILED'
  | 'DIAL_PAUSED'
  | 'HANDSHAKE_FAILED'
  | 'UNDERLAY_INVALID'
  | 'PEER_NOT_FOUND'
  | 'NETWORK_UNAVAILABLE'
  | 'HOST_CLOSED'
  | 'LISTEN_FAILED';

export class HostError extends Error {
  readonly code: HostErrorCode;
  /** Of `DIAL_PAUSED`: when to try again. */
  readonly retryAfterMs: number | undefined;

  constructor(code: HostErrorCode, message: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(message, options);
    this.name = 'HostError';
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** Yes when a dial or an inbound handshake succeeds, no when no route is found. */
export type NetworkStatus = 'Unknown' | 'Available' | 'Unavailable';

export interface BlocklistEntry {
  readonly overlay: string;
  readonly fullNode: boolean;
  readonly reason: string;
  /** 0: for ever. */
  readonly durationMs: number;
  readonly since: number;
}

/** Runs for every new peer, in registration order; a rejection disconnects the peer. */
export type ConnectHook = (peer: Peer, signal: AbortSignal) => Promise<void>;

export interface Host {
  readonly overlay: Uint8Array;
  /** Each with `/p2p/<id>`; empty before start. */
  underlays(): string[];
  handle(protocol: ProtocolSpec, handler: ProtocolHandler, answer?: HeadersAnswer): void;
  /**
   * @param options.signal ends the wait for headers, and later reads without a signal
   * @throws StreamError `PEER_NOT_FOUND`, `PROTOCOL_UNSUPPORTED`, `HEADERS_TIMEOUT`, `STREAM_RESET`
   */
  open(
    peer: Peer,
    protocolId: string,
    options: { signal?: AbortSignal; headers?: Headers },
  ): Promise<MessageStream>;
  /**
   * Dials the addresses in order, runs the handshake and the connect hooks. Skips our own addresses, unsupported transports,
   * and private addresses where they are not allowed.
   * @returns the peer, even when it is already connected, unless at exactly that address
   * @throws HostError; `ALREADY_CONNECTED` has the peer's overlay in its message
   */
  connect(underlays: readonly string[], signal: AbortSignal): Promise<Peer>;
  /**
   * Connects under a fresh identity, pings once and leaves; best address first. @returns round-trip time, ms
   * @throws HostError `DIAL_FAILED` after 15 s at most; the signal's reason
   */
  probe(underlays: readonly string[], signal: AbortSignal): Promise<number>;
  /** @throws HostError `PEER_NOT_FOUND` */
  disconnect(overlayHex: string, reason: string): Promise<void>;
  /**
   * Disconnects and refuses the peer for `durationMs` (0: for ever); a second entry keeps the longer duration.
   * @throws HostError `NETWORK_UNAVAILABLE`: without a network the fault is not the peer's
   */
  blocklist(overlayHex: string, durationMs: number, reason: string): Promise<void>;
  /**
   * Counts, across connections, what no honest node sends. After a few, the peer is disconnected and refused for a while.
   * @param weight default 1; less for what an honest node may pass on unchecked
   */
  misbehaved(peer: Peer, what: string, weight?: number): void;
  /** It, or others of its public address, misbehaved lately. */
  isSuspect(peer: Peer): boolean;
  blocklisted(): BlocklistEntry[];
  networkStatus(): NetworkStatus;
  peer(overlayHex: string): Peer | undefined;
  /** Peers whose connect hooks have run. */
  peers(): Peer[];
  /** Refuses an inbound full peer when it returns false. */
  setPicker(picker: (overlay: Uint8Array, fullNode: boolean) => boolean): void;
  onConnect(hook: ConnectHook): void;
  /** Once per peer, after all hooks passed. */
  onConnected(listener: (peer: Peer) => void): void;
  onDisconnected(listener: (peer: Peer, reason: string) => void): void;
  welcomeMessage(): string;
  /** @throws RangeError above 140 bytes */
  setWelcomeMessage(text: string): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}
