/**
 * Purchases under way: batch and label of a transaction, written before it, so that the batch gets its label even after a
 * crash. Removed when an issuer takes the label, or the transaction was never sent.
 */
import { toHex } from '../../formats/crypto/hex.ts';
import type { Transactions } from '../onchain/ports.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';

const INTENT = 'intent/';

interface Intent {
  readonly label: string;
  /** Transaction hash, `0x` and 64 hex. */
  readonly hash: string;
}

interface IntentsDeps {
  readonly state: KeyValueStore;
  readonly transactions: Pick<Transactions, 'find'>;
}

export class Intents {
  readonly #deps: IntentsDeps;
  readonly #intents = new Map<string, Intent>();

  constructor(deps: IntentsDeps) {
    this.#deps = deps;
    for (const [key, value] of deps.state.entries(INTENT)) {
      const intent = JSON.parse(Buffer.from(value).toString('utf8')) as Intent;
      this.#intents.set(key.slice(INTENT.length), intent);
    }
  }

  has(batchId: Uint8Array): boolean {
    return this.#intents.has(toHex(batchId));
  }

  labelOf(batchId: Uint8Array): string | undefined {
    return this.#intents.get(toHex(batchId))?.label;
  }

  /** Durable when it resolves. */
  async note(batchId: Uint8Array, intent: Intent): Promise<void> {
    const id = toHex(batchId);
    this.#intents.set(id, intent);
    await this.#deps.state.put(INTENT + id, Buffer.from(JSON.stringify(intent)));
  }

  /** @returns changes to write with the issuer */
  take(batchId: Uint8Array): KeyValueChange[] {
    const id = toHex(batchId);
    return this.#intents.delete(id) ? [{ remove: INTENT + id }] : [];
  }

  async removeStale(): Promise<void> {
    const stale = [...this.#intents].filter(([, { hash }]) => this.#cannotComplete(hash)).map(([id]) => id);
    for (const id of stale) this.#intents.delete(id);
    if (stale.length > 0) await this.#deps.state.batch(stale.map((id) => ({ remove: INTENT + id })));
  }

  /** A pending transaction will be sent, and a replaced one may be mined after a reorganisation. */
  #cannotComplete(hash: string): boolean {
    const sent = this.#deps.transactions.find(hash);
    return (
      sent === undefined || (sent.outcome?.kind === 'mined' && sent.outcome.receipt.status === 'reverted')
    );
  }
}
