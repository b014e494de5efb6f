/**
 * Nodes that leave a storm for good. A receipt says that its node has stored the chunk; the neighbours pull it a little
 * later. A node that leaves in between takes the chunk with it, in every network of this protocol.
 */
import { type Diagnosis, diagnose, fromHex, type Loss, rankStorers } from 'svcnet/scenario';
import { heldByNobody, storers } from '../presence.ts';
import type { StormContext } from './parameters.ts';

/** Healthy neighbours take a second or two; what they have not pulled within this time is lost by their fault. */
const PULLED_WITHIN_MS = 5000;
/** Digits that name a node which the cluster does not know any more. */
const PREFIX_DIGITS = 8;

export class Departures {
  /** Chunks that left with the only nodes that had them: they are no longer promised. */
  readonly taken = new Set<string>();
  readonly #context: StormContext;
  /** When each node was last seen in the cluster, ms of its clock, by the first digits of its overlay. */
  readonly #seen = new Map<string, number>();

  constructor(context: StormContext) {
    this.#context = context;
  }

  /** Call it at least every second. */
  look(): void {
    const { nodes, clock } = this.#context.cluster;
    for (const { overlay } of nodes) this.#seen.set(overlay.slice(0, PREFIX_DIGITS), clock.now());
  }

  /** @param missing chunks that no node has @returns those that no departure explains @throws ClientError */
  async unexplained(missing: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const { cluster, ledger } = this.#context;
    if (missing.length === 0 || this.#left().size === 0) return missing;
    const diagnoses = await diagnose(lossesOf(this.#context, missing), cluster.nodes, signal);
    const left = this.#left();
    for (const diagnosis of diagnoses) if (isTaken(diagnosis, left)) this.taken.add(diagnosis.chunk);
    ledger.release(this.taken);
    return missing.filter((chunk) => !this.taken.has(chunk));
  }

  /** Looks for every acknowledged chunk, if any node has left: what is read afterwards is there. */
  async conclude(): Promise<void> {
    const { cluster, ledger, signal } = this.#context;
    if (this.#left().size === 0) return;
    const chunks = ledger.entries.flatMap((entry) => entry.chunks);
    await this.unexplained((await heldByNobody([...new Set(chunks)], cluster, signal)) ?? [], signal);
  }

  #left(): ReadonlyMap<string, number> {
    const here = new Set(this.#context.cluster.nodes.map(({ overlay }) => overlay.slice(0, PREFIX_DIGITS)));
    return new Map([...this.#seen].filter(([prefix]) => !here.has(prefix)));
  }
}

function isTaken({ receipts, had, end }: Diagnosis, left: ReadonlyMap<string, number>): boolean {
  const seen = receipts.map((receipt) => left.get(receipt));
  return (
    end !== null &&
    had.length === 0 &&
    seen.length > 0 &&
    seen.every((at) => at !== undefined && at - end.at <= PULLED_WITHIN_MS)
  );
}

/** @param chunks of the ledger */
export function lossesOf({ cluster, ledger }: StormContext, chunks: readonly string[]): readonly Loss[] {
  const nodes = storers(cluster.nodes).map((node) => ({ node, overlay: fromHex(node.overlay), radius: 0 }));
  return chunks.flatMap((chunk): Loss[] => {
    const origin = ledger.originOf(chunk);
    if (origin === undefined) return [];
    const { reference, node: uploader, batch } = origin;
    const closest = rankStorers(fromHex(chunk), nodes)[0]?.storer.node.name ?? 'nobody';
    return [{ chunk, reference, uploader, batch, closest }];
  });
}
