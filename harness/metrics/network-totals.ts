/** Sums over all nodes of what each has counted since it was first seen, even across restarts. */
import type { Scrape } from './scrape.ts';
import { gained, type SeriesId } from './series.ts';
import type { NetworkFigures } from './testbed.ts';

const CHEQUES: Readonly<Record<string, string>> = {
  swap_cheques_sent: 'sent',
  swap_cheques_received: 'received',
  swap_cheques_rejected: 'rejected',
};
const SETTLEMENTS: Readonly<Record<string, string>> = {
  swap_total_sent: 'cheque',
  pseudosettle_total_sent_pseudosettlements: 'time',
};
const BYTES = 'libp2p_protocol_bytes_total';

export class NetworkTotals {
  /** A series' number → its total. */
  readonly #parts = new Map<number, { readonly total: { value: number }; readonly node: string }>();
  readonly #cheques = new Map<string, { value: number }>();
  readonly #settlements = new Map<string, { value: number }>();
  readonly #bytes = new Map<string, { protocol: string; direction: string; value: number }>();
  readonly #last = new Map<number, number>();
  readonly #met = new Set<string>();
  #known = 0;

  add({ values }: Scrape, ids: readonly SeriesId[]): void {
    for (const [i, id] of ids.slice(this.#known).entries()) this.#assign(this.#known + i, id);
    this.#known = ids.length;
    const metBefore = new Set(this.#met);
    for (const [number, { total, node }] of this.#parts) {
      const value = values.get(number);
      if (value === undefined) continue;
      this.#met.add(node);
      // A series that appears later than its node has started at zero.
      const before = this.#last.get(number) ?? (metBefore.has(node) ? 0 : value);
      total.value += gained(before, value);
      this.#last.set(number, value);
    }
  }

  figures(): NetworkFigures {
    const plain = (totals: ReadonlyMap<string, { value: number }>) =>
      Object.fromEntries(Array.from(totals, ([kind, { value }]) => [kind, value]));
    return {
      networkBytes: [...this.#bytes.values()],
      cheques: plain(this.#cheques),
      settlements: plain(this.#settlements),
    };
  }

  #assign(number: number, { node, name, labels }: SeriesId): void {
    if (node === undefined) return;
    const total = this.#totalOf(name, labels);
    if (total !== undefined) this.#parts.set(number, { total, node });
  }

  #totalOf(name: string, labels: SeriesId['labels']): { value: number } | undefined {
    const cheques = CHEQUES[name];
    if (cheques !== undefined) return obtain(this.#cheques, cheques, () => ({ value: 0 }));
    const settlement = SETTLEMENTS[name];
    if (settlement !== undefined) return obtain(this.#settlements, settlement, () => ({ value: 0 }));
    if (name !== BYTES) return undefined;
    const { protocol = '', direction = '' } = labels;
    return obtain(this.#bytes, `${protocol} ${direction}`, () => ({ protocol, direction, value: 0 }));
  }
}

function obtain<T>(map: Map<string, T>, key: string, create: () => T): T {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
