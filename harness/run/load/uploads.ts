import { makeCac } from '../../../formats/chunk/cac.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { SplitOptions } from '../../../node/files/splitter.ts';
import { tarOf } from '../../base/tree.ts';
import { type ExpectedContent, expectBytes, expectTar } from '../../inspect/ledger/content.ts';
import type { LedgerEntry } from '../../inspect/ledger/ledger.ts';
import { filesOf, payloadsOf } from './k6/pieces.ts';
import type { LoadPlan, LoadUpload } from './plan.ts';
import { loadContent, type SignedUpdate } from './prepare.ts';

/** Kinds of uploads as the ledger calls them. */
export const LEDGER_KINDS = {
  bytes: 'bytes',
  directory: 'collection',
  chunks: 'chunk',
  feed: 'feed-update',
} as const satisfies Record<LoadUpload['kind'], LedgerEntry['kind']>;

/**
 * Of encrypted content, whose reference differs each time, only the root chunk is known, from the answer.
 * @param updates that the load could make, when it updates feeds
 */
export async function expectedUpload(
  plan: LoadPlan,
  { kind, index, size, reference }: Pick<LoadUpload, 'kind' | 'index' | 'size' | 'reference'>,
  updates: readonly SignedUpdate[],
): Promise<ExpectedContent> {
  if (kind === 'feed') {
    const address = updates[Number(index.split(' ').at(-1))]?.address ?? '';
    return { reference: address, chunks: [address] };
  }
  if (plan.encrypt && kind !== 'chunks') return { reference, chunks: [reference.slice(0, 64)] };
  const data = loadContent(plan, index, size);
  const level = plan.redundancyLevel as NonNullable<SplitOptions['level']>;
  if (kind === 'bytes') return expectBytes(data, { level });
  if (kind === 'directory') return expectTar(await tarOf(filesOf(data, plan.files)), {}, { level });
  const chunks = payloadsOf(data).map((payload) => toHex(makeCac(BigInt(payload.length), payload).address));
  // A stream is acknowledged chunk by chunk, without a reference.
  return { reference: chunks[0] ?? '', chunks };
}
