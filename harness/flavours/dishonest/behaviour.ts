import type { Clock } from '../../../formats/clock.ts';
import type { Random } from '../../../formats/random.ts';
import type { ChainEndpoint } from '../../../node/onchain/rpc.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import type { Host, Peer, ProtocolHandler } from '../../../node/p2p/host.ts';
import type { HostDeps, HostOptions } from '../../../node/p2p/host-options.ts';

/** What a behaviour acts on. */
export interface Stage {
  readonly host: Host;
  readonly options: HostOptions;
  readonly deps: HostDeps;
  readonly clock: Clock;
  readonly random: Random;
  readonly newHost: (options: HostOptions, deps: HostDeps) => Host;
  readonly chain: () => ChainEndpoint;
  /** Aborts when the node stops. */
  readonly signal: AbortSignal;
  /** Addresses of chunks that the node has heard of. */
  readonly heard: ReadonlySet<string>;
  readonly count: (what: string, by?: number) => void;
}

export interface Written {
  readonly peer: Peer;
  readonly protocol: string;
  readonly table: MessageTable;
  readonly message: Partial<MessageOf<MessageTable>>;
}

export interface Behaviour {
  readonly about: string;
  /** Stream handlers by protocol id, instead of the node's. */
  serves?(stage: Stage): Readonly<Record<string, ProtocolHandler>>;
  alters?(stage: Stage): (written: Written) => Written['message'] | Promise<Written['message']>;
  /** Keeps the node from opening a stream of a protocol. */
  withholds?(stage: Stage): (protocol: string) => boolean;
  /** Acts on its own until the stage's signal aborts. */
  acts?(stage: Stage): Promise<void>;
}
