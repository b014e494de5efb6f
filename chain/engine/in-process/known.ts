/** Answers that hold until the chain changes: nodes ask the same of each head. */
import type { Call } from './answers.ts';

const ANSWERS_MAX = 1000;

/** Their answer follows from the chain alone, not from time or filters. */
const READS: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getStorageAt',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
]);

export class KnownAnswers {
  readonly #answers = new Map<string, string>();

  answerOf(call: Call): string | undefined {
    return this.#answers.get(keyOf(call));
  }

  /** Calls take turns: nothing else changes the chain while one is computed. */
  async answerTo(call: Call, compute: () => Promise<string>): Promise<string> {
    if (!isRead(call)) {
      // Also on failure, which may follow a change.
      this.#answers.clear();
      return compute();
    }
    const key = keyOf(call);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = await compute();
    if (this.#answers.size >= ANSWERS_MAX) this.#answers.clear();
    this.#answers.set(key, answer);
    return answer;
  }
}

/** A read of the pending block is none: that block has the time of the call. */
function isRead({ method, params }: Call): boolean {
  return READS.has(method) && !(Array.isArray(params) && params.includes('pending'));
}

function keyOf({ method, params }: Call): string {
  return `${method} ${JSON.stringify(params ?? [])}`;
}
