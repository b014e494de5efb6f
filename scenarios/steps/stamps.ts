/** What batches count about the stamps that were made from them. */
import type { StampBuckets } from 'svcnet';
import { grouped, type ParameterTable, plural, type ScenarioContext } from 'svcnet/scenario';

/** Buckets named of a longer list. */
const LINES_SHOWN = 20;
/** Bits of the hex digits of an address that decide its bucket. */
const PREFIX_BITS = 32;

/**
 * Every acknowledged chunk has a slot of its batch to itself, which is a condition: where a slot is given twice, the
 * network keeps only the chunk that was stamped last.
 */
export function slotsCounted<T extends ParameterTable>(context: ScenarioContext<T>): Promise<void> {
  return context.step('stamps', async (progress) => {
    const { cluster, ledger, signal } = context;
    const lines: string[] = [];
    const batches = Map.groupBy(ledger.entries, ({ batch }) => batch);
    for (const [batch, entries] of batches) {
      const owner = cluster.node(entries[0]?.node ?? '');
      const { immutableFlag } = await owner.stamps.get(batch, signal);
      // The count of a full bucket begins again.
      if (!immutableFlag) {
        context.unchecked(`slots of batch ${batch.slice(0, 8)}…: it is mutable, and may give them again`);
        continue;
      }
      const counted = await owner.stamps.buckets(batch, signal);
      const chunks = new Set(entries.flatMap((entry) => entry.chunks));
      lines.push(...shortBuckets(counted, chunks).map((line) => `${owner.name}, ${line}`));
    }
    const evidence = lines.length === 0 ? {} : { evidence: lines.slice(0, LINES_SHOWN).join('\n') };
    context.expect('every acknowledged chunk has a slot of its batch to itself', lines.length === 0, {
      observed: `${plural(lines.length, 'bucket')} with fewer slots given than chunks acknowledged`,
      expected: 'none',
      ...evidence,
    });
    progress.detail(`${grouped(ledger.acknowledgedChunks())} chunks, ${plural(batches.size, 'batch')}`);
  });
}

/**
 * @param chunks distinct addresses, 64 hex digits, all stamped by the batch
 * @returns a line for each bucket that has given fewer slots than it has chunks
 */
export function shortBuckets(
  { bucketDepth, buckets }: StampBuckets,
  chunks: Iterable<string>,
): readonly string[] {
  const given = new Map(buckets.map(({ bucketID, collisions }) => [bucketID, collisions]));
  const bucketOf = (address: string) =>
    Number.parseInt(address.slice(0, PREFIX_BITS / 4), 16) >>> (PREFIX_BITS - bucketDepth);
  return [...Map.groupBy(chunks, bucketOf)].flatMap(([bucket, { length }]) => {
    const slots = given.get(bucket) ?? 0;
    return slots >= length
      ? []
      : [`bucket ${bucket}: ${plural(slots, 'slot')} for ${plural(length, 'chunk')}`];
  });
}
