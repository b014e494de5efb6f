import { hasStore } from '../store/disk/files.ts';
import { openOffline } from '../store/lmdb-store.ts';
import { createState } from '../store/state.ts';

/** From an unused store. @throws StoreError DATA_DIR_UNUSABLE, DATA_DIR_IN_USE */
export async function forgetState(path: string, subsystem: string): Promise<void> {
  if (!hasStore(path)) return;
  const backend = await openOffline(path);
  const state = createState(backend, subsystem);
  try {
    await state.batch(Array.from(state.entries(''), ([key]) => ({ remove: key })));
  } finally {
    await backend.close();
  }
}
