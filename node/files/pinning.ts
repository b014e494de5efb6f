/** Pins content of the network: `http-api-completion.md` 5.4, `data-formats.md` 10.2. */
import type { Pins } from '../store/ports.ts';
import type { ContentGetter } from './redundancy/siblings.ts';
import { traverse } from './traversal.ts';

/** As many as other nodes of the network fetch. */
const CONCURRENCY = 100;

/** Pinned when it resolves; nothing is kept when it rejects. @throws what `traverse` throws; StoreError */
export async function pinContent(
  reference: Uint8Array,
  { getter, pins, signal }: { getter: ContentGetter; pins: Pins; signal: AbortSignal },
): Promise<void> {
  const session = pins.openSession();
  try {
    await traverse(reference, getter, {
      concurrency: CONCURRENCY,
      signal,
      visit: (chunk) => session.put(chunk),
    });
    await session.done(reference);
  } catch (error) {
    await session.cleanup();
    throw error;
  }
}
