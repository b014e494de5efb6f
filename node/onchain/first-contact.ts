/**
 * Waits for an endpoint that starts with the node, or gives no valid answer: a truncated one may come from a restarting
 * proxy.
 */

import type { Clock } from '../../formats/clock.ts';
import { ChainError, type ChainErrorCode } from '../../formats/ethereum/chain-error.ts';
import type { Logger } from '../env/logger.ts';
import { type Chain } from './ports.ts';

/** How long each query is repeated; later outages are waited out where they occur. */
export const FIRST_CONTACT_MS = 10_000;
/** Doubles with every attempt. */
const PAUSE_MIN_MS = 250;
const PAUSE_MAX_MS = 1_000;

/** They say nothing about the query. */
const NO_ANSWER: ReadonlySet<ChainErrorCode> = new Set(['RPC_UNREACHABLE', 'RPC_ERROR']);

interface AskDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** @throws ChainError of the last attempt, the signal's reason */
export function firstContact(
  { chain, ...deps }: AskDeps & { readonly chain: Pick<Chain, 'chainId'> },
  signal: AbortSignal,
): Promise<bigint> {
  return askAtStart('the id of the chain', () => chain.chainId(signal), deps, signal);
}

/**
 * @param what the query's name in log and error @param ask may be called again after a ChainError `RPC_UNREACHABLE` or
 *   `RPC_ERROR`
 * @throws ChainError of the last attempt, any other error of `ask`, the signal's reason
 */
export async function askAtStart<T>(
  what: string,
  ask: () => Promise<T>,
  { clock, log }: AskDeps,
  signal: AbortSignal,
): Promise<T> {
  const until = clock.monotonic() + FIRST_CONTACT_MS;
  for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ChainError) || !NO_ANSWER.has(error.code)) throw error;
      const leftMs = until - clock.monotonic();
      if (leftMs <= 0) {
        const message = `${what}: not learned from the chain within ${FIRST_CONTACT_MS / 1000} s: ${error.message}`;
        throw new ChainError(error.code, message, { cause: error });
      }
      if (pauseMs === PAUSE_MIN_MS) log.warn({ err: error, what }, 'the chain does not answer, asking again');
      await clock.sleep(Math.min(pauseMs, leftMs), signal);
    }
  }
}
