/** All accounts, in memory and on disk: how many, and which are forgotten first. */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { type Account, newAccount } from './account.ts';
import { BalanceStore } from './balance-store.ts';
import type { AccountingTerms } from './terms.ts';

/**
 * For display, and against peers that return: more than a node's peers in a day, some megabytes. New identities are free.
 */
const ACCOUNTS_MAX = 10_000;

export class Accounts {
  readonly #terms: AccountingTerms;
  /** In order of opening. */
  readonly #accounts = new Map<string, Account>();
  readonly #balances: BalanceStore;

  constructor(terms: AccountingTerms, deps: { clock: Clock; state: KeyValueStore; log: Logger }) {
    this.#terms = terms;
    this.#balances = new BalanceStore(deps);
    for (const stored of this.#balances.load())
      this.#accounts.set(stored.overlayHex, newAccount(stored, terms));
  }

  get(overlayHex: string): Account | undefined {
    return this.#accounts.get(overlayHex);
  }

  /** Opened if there is none. */
  of(overlayHex: string): Account {
    const known = this.#accounts.get(overlayHex);
    if (known !== undefined) return known;
    if (this.#accounts.size >= ACCOUNTS_MAX) this.#forgetLeast();
    const account = newAccount({ overlayHex, balance: 0n, surplus: 0n, originated: 0n }, this.#terms);
    this.#accounts.set(overlayHex, account);
    return account;
  }

  all(): Account[] {
    return [...this.#accounts.values()];
  }

  /** Notes that its balances differ from the disk. */
  changed(account: Account): void {
    this.#balances.changed(account);
  }

  stop(): Promise<void> {
    return this.#balances.stop();
  }

  /** Unused, with the least at stake, then the oldest. */
  #forgetLeast(): void {
    let least: Account | undefined;
    let leastStake = 0n;
    for (const account of this.#accounts.values()) {
      if (account.peer !== undefined || account.paying || account.refreshing) continue;
      const stake = atStake(account);
      if (least !== undefined && stake >= leastStake) continue;
      least = account;
      leastStake = stake;
      if (stake === 0n) break;
    }
    if (least === undefined) return;
    this.#accounts.delete(least.overlayHex);
    this.#balances.forgotten(least);
  }
}

function atStake({ balance, surplus, leftBehind }: Account): bigint {
  return (balance < 0n ? -balance : balance) + surplus + leftBehind;
}
