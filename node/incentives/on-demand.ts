/**
 * Samples on request. Each walks the whole reserve, so they are made one by one, and few may wait. The game waits for none.
 */
import { Lock } from '../env/turns/lock.ts';
import { SingleFlight } from '../env/turns/single-flight.ts';
import { IncentivesError } from './ports.ts';
import { keyOf, type MadeSample, type Sampler } from './sampler.ts';

/** One is being made, the others wait: two walks at once would each take twice as long. */
export const SAMPLES_ON_DEMAND_MAX = 8;

/**
 * Equal requests share a sample; an abandoned one gives its place up. @returns a sampler
 * @throws (from it) IncentivesError SAMPLING_BUSY, at once; ChainError
 */
export function samplesOnDemand(sampler: Sampler): Sampler {
  const turns = new Lock();
  const flights = new SingleFlight<MadeSample>();
  return async (request, signal) => {
    const key = keyOf(request);
    if (flights.size >= SAMPLES_ON_DEMAND_MAX && !flights.has(key))
      throw new IncentivesError('SAMPLING_BUSY', `${flights.size} samples are under way`);
    return flights.join(key, signal, (shared) => turns.run(() => sampler(request, shared), shared));
  };
}
