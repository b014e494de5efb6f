/** Access lists by time: a manifest, newest first. `data-formats.md` 7.2 and 7.3. Vectors: test/vectors/act.json. */
import type { ChunkPutter } from '../../formats/chunk/chunk.ts';
import { openManifest, saveManifest } from '../files/manifest-store.ts';
import type { ContentGetter } from '../files/redundancy/siblings.ts';
import { JoinError } from '../files/tree.ts';
import { ManifestError } from '../manifest/errors.ts';
import { Manifest } from '../manifest/manifest.ts';
import type { Metadata } from '../manifest/metadata.ts';
import { ActError } from './errors.ts';

/** Paths are distances to it, so they ascend to the oldest entry. */
const END_OF_TIME = 2n ** 63n - 1n;
/** Anything deeper is a dead end or a cycle. */
const PATH_LENGTH_MAX = 19;
/** A change of grantees adds one or two, and no publisher makes that many. */
const NODES_READ_MAX = 65_536;

interface Options {
  readonly signal?: AbortSignal;
}

export class History {
  readonly #manifest: Manifest;

  private constructor(manifest: Manifest) {
    this.#manifest = manifest;
  }

  static create(): History {
    return new History(Manifest.create());
  }

  /** @throws ActError `HISTORY_MALFORMED`; ChunkNotFoundError when there is none */
  static async load(reference: Uint8Array, getter: ContentGetter, options: Options = {}): Promise<History> {
    return new History(await reading(() => openManifest(reference, getter, options)));
  }

  /**
   * The newest that is not later, otherwise the oldest. @param seconds unix
   * @throws ActError `TIMESTAMP_INVALID`, `ENTRY_NOT_FOUND` for an empty history, `HISTORY_MALFORMED`
   */
  async accessListAt(seconds: number): Promise<Uint8Array> {
    if (seconds <= 0) throw new ActError('TIMESTAMP_INVALID', 'invalid timestamp');
    return reading(() => this.#newestAt(END_OF_TIME - BigInt(seconds)));
  }

  async has(seconds: number): Promise<boolean> {
    return (await reading(() => this.#manifest.lookup(pathOf(seconds)))) !== undefined;
  }

  async add(seconds: number, accessList: Uint8Array, metadata: Metadata = {}): Promise<void> {
    await reading(() => this.#manifest.add(pathOf(seconds), accessList, metadata));
  }

  /** @returns reference, 32 bytes */
  save(putter: ChunkPutter, options: Options = {}): Promise<Uint8Array> {
    return saveManifest(this.#manifest, putter, options);
  }

  async #newestAt(distance: bigint): Promise<Uint8Array> {
    let oldest: Uint8Array | undefined;
    let nodes = 0;
    for await (const { path, value } of this.#manifest.walk()) {
      nodes += 1;
      if (nodes > NODES_READ_MAX)
        throw new ActError('HISTORY_MALFORMED', `a history of more than ${NODES_READ_MAX} nodes`);
      if (path.length > PATH_LENGTH_MAX) throw noTime();
      if (value === undefined) continue;
      oldest = value.reference;
      if (distanceOf(path) >= distance) break;
    }
    if (oldest === undefined) throw new ActError('ENTRY_NOT_FOUND', 'access control: not found');
    return oldest;
  }
}

function pathOf(seconds: number): string {
  return String(END_OF_TIME - BigInt(seconds));
}

function distanceOf(path: string): bigint {
  if (!/^[0-9]+$/.test(path)) throw noTime();
  return BigInt(path);
}

function noTime(): ActError {
  return new ActError('HISTORY_MALFORMED', 'an entry of the history has no time');
}

/** No manifest, no history; fetch errors pass. */
async function reading<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const malformed = error instanceof JoinError && error.code !== 'CHUNK_UNAVAILABLE';
    if (malformed || error instanceof ManifestError)
      throw new ActError('HISTORY_MALFORMED', `no history: ${error.message}`, { cause: error });
    throw error;
  }
}
