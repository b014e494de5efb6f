import { toHex } from '../../../formats/crypto/hex.ts';
import { HarnessError } from '../../base/errors.ts';
import { until } from '../../base/wait.ts';
import type { Opening } from '../grade.ts';
import { ANSWER_MS } from './conversation.ts';

/** `payment`: the node's own retrieval. */
export type Service = 'pushsync' | 'retrieval' | 'payment';

/** @param peer overlay, hex @returns its debt, accounting units; negative: is owed */
export type Balance = (peer: string) => Promise<bigint>;

/** @returns the changed balance @throws HarnessError `WAIT_TIMEOUT` */
export function booked(balance: () => Promise<bigint>, before: bigint, run: Opening): Promise<bigint> {
  const probe = async () => {
    const units = await balance();
    return units === before ? { missing: 'the balance is as before' } : { done: units };
  };
  return until('no price was booked', probe, { ...run, timeoutMs: ANSWER_MS });
}

export class Costs {
  readonly #balance: Balance;
  readonly #run: Opening;
  readonly #unbooked = new Set<Service>();

  constructor({ balance }: { readonly balance: Balance }, run: Opening) {
    this.#balance = balance;
    this.#run = run;
  }

  /**
   * Called after the stream's end: a node books before, or soon after. A service that it once did not book is not waited
   * for.
   * @param peer has no other service
   * @returns its debt, accounting units; negative: is owed
   */
  async of(service: Service, { overlay }: { readonly overlay: Uint8Array }): Promise<bigint> {
    const balance = () => this.#balance(toHex(overlay));
    if (this.#unbooked.has(service)) return balance();
    try {
      return await booked(balance, 0n, this.#run);
    } catch (error) {
      if (!(error instanceof HarnessError && error.code === 'WAIT_TIMEOUT')) throw error;
      this.#unbooked.add(service);
      return 0n;
    }
  }
}
