/** A local store in memory with what the API touches of it. */
import type { Chunk } from '../../../node/chunk/chunk.ts';
import { toHex } from '../../../node/crypto/hex.ts';
import type { LocalStore, Tag, UploadSession } from '../../../node/store/ports.ts';

export interface FakeStore extends Pick<LocalStore, 'chunks' | 'tags' | 'uploads' | 'cache' | 'reserve'> {
  readonly sessions: { tagUid: number; state: 'open' | 'done' | 'cleaned'; chunks: number }[];
}

export function createFakeStore(): FakeStore {
  const chunks = new Map<string, Chunk>();
  const tags = new Map<number, Tag>();
  const sessions: FakeStore['sessions'] = [];
  let lastUid = 0;
  const openSession = (tagUid: number): UploadSession => {
    const session: FakeStore['sessions'][number] = { tagUid, state: 'open', chunks: 0 };
    const put = new Map<string, Chunk>();
    sessions.push(session);
    return {
      tagUid,
      async put(chunk) {
        put.set(toHex(chunk.address), chunk);
        session.chunks++;
      },
      async done(reference) {
        for (const [key, chunk] of put) chunks.set(key, chunk);
        const tag = tags.get(tagUid);
        if (tag !== undefined) {
          tags.set(tagUid, { ...tag, split: tag.split + session.chunks, address: reference ?? tag.address });
        }
        session.state = 'done';
      },
      async cleanup() {
        session.state = 'cleaned';
      },
    };
  };
  return {
    sessions,
    chunks: { get: (address) => chunks.get(toHex(address)), has: (address) => chunks.has(toHex(address)) },
    tags: {
      async create() {
        const tag = {
          uid: ++lastUid,
          split: 0,
          seen: 0,
          stored: 0,
          sent: 0,
          synced: 0,
          address: new Uint8Array(0),
          startedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 670),
        };
        tags.set(tag.uid, tag);
        return tag;
      },
      get: (uid) => tags.get(uid),
      list: (offset, limit) => [...tags.values()].slice(offset, offset + limit),
      async remove(uid) {
        tags.delete(uid);
      },
    },
    uploads: {
      openSession,
      pending: () => [],
      pendingCount: () => 0,
      sent: () => undefined,
      report: async () => undefined,
      onPushable: () => undefined,
      totals: () => ({ uploaded: 0, synced: 0, pending: 0 }),
    },
    cache: {
      put: (chunk) => void chunks.set(toHex(chunk.address), chunk),
      size: () => 0,
      capacity: () => 1000,
    },
  } as Omit<FakeStore, 'reserve'> as FakeStore;
}
