/**
 * Everything a node takes from the world: the machine (`machine.ts`), or memory (`memory.ts`), where many nodes run in one
 * process. The parts are independent (`{ ...machinePlatform(...), clock }`), so every function receives the clock and
 * randomness it needs.
 */
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock } from '../../formats/clock.ts';
import type { Random } from '../../formats/random.ts';
import type { Listener, Listening } from '../api/listen.ts';
import type { Logger, RootLogger } from '../env/logger.ts';
import type { Verbosity } from '../env/verbosity.ts';
import type { WorkerOptions, Workers } from '../env/workers.ts';
import type { ChainEndpoint } from '../onchain/rpc.ts';
import type { Host } from '../p2p/host.ts';
import type { HostDeps, HostOptions } from '../p2p/host-options.ts';
import type { LocalStoreDeps, LocalStoreOptions } from '../store/local-store.ts';
import type { LocalStore } from '../store/ports.ts';

/** 32 bytes each. */
export interface NodeKeys {
  /** secp256k1 scalar: chain account and overlay. */
  readonly swarm: Uint8Array;
  /** Ed25519 seed. */
  readonly libp2p: Uint8Array;
  /** secp256k1 scalar: messages. */
  readonly pss: Uint8Array;
}

export interface LogSettings {
  readonly verbosity: Verbosity;
  readonly name?: string;
}

/** Amounts that a node chooses for itself: its peers work with any. Absent: as its parts have them. */
export interface Limits {
  /** Entries of one offer of pull syncing. */
  readonly offeredEntries?: number | undefined;
  /** Chunks being pushed at once. */
  readonly pushes?: number | undefined;
  /** Searches for one requester at once. */
  readonly searches?: number | undefined;
  /** Records in one message to a peer. */
  readonly gossipedPeers?: number | undefined;
  /** Changes that a store in memory makes between two turns of other work. */
  readonly storeGroup?: number | undefined;
  /** Blocks per request for logs. */
  readonly logBlocks?: number | undefined;
}

export interface Platform {
  readonly clock: Clock;
  readonly random: Random;
  readonly limits?: Limits | undefined;
  /** About the process; absent where nodes share one. */
  readonly processMetrics?: (() => Promise<string[]>) | undefined;
  /** Absent: the main thread does everything. */
  readonly workers?:
    | ((
        options: WorkerOptions,
        deps: { readonly clock: Clock; readonly log: Logger; readonly onWork: (operations: number) => void },
      ) => Workers)
    | undefined;
  readonly logger: (settings: LogSettings, deps: { readonly clock: Clock }) => RootLogger;
  /** The same at every start. @throws KeystoreError, StoreError */
  readonly keys: (deps: { readonly random: Random }) => Promise<NodeKeys>;
  /** Has everything that was acknowledged before. @throws StoreError */
  readonly store: (options: LocalStoreOptions, deps: LocalStoreDeps) => Promise<LocalStore>;
  /** Of a file that an option names. @throws Error of the system */
  readonly readText: (path: string) => Promise<string>;
  readonly host: (options: HostOptions, deps: HostDeps) => Host;
  /** @param url with its path */
  readonly spanExporter: (url: string) => Promise<SpanExporter>;
  /** @throws TypeError for an unsupported URL */
  readonly chainEndpoint: (url: string) => ChainEndpoint;
  /** @param address port 0 takes a free one @throws ApiStartError */
  readonly listen: (
    listener: Listener,
    address: string,
    deps: { readonly clock: Clock },
  ) => Promise<Listening>;
}
