import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { overlayAddress } from '../../formats/crypto/overlay.ts';
import { createSigner, type Signer } from '../../formats/crypto/signer.ts';
import type { Random } from '../../formats/random.ts';
import { shownUrl } from '../../formats/shown-url.ts';
import { VERSION } from '../../formats/version.ts';
import { dialectOf } from '../api/dialect.ts';
import { ChunkEvents } from '../env/chunk-events.ts';
import type { Logger, RootLogger } from '../env/logger.ts';
import { createMetrics, type Metrics } from '../env/metrics.ts';
import type { Tracing } from '../env/tracing/tracing.ts';
import type { Workers } from '../env/workers.ts';
import type { NodeOptions } from '../options.ts';
import type { NodeKeys, Platform } from '../platform/platform.ts';
import type { LocalStore } from '../store/ports.ts';
import { LOG_METRICS, NODE_METRICS, WORKER_METRICS } from './metrics.ts';

/** None is mined. */
const OVERLAY_NONCE = new Uint8Array(32);
/** Name of a node without one. */
const SERVICE_NAME = 'svc';
const OTLP_PATH = '/v1/traces';

/** Input of a start, with the parts to be stopped at its end. */
export interface Start {
  readonly platform: Platform;
  readonly log: RootLogger;
  /** Disposing stops the last one first. */
  readonly parts: AsyncDisposableStack;
  readonly onFatal: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export interface Foundation extends Start {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Undefined: sends no traces. */
  readonly tracing: Tracing | undefined;
  readonly module: (name: string) => Logger;
  readonly keys: NodeKeys;
  /** Chain account and overlay. */
  readonly signer: Signer;
  /** Undefined: the main thread does everything. */
  readonly workers: Workers | undefined;
  readonly networkId: bigint;
  readonly nonce: Uint8Array;
  readonly overlay: Uint8Array;
  readonly serving: boolean;
  /** Chunks, doublings included. */
  readonly reserveCapacity: number;
  readonly store: LocalStore;
  /** Undefined: none are kept. */
  readonly events: ChunkEvents | undefined;
}

/** @throws KeystoreError, StoreError */
export async function layFoundation(options: NodeOptions, start: Start): Promise<Foundation> {
  const { platform, log, parts } = start;
  const { clock, random, processMetrics } = platform;
  const metrics = createMetrics({
    prefix: dialectOf(options['api-dialect']).metricPrefix,
    process: processMetrics,
  });
  const lines = metrics.register(LOG_METRICS);
  log.onLine((level) => lines[level].inc());
  const keys = await platform.keys({ random });
  const signer = createSigner(keys.swarm);
  const networkId = BigInt(options['network-id']);
  const overlay = overlayOf(signer, networkId);
  const module = (name: string) => log.child({ module: name });
  const { threads, operations } = metrics.register(WORKER_METRICS);
  const workers = platform.workers?.(
    { threads: options.workers, privateKey: keys.swarm },
    { clock, log: module('workers'), onWork: (count) => operations.inc(count) },
  );
  threads.from(() => workers?.running ?? 0);
  if (workers !== undefined) parts.defer(() => workers.stop());
  const tracing = await openTracing(options, { platform, overlay, log: module('tracing') });
  if (tracing !== undefined) parts.defer(() => tracing.stop());
  const serving = options['full-node'] && !options['bootnode-mode'];
  const reserveCapacity = options['reserve-capacity'] * 2 ** options['reserve-capacity-doubling'];
  const kept = options['chunk-events'];
  const events = kept === 0 ? undefined : new ChunkEvents(kept, clock);
  const store = await platform.store(
    {
      cacheCapacity: options['cache-capacity'],
      reserveCapacity: serving ? reserveCapacity : 0,
      radius: options['minimum-storage-radius'],
      convergent: options['pullsync-v2-enable'],
      durability: options.durability,
    },
    { clock, log, overlay, events },
  );
  parts.defer(() => store.close());
  const { info, cacheSize, diskFull, chunksDamaged, chunksHealed } = metrics.register(NODE_METRICS);
  info.set({ version: VERSION }, 1);
  cacheSize.from(() => store.cache.size());
  diskFull.from(() => (store.disk.isFull() ? 1 : 0));
  store.damage.onDamaged(() => chunksDamaged.inc());
  store.damage.onHealed(() => chunksHealed.inc());
  return {
    ...start,
    clock,
    random,
    metrics,
    tracing,
    module,
    keys,
    signer,
    workers,
    networkId,
    nonce: OVERLAY_NONCE,
    overlay,
    serving,
    reserveCapacity,
    store,
    events,
  };
}

/** @returns 32 bytes */
export function overlayOf({ address }: Pick<Signer, 'address'>, networkId: bigint): Uint8Array {
  return overlayAddress(address, networkId, OVERLAY_NONCE);
}

/** Loads the code only if needed. */
async function openTracing(
  options: NodeOptions,
  { platform, overlay, log }: { platform: Platform; overlay: Uint8Array; log: Logger },
): Promise<Tracing | undefined> {
  if (!options['tracing-enable']) return undefined;
  const { createTracing } = await import('../env/tracing/open-telemetry.ts');
  const endpoint = tracesUrl(options['tracing-endpoint']);
  const { clock, random } = platform;
  return createTracing(
    {
      serviceName: options['tracing-service-name'] || options['node-name'] || SERVICE_NAME,
      version: VERSION,
      instance: toHex(overlay),
      ratio: options['tracing-sampling-ratio'],
      endpoint: shownUrl(endpoint.href),
    },
    { exporter: await platform.spanExporter(endpoint.href), clock, random, log },
  );
}

/** Without a path the receiver gets OTLP's default one. */
function tracesUrl(endpoint: string): URL {
  const url = new URL(endpoint);
  if (url.pathname === '/') url.pathname = OTLP_PATH;
  return url;
}
