/** The first look at the chain: an endpoint that starts together with the node is waited for. */
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import { type Chain, ChainError } from './ports.ts';

/** For so long; later outages are waited out by whoever meets them. */
export const FIRST_CONTACT_MS = 10_000;
const PAUSE_MS = 250;

/** @returns the chain's id @throws ChainError of the last attempt, the signal's reason */
export async function firstContact(
  {
    chain,
    clock,
    log,
  }: { readonly chain: Pick<Chain, 'chainId'>; readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<bigint> {
  const until = clock.monotonic() + FIRST_CONTACT_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      return await chain.chainId(signal);
    } catch (error) {
      if (!(error instanceof ChainError) || clock.monotonic() >= until) throw error;
      if (attempt === 1) log.warn({ err: error }, 'the chain does not answer yet, trying again');
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}
