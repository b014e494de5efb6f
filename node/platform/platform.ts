/**
 * Everything a node takes from the world around it. `startNode` receives one platform and builds the node on it; no code
 * of the node knows which one it is. There are two: the machine (`machine.ts`), and memory (`memory.ts`), on
 * which many nodes run in one process and can be stopped from outside.
 *
 * The parts are independent: `{ ...machinePlatform(...), clock }` is a machine with another clock. Therefore
 * every function receives the clock and the randomness it needs instead of keeping those of its own platform.
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

/** Secrets of a node, 32 bytes each. */
export interface NodeKeys {
  /** secp256k1 scalar of the chain account and the overlay. */
  readonly swarm: Uint8Array;
  /** Ed25519 seed of the libp2p identity. */
  readonly libp2p: Uint8Array;
  /** secp256k1 scalar of the key that messages are sealed for. */
  readonly pss: Uint8Array;
}

export interface LogSettings {
  readonly verbosity: Verbosity;
  /** Written into every log line. */
  readonly name?: string;
}

export interface Platform {
  readonly clock: Clock;
  readonly random: Random;
  /** Lines of the exposition that describe the process; absent where several nodes share a process. */
  readonly processMetrics?: (() => Promise<string[]>) | undefined;
  /** Absent where the node's own thread does everything. */
  readonly workers?:
    | ((
        options: WorkerOptions,
        deps: { readonly clock: Clock; readonly log: Logger; readonly onWork: (operations: number) => void },
      ) => Workers)
    | undefined;
  readonly logger: (settings: LogSettings, deps: { readonly clock: Clock }) => RootLogger;
  /** The same keys at every start. @throws KeystoreError, StoreError */
  readonly keys: (deps: { readonly random: Random }) => Promise<NodeKeys>;
  /** Contains everything that an earlier start of this node had acknowledged. @throws StoreError */
  readonly store: (options: LocalStoreOptions, deps: LocalStoreDeps) => Promise<LocalStore>;
  /** Text of a file that an option names. @throws Error of the system */
  readonly readText: (path: string) => Promise<string>;
  readonly host: (options: HostOptions, deps: HostDeps) => Host;
  /** @param url that accepts traces, with its path */
  readonly spanExporter: (url: string) => Promise<SpanExporter>;
  /** @throws TypeError for an unsupported URL */
  readonly chainEndpoint: (url: string) => ChainEndpoint;
  /** @param address `host:port`; port 0 takes a free one @throws ApiStartError */
  readonly listen: (
    listener: Listener,
    address: string,
    deps: { readonly clock: Clock },
  ) => Promise<Listening>;
}
