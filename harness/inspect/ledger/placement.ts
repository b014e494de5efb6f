/** Whether each chunk is on its closest node and all nodes whose radius takes it in (scenarios.md 1.1). */
import { closerTo, proximityOrder } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { atMost } from '../../../node/env/turns/at-most.ts';
import { messageOf } from '../../base/errors.ts';
import type { ProbeResult } from '../../base/wait.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';

const CHUNKS_AT_ONCE = 32;
const CHUNKS_SHOWN = 3;

/** A possible storer of a chunk. */
export interface Storer {
  /** 32 bytes. */
  readonly overlay: Uint8Array;
  /** Bits. */
  readonly radius: number;
}

/** @returns nodes, closest first, with whether each should hold it */
export function rankStorers<S extends Storer>(
  chunk: Uint8Array,
  storers: readonly S[],
): { readonly storer: S; readonly proximityOrder: number; readonly belongs: boolean }[] {
  return storers
    .toSorted((a, b) => closerTo(chunk, a.overlay, b.overlay))
    .map((storer, rank) => {
      const order = proximityOrder(storer.overlay, chunk);
      return { storer, proximityOrder: order, belongs: rank === 0 || order >= storer.radius };
    });
}

/** Copies of one chunk. */
export interface Placement {
  /** 64 hex digits. */
  readonly chunk: string;
  readonly holders: readonly ClusterNode[];
  /** Nodes that should hold it. */
  readonly wanted: readonly ClusterNode[];
  readonly lacking: readonly ClusterNode[];
}

/** Each probe asks only for chunks not yet in place. */
export class PlacementWatch {
  readonly #nodes: readonly { readonly node: ClusterNode; readonly overlay: Uint8Array }[];
  readonly #placed = new Map<string, Placement>();
  #pending: readonly string[];
  #astray: readonly Placement[] = [];

  /** @param nodes full, at least one */
  constructor(chunks: Iterable<string>, nodes: readonly ClusterNode[]) {
    this.#pending = [...new Set(chunks)];
    this.#nodes = nodes.map((node) => ({ node, overlay: fromHex(node.overlay) }));
  }

  get placed(): readonly Placement[] {
    return [...this.#placed.values()];
  }

  get astray(): readonly Placement[] {
    return this.#astray;
  }

  async probe(signal: AbortSignal): Promise<ProbeResult<readonly Placement[]>> {
    const astray: Placement[] = [];
    try {
      const radii = await this.#radii(signal);
      const works = this.#pending.map((chunk) => async () => {
        const placement = await this.#ask(chunk, radii, signal);
        if (placement.lacking.length === 0) this.#placed.set(chunk, placement);
        else astray.push(placement);
      });
      await atMost(CHUNKS_AT_ONCE, works);
    } catch (error) {
      if (signal.aborted) throw error;
      return { missing: messageOf(error) };
    }
    this.#astray = astray;
    this.#pending = astray.map(({ chunk }) => chunk);
    if (astray.length === 0) return { done: this.placed };
    const all = this.#placed.size + astray.length;
    return {
      missing: `${astray.length} of ${all} chunks: ${astray.slice(0, CHUNKS_SHOWN).map(inWords).join('; ')}`,
    };
  }

  async #radii(signal: AbortSignal): Promise<ReadonlyMap<ClusterNode, number>> {
    const radii = this.#nodes.map(
      async ({ node }) => [node, (await node.client.status(signal)).storageRadius] as const,
    );
    return new Map(await Promise.all(radii));
  }

  async #ask(
    chunk: string,
    radii: ReadonlyMap<ClusterNode, number>,
    signal: AbortSignal,
  ): Promise<Placement> {
    const storers = this.#nodes.map((one) => ({ ...one, radius: radii.get(one.node) ?? 0 }));
    const byDistance = rankStorers(fromHex(chunk), storers);
    const has = await Promise.all(byDistance.map(({ storer }) => storer.node.holds(chunk, signal)));
    const holders = byDistance.filter((_, rank) => has[rank]).map(({ storer }) => storer.node);
    const wanted = byDistance.filter(({ belongs }) => belongs).map(({ storer }) => storer.node);
    return { chunk, holders, wanted, lacking: wanted.filter((node) => !holders.includes(node)) };
  }
}

function inWords({ chunk, holders, lacking }: Placement): string {
  const names = (nodes: readonly ClusterNode[]) => nodes.map(({ name }) => name).join(', ');
  return `${chunk.slice(0, 8)} is missing on ${names(lacking)}, held by ${names(holders) || 'nobody'}`;
}
