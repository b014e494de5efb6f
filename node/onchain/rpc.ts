/** A deadline per call, and retries at a busy endpoint (`http-endpoint.ts` carries requests). */

import type { Clock, Deadline } from '../../formats/clock.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import { decodeAnswer, encodeRequest, type Send } from '../../formats/ethereum/json-rpc.ts';
import { LazyDeadline } from '../env/abortable.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics } from '../env/metrics.ts';
import { createChain, type SendingChain } from './chain.ts';
import { Head } from './head.ts';
import { CALL_METRICS, ONCHAIN_METRICS } from './metrics.ts';

/** A public endpoint answers in a second or two; 5,000 blocks of logs take longest. */
const CALL_TIMEOUT_MS = 15_000;
/** Pauses of 0.7 s in total: longer than a burst, shorter than a caller's patience. */
const BUSY_RETRIES = 3;
const BUSY_PAUSE_MS = 100;
/** Its "busy" may mean too many events, which a pause does not reduce. */
const NEVER_REPEATED = 'eth_getLogs';

export interface ChainEndpoint {
  readonly shown: string;
  /**
   * @param deadline its signal is asked for only where something is waited for
   * @returns the answer's text @throws ChainError, any other error when it cannot be reached; the signal's reason
   */
  post(request: string, deadline: Pick<Deadline, 'signal'>): Promise<string>;
  /** Later requests open new connections. */
  close(): void;
}

interface RpcDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

export interface Rpc extends SendingChain {
  /** @throws ChainError `RPC_UNREACHABLE`, `RPC_ERROR`, `REVERTED`; the signal's reason */
  readonly send: Send;
  readonly head: Head;
  /** Later calls open new connections. */
  close(): void;
}

export function createRpc(endpoint: ChainEndpoint, { clock, log, metrics }: RpcDeps): Rpc {
  const counters = metrics?.register(ONCHAIN_METRICS);
  const callCounters = metrics?.register(CALL_METRICS);
  let lastId = 0;

  const ask: Send = async (method, params, signal) => {
    signal?.throwIfAborted();
    using deadline = new LazyDeadline(clock, CALL_TIMEOUT_MS, signal);
    counters?.calls.inc();
    callCounters?.[callKey(method, params)]?.inc();
    try {
      const id = ++lastId;
      const text = await endpoint.post(encodeRequest(id, method, params), deadline);
      return decodeAnswer(text, { id, method });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      counters?.errors.inc();
      log.debug({ method, err: error }, 'chain call failed');
      if (error instanceof ChainError) throw error;
      throw unreachable(endpoint, deadline.signal.aborted ? deadline.signal.reason : error);
    }
  };
  const send: Send = async (method, params, signal) => {
    for (let repeated = 0; ; repeated++) {
      try {
        return await ask(method, params, signal);
      } catch (error) {
        const repeats = error instanceof ChainError && error.busy && method !== NEVER_REPEATED;
        if (!repeats || repeated === BUSY_RETRIES) throw error;
      }
      await clock.sleep(BUSY_PAUSE_MS * 2 ** repeated, signal);
    }
  };
  const chain = createChain(send);
  const head = new Head(clock);
  return {
    ...chain,
    async header(block, signal) {
      const header = await chain.header(block, signal);
      if (block === 'latest' && header !== undefined) head.seen(header);
      return header;
    },
    send,
    head,
    close: () => endpoint.close(),
  };
}

/** Unused methods have no counter. */
function callKey(method: string, params: readonly unknown[]): keyof typeof CALL_METRICS {
  const key = params[1] === 'pending' ? `${method}_pending` : method;
  return key as keyof typeof CALL_METRICS;
}

function unreachable({ shown }: ChainEndpoint, cause: unknown): ChainError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ChainError('RPC_UNREACHABLE', `chain endpoint ${shown}: ${why}`, { cause });
}
