import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../formats/clock.ts';
import { type Random, systemRandom } from '../../formats/random.ts';
import { listen } from '../api/listen.ts';
import { createLogger } from '../env/logger.ts';
import { createProcessMetrics } from '../env/process-metrics.ts';
import { httpEndpoint } from '../onchain/http-endpoint.ts';
import { createLibp2pHost } from '../p2p/libp2p-host.ts';
import { loadOrCreateKey } from '../store/key-store.ts';
import { openLmdbStore } from '../store/lmdb-store.ts';
import type { NodeKeys, Platform } from './platform.ts';
import { createWorkerThreads } from './workers/worker-threads.ts';

export interface MachineOptions {
  readonly dataDir: string;
  readonly password: string;
}

export function machinePlatform({ dataDir, password }: MachineOptions): Platform {
  const path = join(dataDir, 'store');
  return {
    clock: systemClock(),
    random: systemRandom(),
    processMetrics: createProcessMetrics(),
    workers: createWorkerThreads,
    logger: createLogger,
    keys: ({ random }) => loadKeys({ directory: join(dataDir, 'keys'), password }, random),
    store: (options, deps) => openLmdbStore({ ...options, path }, deps),
    readText: (file) => readFile(file, 'utf8'),
    host: createLibp2pHost,
    chainEndpoint: httpEndpoint,
    spanExporter: async (url) => (await import('../env/tracing/otlp.ts')).otlpExporter(url),
    listen,
  };
}

async function loadKeys(at: { directory: string; password: string }, random: Random): Promise<NodeKeys> {
  const load = async (name: keyof NodeKeys, kind: 'secp256k1' | 'ed25519') => {
    const { secret } = await loadOrCreateKey({ ...at, name, kind }, { random });
    return secret;
  };
  return {
    swarm: await load('swarm', 'secp256k1'),
    libp2p: await load('libp2p', 'ed25519'),
    pss: await load('pss', 'secp256k1'),
  };
}
