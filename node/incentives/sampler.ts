/** Samples under the terms that all players of a round share. `node-behaviour.md` 9.2. */

import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Metrics } from '../env/metrics.ts';
import { SingleFlight } from '../env/turns/single-flight.ts';
import type { SendingChain } from '../onchain/chain.ts';
import type { BatchStore } from '../postage/ports.ts';
import { SAMPLE_METRICS } from './metrics.ts';
import { consensusBlock, minimumValue, stampedUntil } from './rules.ts';
import { commitmentHash, type SampleDeps, type SampleItem, sampleReserve } from './sample.ts';

export interface SamplerDeps extends SampleDeps {
  readonly chain: Pick<SendingChain, 'timestamp'>;
  readonly postage: SampleDeps['postage'] & { readonly batches: Pick<BatchStore, 'get' | 'chainState'> };
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly metrics: Metrics;
}

export interface SampleRequest {
  readonly anchor: Uint8Array;
  readonly depth: number;
  /** Sampled as of its time, with batches that outlast the next round. */
  readonly round: number;
}

export interface MadeSample {
  readonly items: readonly SampleItem[];
  /** 32 bytes. */
  readonly hash: Uint8Array;
}

/** @throws (from it) ChainError */
export type Sampler = (request: SampleRequest, signal: AbortSignal) => Promise<MadeSample>;

/** Equal requests share one read of the reserve. */
export function createSampler({ roundLength }: { readonly roundLength: number }, deps: SamplerDeps): Sampler {
  const { chain, postage, clock } = deps;
  const flights = new SingleFlight<MadeSample>();
  const { duration } = deps.metrics.register(SAMPLE_METRICS);

  async function make({ anchor, depth, round }: SampleRequest, signal: AbortSignal): Promise<MadeSample> {
    const startedAt = clock.monotonic();
    let status = 'failure';
    try {
      const timestamp = await chain.timestamp(consensusBlock(round, roundLength), signal);
      const terms = {
        anchor,
        depth,
        stampedUntilNs: stampedUntil(timestamp),
        minimumValue: minimumValue(postage.batches.chainState(), { round, roundLength }),
      };
      const items = await sampleReserve(terms, deps, signal);
      status = 'success';
      return { items, hash: commitmentHash(items) };
    } finally {
      duration.observe({ status }, (clock.monotonic() - startedAt) / 1000);
    }
  }

  return (request, signal) => flights.join(keyOf(request), signal, (shared) => make(request, shared));
}

export function keyOf({ anchor, depth, round }: SampleRequest): string {
  return `${toHex(anchor)}/${depth}/${round}`;
}
