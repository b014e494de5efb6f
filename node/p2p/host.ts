/**
 * What a protocol may do with the network. There are two hosts: `libp2p-host.ts` (TCP, noise, yamux) and
 * `memory-host.ts` (nodes of one process, virtual clock). A protocol file never imports libp2p.
 */
import { CodedError } from '../../formats/coded-error.ts';
import type { MessageOf, MessageTable } from './codec/message.ts';

/**
 * Handshake version spoken with a peer; it says which records and which gossip the peer understands. The older one is
 * that of Bee v2.7: its records have no timestamp.
 */
export type Generation = '15.0.0' | '14.0.0';

/** A peer that has completed the handshake. One object per connection session; compare by `overlayHex`. */
export interface Peer {
  /** 64 hex: key of every map. */
  readonly overlayHex: string;
  /** The same, 32 bytes. */
  readonly overlay: Uint8Array;
  /** Chain address recovered from the handshake record, 20 bytes. */
  readonly ethereum: Uint8Array;
  readonly fullNode: boolean;
  readonly direction: 'inbound' | 'outbound';
  readonly generation: Generation;
  /**
   * Multiaddress of the connection's other end, without its identity: unlike the record, the peer cannot make
   * it up.
   */
  readonly remoteAddress: string;
  /** Multiaddresses of its signed record, each ending in `/p2p/<peer id>`. */
  readonly underlays: readonly string[];
  readonly welcomeMessage: string;
  /** Monotonic time of the handshake, ms. */
  readonly connectedAt: number;
  /** Aborts when the connection is gone. */
  readonly closed: AbortSignal;
}

/** A peer's signed statement of its addresses; what hive gossips. `p2p-protocols.md` 3. */
export interface AddressRecord {
  readonly overlay: Uint8Array;
  /** Underlay bytes exactly as signed (3.2); never re-encode. */
  readonly underlay: Uint8Array;
  readonly signature: Uint8Array;
  readonly nonce: Uint8Array;
  /** Unix seconds; 0 in a record of generation 14.0.0, whose signature covers neither nonce nor timestamp. */
  readonly timestamp: bigint;
  /** 20 bytes, zero when none. */
  readonly chequebook: Uint8Array;
}

/** Known peers, connected or not; persisted in the state store. */
export interface AddressBook {
  get(overlayHex: string): AddressRecord | undefined;
  /** Rejects when the disk does not take it: it is known all the same, and written when it is put again. */
  put(record: AddressRecord): Promise<void>;
  remove(overlayHex: string): Promise<void>;
  overlays(): string[];
}

export type Headers = ReadonlyMap<string, Uint8Array>;

/** One stream of one protocol, after the headers exchange. Frames: uvarint length ‖ protobuf, at most 128 KiB. */
export interface MessageStream {
  readonly peer: Peer;
  /** What the other side sent in the headers exchange. */
  readonly headers: Headers;
  /**
   * Next message. @throws StreamError `STREAM_RESET`, `STREAM_ENDED` (other side closed first),
   * `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`; the signal's reason when it aborts.
   */
  read<T extends MessageTable>(table: T, signal?: AbortSignal): Promise<MessageOf<T>>;
  /**
   * Resolves when the transport has room again. Absent fields are sent as zero values, that is, not at all.
   */
  write<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Promise<void>;
  /** Full close: ends the write side, waits up to 30 s for the other side's end. A byte instead of the end is an error. */
  close(): Promise<void>;
  /** Ends both sides at once; the other side sees a reset. Safe to call at any time, twice, after close. */
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

/** What a node registers for one stream protocol. */
export interface ProtocolSpec {
  /** `/swarm/<name>/<version>/<stream>`; other patch versions and lower minor versions are served too. */
  readonly id: string;
  /** Largest number of simultaneous inbound streams of one peer; bounds memory. */
  readonly inboundStreamsMax: number;
}

/**
 * Serving side. The host closes the stream when the promise resolves (full close) and resets it when it rejects;
 * a rejection is logged at debug and is never fatal.
 */
export type ProtocolHandler = (stream: MessageStream, signal: AbortSignal) => Promise<void>;

/**
 * Answers the headers of an inbound stream (swap sends rates, pullsync announces that it waits); most
 * protocols have none.
 */
export type HeadersAnswer = (peer: Peer, received: Headers) => Headers;

export type HostErrorCode =
  /** At exactly that address. */
  | 'ALREADY_CONNECTED'
  | 'SELF_DIAL'
  | 'PEER_BLOCKLISTED'
  | 'PEER_IS_LIGHT'
  /** This node accepts only the peers that it was given. */
  | 'PEER_NOT_ALLOWED'
  | 'DIAL_FAILED'
  /** Too many dials have failed; `retryAfterMs` says when to try again. */
  | 'DIAL_PAUSED'
  | 'HANDSHAKE_FAILED'
  | 'UNDERLAY_INVALID'
  | 'PEER_NOT_FOUND'
  | 'NETWORK_UNAVAILABLE'
  | 'HOST_CLOSED'
  | 'LISTEN_FAILED';

export class HostError extends Error {
  readonly code: HostErrorCode;
  /** Of `DIAL_PAUSED`. */
  readonly retryAfterMs: number | undefined;

