/** What routes need from a node, and their only source. `compose/services.ts` fills it in. */

import type { Clock } from '../../formats/clock.ts';
import type { Random } from '../../formats/random.ts';
import type { Accounting } from '../accounting/ports.ts';
import type { AccessControl } from '../act/access-control.ts';
import type { ChunkEvents } from '../env/chunk-events.ts';
import type { Logger, RootLogger } from '../env/logger.ts';
import type { Metrics } from '../env/metrics.ts';
import type { Tracing } from '../env/tracing/tracing.ts';
import type { Workers } from '../env/workers.ts';
import type { Netstore } from '../files/netstore.ts';
import type { Stewardship } from '../files/stewardship.ts';
import type { Uploader } from '../files/upload.ts';
import type { Redistribution, Staking } from '../incentives/ports.ts';
import type { Congestion } from '../neighbourhood/reserve-worker.ts';
import type { Chain, Transactions } from '../onchain/ports.ts';
import type { Wallet } from '../onchain/wallet.ts';
import type { Host } from '../p2p/host.ts';
import type { Postage } from '../postage/ports.ts';
import type { Pingpong } from '../protocols/pingpong/pingpong.ts';
import type { Pseudosettle } from '../protocols/pseudosettle/pseudosettle.ts';
import type { Held } from '../protocols/pushsync/pusher.ts';
import type { Status, StatusSnapshot } from '../protocols/status/status.ts';
import type { Gsoc } from '../pss/gsoc.ts';
import type { Pss } from '../pss/pss.ts';
import type { LocalStore } from '../store/ports.ts';
import type { Cashout } from '../swap/cashout.ts';
import type { Chequebook } from '../swap/chequebook.ts';
import type { SwapServices } from '../swap/services.ts';
import type { Topology } from '../topology/topology.ts';

export interface NodeServices {
  readonly node: NodeFacts;
  readonly readiness: Readiness;
  readonly store: Pick<
    LocalStore,
    'chunks' | 'chunkTotals' | 'tags' | 'uploads' | 'pins' | 'cache' | 'reserve' | 'disk'
  >;
  readonly postage: Postage;
  readonly uploader: Uploader;
  /** Undefined: hashing is on the main thread. */
  readonly workers: Workers | undefined;
  readonly netstore: Netstore;
  readonly stewardship: Stewardship;
  readonly accessControl: AccessControl;
  readonly host: Pick<
    Host,
    | 'overlay'
    | 'underlays'
    | 'connect'
    | 'disconnect'
    | 'blocklisted'
    | 'peer'
    | 'peers'
    | 'welcomeMessage'
    | 'setWelcomeMessage'
  >;
  readonly topology: Pick<Topology, 'storageRadius' | 'snapshot'>;
  readonly accounting: Pick<Accounting, 'balances' | 'balance'>;
  readonly pss: Pick<Pss, 'send' | 'subscribe'>;
  readonly gsoc: Pick<Gsoc, 'subscribe'>;
  readonly swap: Swap | undefined;
  readonly timeSettlements: Pick<Pseudosettle, 'settlements'>;
  readonly pingpong: Pingpong;
  readonly status: StatusReader;
  readonly backlog: () => { readonly congestion: Congestion; readonly uploads: readonly Held[] };
  readonly chunkEvents: Pick<ChunkEvents, 'capacity' | 'page'> | undefined;
  readonly chain: Pick<Chain, 'blockNumber' | 'chainId'>;
  readonly staking: Staking;
  readonly redistribution: Redistribution;
  readonly transactions: Pick<Transactions, 'find' | 'pending' | 'resend' | 'cancel'>;
  readonly wallet: Wallet & {
    /** 20 bytes; zero without a chequebook. */
    chequebook(): Uint8Array;
  };
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly loggers: Pick<RootLogger, 'registered'>;
}

interface NodeFacts {
  readonly version: string;
  readonly mode: 'full' | 'light' | 'ultra-light';
  readonly chequebookEnabled: boolean;
  readonly swapEnabled: boolean;
  readonly incentivesEnabled: boolean;
  readonly capacityDoubling: number;
  /** 20 bytes. */
  readonly ethereum: Uint8Array;
  /** 33 bytes, compressed. */
  readonly publicKey: Uint8Array;
  readonly pssPublicKey: Uint8Array;
}

export interface Readiness {
  /** 'ready': every component has started. */
  state(): 'starting' | 'ready' | 'failed';
}

interface StatusReader extends Pick<Status, 'request'> {
  local(): StatusSnapshot;
  isWarmingUp(): boolean;
}

/** Its chequebook is undefined on a node that sends none. */
interface Swap extends Pick<SwapServices, 'settlements' | 'settlement' | 'lastCheques' | 'lastChequesWith'> {
  readonly cashout: Pick<Cashout, 'cash' | 'status'>;
  readonly chequebook:
    | Pick<Chequebook, 'address' | 'balance' | 'availableBalance' | 'deposit' | 'withdraw'>
    | undefined;
}
