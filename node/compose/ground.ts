/** What every part of a node stands on: its clock, its keys and who it is by them, its role, its store. */
import { join } from 'node:path';
import { dialectOf } from '../api/dialect.ts';
import { overlayAddress } from '../crypto/overlay.ts';
import { createSigner, type Signer } from '../crypto/signer.ts';
import { type Clock, systemClock } from '../env/clock.ts';
import type { Logger, RootLogger } from '../env/logger.ts';
import { createMetrics, type Metrics } from '../env/metrics.ts';
import { type Random, systemRandom } from '../env/random.ts';
import type { NodeOptions } from '../options.ts';
import { loadOrCreateKey } from '../store/key-store.ts';
import { openLmdbStore } from '../store/lmdb-store.ts';
import type { LocalStore } from '../store/ports.ts';

/** Default overlay nonce: none is mined. */
const OVERLAY_NONCE = new Uint8Array(32);

/** How one start of a node is told what it needs to know, and what it leaves to be ended. */
export interface Start {
  readonly log: RootLogger;
  /** What was started, in order; disposing it stops the last one first. */
  readonly parts: AsyncDisposableStack;
  readonly onFatal: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export interface Ground extends Start {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** The log of one module. */
  readonly module: (name: string) => Logger;
  readonly keys: Keys;
  /** Of the chain account and of the overlay. */
  readonly signer: Signer;
  readonly networkId: bigint;
  readonly nonce: Uint8Array;
  readonly overlay: Uint8Array;
  /** It stores and forwards for others. */
  readonly serving: boolean;
  /** Chunks, with the doublings. */
  readonly reserveCapacity: number;
  readonly store: LocalStore;
}

interface Keys {
  readonly swarm: Uint8Array;
  readonly libp2p: Uint8Array;
  readonly pss: Uint8Array;
}

/** @throws KeystoreError, StoreError */
export async function layGround(options: NodeOptions, start: Start): Promise<Ground> {
  const { log, parts } = start;
  const clock = systemClock();
  const random = systemRandom();
  const metrics = createMetrics({ prefix: dialectOf(options['api-dialect']).metricPrefix, process: true });
  const keys = await loadKeys(options, random);
  const signer = createSigner(keys.swarm);
  const networkId = BigInt(options['network-id']);
  const overlay = overlayAddress(signer.address, networkId, OVERLAY_NONCE);
  const serving = options['full-node'] && !options['bootnode-mode'];
  const reserveCapacity = options['reserve-capacity'] * 2 ** options['reserve-capacity-doubling'];
  const store = await openLmdbStore(
    {
      path: join(options['data-dir'], 'store'),
      cacheCapacity: options['cache-capacity'],
      reserveCapacity: serving ? reserveCapacity : 0,
      radius: options['minimum-storage-radius'],
    },
    { clock, log, overlay },
  );
  parts.defer(() => store.close());
  return {
    ...start,
    clock,
    random,
    metrics,
    module: (name) => log.child({ module: name }),
    keys,
    signer,
    networkId,
    nonce: OVERLAY_NONCE,
    overlay,
    serving,
    reserveCapacity,
    store,
  };
}

async function loadKeys(options: NodeOptions, random: Random): Promise<Keys> {
  const load = async (name: keyof Keys, kind: 'secp256k1' | 'ed25519') => {
    const directory = join(options['data-dir'], 'keys');
    const { secret } = await loadOrCreateKey(
      { directory, name, password: options.password, kind },
      { random },
    );
    return secret;
  };
  return {
    swarm: await load('swarm', 'secp256k1'),
    libp2p: await load('libp2p', 'ed25519'),
    pss: await load('pss', 'secp256k1'),
  };
}