  constructor(code: HostErrorCode, message: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(message, options);
    this.name = 'HostError';
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/**
 * Whether this machine has a network: yes when a dial or an inbound handshake succeeds, no when no route is
 * found.
 */
export type NetworkStatus = 'Unknown' | 'Available' | 'Unavailable';

export interface BlocklistEntry {
  /** Overlay hex. */
  readonly overlay: string;
  readonly fullNode: boolean;
  readonly reason: string;
  /** 0: for ever. */
  readonly durationMs: number;
  readonly since: number;
}

/** Runs for every new peer, in registration order, before it is used; a rejection disconnects the peer. */
export type ConnectHook = (peer: Peer, signal: AbortSignal) => Promise<void>;

export interface Host {
  /** Own overlay, 32 bytes. */
  readonly overlay: Uint8Array;
  /** Own advertised underlays, each with `/p2p/<id>`. Empty before start. */
  underlays(): string[];
  handle(protocol: ProtocolSpec, handler: ProtocolHandler, answer?: HeadersAnswer): void;
  /**
   * @param options.signal ends the wait for the other side's headers, and later reads without a signal
   * @throws StreamError `PEER_NOT_FOUND`, `PROTOCOL_UNSUPPORTED`, `HEADERS_TIMEOUT`, `STREAM_RESET`
   */
  open(
    peer: Peer,
    protocolId: string,
    options: { signal?: AbortSignal; headers?: Headers },
  ): Promise<MessageStream>;
  /**
   * Dials the addresses in order, runs the handshake and the connect hooks. Skips our own addresses, those of
   * unsupported transports, and private ones where they are not allowed.
   * @param underlays multiaddresses with or without `/p2p/`
   * @returns the peer; the existing one when it is already connected, but not at exactly that address
   * @throws HostError; `ALREADY_CONNECTED` carries the peer's overlay in its message
   */
  connect(underlays: readonly string[], signal: AbortSignal): Promise<Peer>;
  /**
   * Checks that strangers can reach a node there: connects under a fresh identity, pings once and leaves;
   * best address first. @returns round-trip time of the ping, ms @throws HostError `DIAL_FAILED` after 15 s
   * at most; the signal's reason
   */
  probe(underlays: readonly string[], signal: AbortSignal): Promise<number>;
  /** @throws HostError `PEER_NOT_FOUND` */
  disconnect(overlayHex: string, reason: string): Promise<void>;
  /**
   * Disconnects and refuses the peer for `durationMs` (0: for ever); a second entry keeps the longer duration.
   * @throws HostError `NETWORK_UNAVAILABLE`: without a network, an apparent fault of the peer is not its own
   */
  blocklist(overlayHex: string, durationMs: number, reason: string): Promise<void>;
  /**
   * Counts something that no honest node sends. A few are tolerated; then the peer is disconnected and
   * refused for a while. The count persists across connections. @param what for the log and the blocklist
   * @param weight default 1; less for what an honest node may pass on from others unchecked
   */
  misbehaved(peer: Peer, what: string, weight?: number): void;
  /** Whether it has misbehaved lately, or others of its public address have. */
  isSuspect(peer: Peer): boolean;
  blocklisted(): BlocklistEntry[];
  networkStatus(): NetworkStatus;
  peer(overlayHex: string): Peer | undefined;
  /** Connected peers whose connect hooks have run, so that every part of the node knows them. */
  peers(): Peer[];
  /** Refuses an inbound full peer in the handshake when it returns false (topology picker). */
  setPicker(picker: (overlay: Uint8Array, fullNode: boolean) => boolean): void;
  onConnect(hook: ConnectHook): void;
  /** Called once per peer after all hooks passed. */
  onConnected(listener: (peer: Peer) => void): void;
  onDisconnected(listener: (peer: Peer, reason: string) => void): void;
  welcomeMessage(): string;
  /** @throws RangeError above 140 bytes */
  setWelcomeMessage(text: string): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}
