import type { LocalStore, Pins, UploadSession } from '../../../node/store/ports.ts';
import { type Failing, failIf } from './failing.ts';

export interface StoreKnobs extends Failing {
  sessions: { tagUid: number; state: 'open' | 'done' | 'cleaned' }[];
  putError: Error | undefined;
  doneError: Error | undefined;
}

export function storeKnobs(): Omit<StoreKnobs, 'failing'> {
  return { sessions: [], putError: undefined, doneError: undefined };
}

export function observed(store: LocalStore, turn: StoreKnobs): LocalStore {
  const openSession = (tagUid: number): UploadSession => {
    const session = store.uploads.openSession(tagUid);
    const seen: StoreKnobs['sessions'][number] = { tagUid, state: 'open' };
    turn.sessions.push(seen);
    return {
      tagUid,
      async put(chunk, stamp) {
        if (turn.putError !== undefined) throw turn.putError;
        await session.put(chunk, stamp);
      },
      async done(reference) {
        if (turn.doneError !== undefined) throw turn.doneError;
        await session.done(reference);
        seen.state = 'done';
      },
      async cleanup() {
        await session.cleanup();
        seen.state = 'cleaned';
      },
    };
  };
  const tags: LocalStore['tags'] = {
    ...store.tags,
    create() {
      failIf(turn, 'tag create');
      return store.tags.create();
    },
    get(uid) {
      failIf(turn, 'tag get');
      return store.tags.get(uid);
    },
    list(offset, limit) {
      failIf(turn, 'tag list');
      return store.tags.list(offset, limit);
    },
  };
  const chunkTotals = async () => {
    failIf(turn, 'store');
    return store.chunkTotals();
  };
  const { reserve } = store;
  const sizeFrom = reserve.sizeFrom.bind(reserve);
  reserve.sizeFrom = (firstBin) => {
    failIf(turn, 'reserve');
    return sizeFrom(firstBin);
  };
  return {
    ...store,
    tags,
    uploads: { ...store.uploads, openSession },
    pins: observedPins(store.pins, turn),
    chunkTotals,
  };
}

function observedPins(pins: Pins, turn: StoreKnobs): Pins {
  const unlessFailing = <T>(what: string, work: () => T): T => {
    failIf(turn, what);
    return work();
  };
  return {
    openSession: () => unlessFailing('pin', () => pins.openSession()),
    has: (reference) => unlessFailing('pin has', () => pins.has(reference)),
    list: (after, limit) => unlessFailing('pin list', () => pins.list(after, limit)),
    remove: (reference) => unlessFailing('pin remove', () => pins.remove(reference)),
    check: (reference) => pins.check(reference),
    totals: () => pins.totals(),
  };
}
