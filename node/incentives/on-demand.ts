/**
 * Samples that somebody asks for, beside those of the game. Each is a walk through the whole reserve, so they are made
 * one after the other, and only so many are waited for. The game waits for none of them.
 */
import { Lock } from '../env/turns/lock.ts';
import { SingleFlight } from '../env/turns/single-flight.ts';
import { IncentivesError } from './ports.ts';
import { keyOf, type MadeSample, type Sampler } from './sampler.ts';

/** Different samples under way: one is made, the others wait. Two walks at once only take twice as long each. */
export const SAMPLES_ON_DEMAND_MAX = 8;

/**
 * Equal requests at the same time are one sample. A request that is given up leaves its place to the next one.
 * @returns a sampler @throws (from it) IncentivesError SAMPLING_BUSY, at once; ChainError
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
