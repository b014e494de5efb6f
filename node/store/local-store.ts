import type { Clock } from '../../formats/clock.ts';
import type { ChunkEvents } from '../env/chunk-events.ts';
import type { Logger } from '../env/logger.ts';
import type { Backend } from './backend.ts';
import { createCache } from './cache.ts';
import { ChunkTable } from './chunk-table.ts';
import { DiskSpace } from './disk/space.ts';
import { Undoing } from './disk/undoing.ts';
import { openPins } from './pins.ts';
import type { ChunkReader, LocalStore } from './ports.ts';
import { LAST_STAYS, SAME_EVERYWHERE } from './reserve/payloads.ts';
import { openReserve } from './reserve/reserve.ts';
import { createState } from './state.ts';
import { HandedOver } from './uploads/handed-over.ts';
import { createTags } from './uploads/tags.ts';
import { openUploads } from './uploads/uploads.ts';

export interface LocalStoreOptions {
  /** Chunks; 0 caches nothing. */
  readonly cacheCapacity: number;
  /** Chunks. */
  readonly reserveCapacity: number;
  /** Radius of a new reserve; minimum for an existing one. */
  readonly radius: number;
  /** Pull syncing 2.0.0: every node keeps the same payload under a single-owner address. Default: false. */
  readonly convergent?: boolean;
  /** What a resolved write survives: the end of the process (default), or also a power cut. */
  readonly durability?: 'process' | 'disk';
}

export interface LocalStoreDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** The bins depend on it. */
  readonly overlay: Uint8Array;
  readonly events?: ChunkEvents | undefined;
  /** Wraps the disk for the logical stores. */
  readonly through?: ((disk: Backend) => Backend) | undefined;
}

/** Closes the backend if it fails. */
export async function openLocalStore(
  options: LocalStoreOptions,
  deps: LocalStoreDeps & { readonly backend: Backend },
): Promise<LocalStore> {
  const { clock, through } = deps;
  const log = deps.log.child({ module: 'store' });
  const below = through === undefined ? deps.backend : through(deps.backend);
  const disk = new DiskSpace({ available: () => below.available(), clock, log });
  const backend = disk.watching(below);
  const undoing = new Undoing({ clock, log });
  const close = () => {
    undoing.close();
    return backend.close();
  };
  try {
    return { ...(await openStores(options, { ...deps, log, disk, backend, undoing })), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface StoresDeps extends LocalStoreDeps {
  readonly disk: DiskSpace;
  readonly backend: Backend;
  readonly undoing: Undoing;
}

async function openStores(options: LocalStoreOptions, deps: StoresDeps): Promise<Omit<LocalStore, 'close'>> {
  const { clock, log, overlay, events, disk, backend, undoing } = deps;
  const payloads = options.convergent === true ? SAME_EVERYWHERE : LAST_STAYS;
  const table = new ChunkTable({ backend, log, payloads, events });
  const cache = createCache(options.cacheCapacity, { backend, chunks: table, disk, log, events });
  const handedOver = new HandedOver(clock);
  const chunks: ChunkReader = {
    has: (address) => table.isReadable(address),
    heal: (chunk) => table.heal(chunk),
    get(address) {
      const chunk = table.get(address);
      if (chunk === undefined) return handedOver.get(address);
      cache.touch(chunk.address);
      return chunk;
    },
  };
  const tags = createTags({ backend, clock, disk });
  return {
    chunks,
    damage: table,
    disk,
    chunkTotals: () => table.totals(),
    cache,
    tags,
    uploads: await openUploads({ backend, chunks: table, disk, tags, handedOver, undoing, log }),
    pins: await openPins({ backend, chunks: table, disk, undoing, log }),
    reserve: await openReserve(options, { backend, chunks: table, disk, overlay, clock, events }),
    state: (subsystem) => createState(backend, subsystem),
  };
}
