/**
 * The price of an accounting unit, by the chain's oracle. Nodes exchange cheques only with equal rates, so all read it at
 * the wall clock's multiples of the interval. `node-behaviour.md` 6.7.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Head } from '../onchain/head.ts';
import type { Chain } from '../onchain/ports.ts';
import { oracleRates } from './contracts.ts';

const READ_TIMEOUT_MS = 10_000;
/** Without rates no cheque can be sent or taken. */
const FIRST_RETRY_MS = 1_000;

export interface Rates {
  /** Base units per accounting unit; above zero. */
  readonly exchangeRate: bigint;
  /** Kept by the receiver of the first cheque for cashing, base units. */
  readonly deduction: bigint;
}

export interface PriceOracle {
  /** Undefined before the first success. */
  rates(): Rates | undefined;
  /** After the first read, whatever its result. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface PriceOracleDeps {
  readonly chain: Pick<Chain, 'call'>;
  /** Whether the chain may have changed since the last read. */
  readonly head?: Pick<Head, 'changes' | 'changed'> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createPriceOracle(
  { contract, intervalMs }: { readonly contract: string; readonly intervalMs: number },
  { chain, head, clock, log }: PriceOracleDeps,
): PriceOracle {
  const stopped = new AbortController();
  let rates: Rates | undefined;
  let changesSeen: number | undefined;
  let polling: Promise<void> = Promise.resolve();

  return {
    rates: () => rates,
    async start() {
      await read();
      polling = poll();
    },
    async stop() {
      stopped.abort(new Error('the price oracle is stopped'));
      await polling;
    },
  };

  async function poll(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (rates !== undefined) await quiet();
      const untilNext = intervalMs - (clock.now() % intervalMs);
      await pause(rates === undefined ? Math.min(FIRST_RETRY_MS, untilNext) : untilNext);
      if (stopped.signal.aborted) return;
      const changes = head?.changes(intervalMs);
      if (changes === undefined || changes !== changesSeen) await read();
    }
  }

  async function quiet(): Promise<void> {
    await head?.changed(changesSeen, intervalMs, stopped.signal).catch((error: unknown) => {
      if (!stopped.signal.aborted) throw error;
    });
  }

  async function pause(ms: number): Promise<void> {
    await clock.sleep(ms, stopped.signal).catch((error: unknown) => {
      if (!stopped.signal.aborted) throw error;
    });
  }

  /** Old rates stay meanwhile. */
  async function read(): Promise<void> {
    using deadline = clock.deadline(READ_TIMEOUT_MS, stopped.signal);
    const changes = head?.changes(intervalMs);
    try {
      const read = await oracleRates(chain, contract, deadline.signal);
      if (read.exchangeRate > 0n) {
        rates = read;
        changesSeen = changes;
      } else log.warn({ contract }, 'the price oracle has no exchange rate');
    } catch (err) {
      if (!stopped.signal.aborted)
        log.warn({ err, contract }, 'rates could not be read from the price oracle');
    }
  }
}
