import type { StampBuckets } from 'svcnet';
import { type ParameterTable, plural, type ScenarioContext } from 'svcnet/scenario';

/** A batch lists all its buckets: megabytes. */
const LOOK_MS = 60_000;
/** Of an address's hex digits, which decide its bucket. */
const PREFIX_BITS = 32;

/**
 * A condition: every acknowledged chunk has a slot of its batch to itself. Of a slot's chunks the network keeps only the
 * last stamped.
 */
export function watchSlots<T extends ParameterTable>(
  context: Pick<ScenarioContext<T>, 'always' | 'cluster' | 'ledger' | 'unchecked'>,
): void {
  const right = new Map<string, string>();
  context.always({
    name: 'every acknowledged chunk has a slot of its batch to itself',
    everyMs: LOOK_MS,
    check: (signal) => missingSlots(context, right, signal),
  });
}

/**
 * Counts only fall when their node starts again: a batch that was right is looked at again only then, or with more chunks.
 * @param right what each batch was last found right for
 * @returns a line per bucket with fewer slots than acknowledged chunks
 */
async function missingSlots<T extends ParameterTable>(
  context: Parameters<typeof watchSlots<T>>[0],
  right: Map<string, string>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { cluster, ledger } = context;
  const lines: string[] = [];
  for (const [batch, entries] of Map.groupBy(ledger.entries, (entry) => entry.batch)) {
    const name = entries[0]?.node;
    const owner = cluster.nodes.find((node) => node.name === name);
    if (owner === undefined) {
      context.unchecked(`slots of batch ${batch.slice(0, 8)}…: ${name} has left, and its counts with it`);
      continue;
    }
    if (owner.wipes > 0) {
      context.unchecked(
        `slots of batch ${batch.slice(0, 8)}…: ${name} has lost its data, and its counts with it`,
      );
      continue;
    }
    const now = `${entries.length} uploads, ${owner.changes} changes`;
    if (right.get(batch) === now) continue;
    const { immutableFlag } = await owner.stamps.get(batch, signal);
    // A full bucket's count begins again.
    if (!immutableFlag) {
      context.unchecked(`slots of batch ${batch.slice(0, 8)}…: it is mutable, and may give them again`);
      continue;
    }
    const counted = await owner.stamps.buckets(batch, signal);
    const chunks = new Set(entries.flatMap((entry) => entry.chunks));
    const short = shortBuckets(counted, chunks);
    if (short.length === 0) right.set(batch, now);
    lines.push(...short.map((line) => `${owner.name}, ${line}`));
  }
  return lines;
}

/**
 * @param chunks distinct addresses, 64 hex digits, stamped by the batch
 * @returns a line per bucket with fewer slots than chunks
 */
export function shortBuckets(
  { bucketDepth, buckets }: StampBuckets,
  chunks: Iterable<string>,
): readonly string[] {
  const bucketOf = (address: string) =>
    Number.parseInt(address.slice(0, PREFIX_BITS / 4), 16) >>> (PREFIX_BITS - bucketDepth);
  const groups = Map.groupBy(chunks, bucketOf);
  const given = new Map<number, number>();
  for (const { bucketID, collisions } of buckets) if (groups.has(bucketID)) given.set(bucketID, collisions);
  return [...groups].flatMap(([bucket, { length }]) => {
    const slots = given.get(bucket) ?? 0;
    return slots >= length
      ? []
      : [`bucket ${bucket}: ${plural(slots, 'slot')} for ${plural(length, 'chunk')}`];
  });
}
