/** The parts of a dishonest node's behaviour. */

import type { Clock } from '../../../formats/clock.ts';
import type { Random } from '../../../formats/random.ts';
import type { ChainEndpoint } from '../../../node/onchain/rpc.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import type { Host, Peer, ProtocolHandler } from '../../../node/p2p/host.ts';
import type { HostDeps, HostOptions } from '../../../node/p2p/host-options.ts';

/** What a behaviour acts on. */
export interface Stage {
  /** The node's honest host: its streams are not tampered with. */
  readonly host: Host;
  readonly options: HostOptions;
  readonly deps: HostDeps;
  readonly clock: Clock;
  readonly random: Random;
  /** A host on the same network, for further identities. */
  readonly newHost: (options: HostOptions, deps: HostDeps) => Host;
  /** Of the chain that the node uses. */
  readonly chain: () => ChainEndpoint;
  /** Aborts when the node stops. */
  readonly signal: AbortSignal;
  /** Addresses of chunks that the node has heard of. */
  readonly heard: ReadonlySet<string>;
  /** Counts what the behaviour has done. */
  readonly count: (what: string, by?: number) => void;
}

/** A message that the node writes. */
export interface Written {
  readonly peer: Peer;
  readonly protocol: string;
  readonly table: MessageTable;
  readonly message: Partial<MessageOf<MessageTable>>;
}

export interface Behaviour {
  /** One sentence. */
  readonly about: string;
  /** Stream handlers by protocol id, instead of the node's. */
  serves?(stage: Stage): Readonly<Record<string, ProtocolHandler>>;
  /** What is written instead. */
  alters?(stage: Stage): (written: Written) => Written['message'] | Promise<Written['message']>;
  /** Whether to keep the node from opening a stream of a protocol. */
  withholds?(stage: Stage): (protocol: string) => boolean;
  /** What it does on its own, until the stage's signal aborts. */
  acts?(stage: Stage): Promise<void>;
}
