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

/** Nodes ask for the receipts of their last transactions at each head. */
const RECEIPT = 'eth_getTransactionReceipt';
const FOUND = '{"result":{';

/** They take no block back: a receipt stays. */
const ADDING: ReadonlySet<string> = new Set([
  'anvil_mine',
  'eth_estimateGas',
  'eth_sendRawTransaction',
  'evm_mine',
  'hardhat_mine',
  'txpool_status',
]);

export class KnownAnswers {
  readonly #answers = new Map<string, string>();
  readonly #receipts = new Map<string, string>();

  answerOf(call: Pick<Call, 'method' | 'params'>): string | undefined {
    const key = keyOf(call);
    return this.#answers.get(key) ?? this.#receipts.get(key);
  }

  /** Calls take turns: nothing else changes the chain while one is computed. */
  async answerTo(call: Call, compute: () => Promise<string>): Promise<string> {
    if (!isRead(call)) {
      // Also on failure, which may follow a change.
      this.#answers.clear();
      if (!ADDING.has(call.method)) this.#receipts.clear();
      return compute();
    }
    const known = this.answerOf(call);
    if (known !== undefined) return known;
    const answer = await compute();
    const lasts = call.method === RECEIPT && answer.startsWith(FOUND);
    keep(lasts ? this.#receipts : this.#answers, keyOf(call), answer);
    return answer;
  }
}

function keep(answers: Map<string, string>, key: string, answer: string): void {
  if (answers.size >= ANSWERS_MAX) answers.clear();
  answers.set(key, answer);
}

/** A read of the pending block is none: that block has the time of the call. */
function isRead({ method, params }: Call): boolean {
  return READS.has(method) && !(Array.isArray(params) && params.includes('pending'));
}

function keyOf({ method, params }: Pick<Call, 'method' | 'params'>): string {
  return `${method} ${JSON.stringify(params ?? [])}`;
}
