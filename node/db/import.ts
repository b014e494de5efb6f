/**
 * Imports an archive of `export.ts`; every chunk is verified. A chunk with stamps goes into the reserve, as in a rebuild;
 * when the node starts, it asks the chain and hands over what others store. Others go into the cache, where the archive's
 * pins keep them. A stored chunk stays, unless damaged.
 */
import { ADDRESS_SIZE, CHUNK_STORED_SIZE_MAX, type Chunk } from '../../formats/chunk/chunk.ts';
import { ChunkError } from '../../formats/chunk/errors.ts';
import { decodeStamp, STAMP_SIZE, type Stamp, stampHash } from '../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../formats/chunk/validate.ts';
import { equalBytes, fromHex, toHex } from '../../formats/crypto/hex.ts';
import { type CollectionEntry, CollectionError } from '../files/collection/collection.ts';
import { tarEntries } from '../files/collection/tar.ts';
import { type LocalStore, ReserveOverwriteError } from '../store/ports.ts';
import { ArchiveError } from './errors.ts';

const OPEN_MAX = 128;
const STAMPS_MAX = 1024;
const NAME = /^([0-9a-f]{64})(|\.stamp|\.pin)$/;
const LINE = /^([0-9a-f]{64}|[0-9a-f]{128})$/;

export interface Imported {
  chunks: number;
  /** Stored intact before, with the same stamps. */
  known: number;
  /** Left: the store has a newer stamp for the index, or another chunk of the owner. */
  kept: number;
  pins: number;
  /** Pins that lack a chunk and were not created, hex. */
  readonly incomplete: string[];
}

/**
 * @param onChunk gets the number so far @throws ArchiveError naming the entry, StoreError STORE_FULL; earlier chunks are
 *   stored
 */
export async function importArchive(
  store: LocalStore,
  source: AsyncIterable<Uint8Array>,
  onChunk: (chunks: number) => void = () => undefined,
): Promise<Imported> {
  const importing = new Import(store, onChunk);
  let last = 'its beginning';
  try {
    for await (const entry of tarEntries(source)) {
      last = `entry '${entry.path}'`;
      await importing.take(entry);
    }
  } catch (error) {
    if (!(error instanceof CollectionError)) throw error;
    throw new ArchiveError(`behind ${last}: ${error.message}`, { cause: error });
  } finally {
    await importing.settle();
  }
  return importing.imported;
}

class Import {
  readonly imported: Imported = { chunks: 0, known: 0, kept: 0, pins: 0, incomplete: [] };
  readonly #store: LocalStore;
  readonly #onChunk: (chunks: number) => void;
  /** Its stamps come next. */
  #chunk: Chunk | undefined;
  #open: { readonly chunk: Chunk; readonly stamps: readonly Stamp[] }[] = [];

  constructor(store: LocalStore, onChunk: (chunks: number) => void) {
    this.#store = store;
    this.#onChunk = onChunk;
  }

  async take({ path, filename, body }: CollectionEntry): Promise<void> {
    const [, address, kind] = NAME.exec(filename) ?? [];
    if (address === undefined)
      throw new ArchiveError(
        `entry '${path}': expected the name ADDRESS, ADDRESS.stamp or ADDRESS.pin, in lower-case hex`,
      );
    if (kind === '.stamp') await this.#takeStamps({ path, address, body });
    else if (kind === '.pin') await this.#takePin(path, body);
    else await this.#takeChunk({ path, address, body });
  }

  /** Everything is committed when it resolves. */
  async settle(): Promise<void> {
    if (this.#chunk !== undefined) await this.#put(this.#chunk, []);
    this.#chunk = undefined;
    await this.#commit();
  }

  async #takeChunk({ path, address, body }: Named): Promise<void> {
    if (this.#chunk !== undefined) await this.#put(this.#chunk, []);
    this.#chunk = undefined;
    const data = await bytesOf(body, CHUNK_STORED_SIZE_MAX, path);
    try {
      this.#chunk = chunkFrom(fromHex(address), data);
    } catch (error) {
      if (!(error instanceof ChunkError)) throw error;
      const message = `entry '${path}': its ${data.length} bytes are not a chunk of this address`;
      throw new ArchiveError(message, { cause: error });
    }
    this.imported.chunks++;
    this.#onChunk(this.imported.chunks);
  }

  async #takeStamps({ path, address, body }: Named): Promise<void> {
    const chunk = this.#chunk;
    if (chunk === undefined || toHex(chunk.address) !== address)
      throw new ArchiveError(`entry '${path}': expected the chunk right before its stamps`);
    const bytes = await bytesOf(body, STAMPS_MAX * STAMP_SIZE, path);
    if (bytes.length === 0 || bytes.length % STAMP_SIZE !== 0)
      throw new ArchiveError(`entry '${path}': ${bytes.length} bytes, expected ${STAMP_SIZE} per stamp`);
    const stamps = Array.from({ length: bytes.length / STAMP_SIZE }, (_, i) =>
      decodeStamp(bytes.subarray(i * STAMP_SIZE, (i + 1) * STAMP_SIZE)),
    );
    this.#chunk = undefined;
    await this.#put(chunk, stamps);
  }

  async #put(chunk: Chunk, stamps: readonly Stamp[]): Promise<void> {
    this.#open.push({ chunk, stamps });
    if (this.#open.length >= OPEN_MAX) await this.#commit();
  }

  async #commit(): Promise<void> {
    const [open, cached] = [this.#open, [] as Chunk[]];
    this.#open = [];
    const puts = open.flatMap(({ chunk, stamps }) => {
      const stored = this.#store.chunks.get(chunk.address);
      if (stored !== undefined && !equalBytes(stored.data, chunk.data)) {
        this.imported.kept++;
        return [];
      }
      const fresh = stamps.filter(
        (stamp) => !this.#store.reserve.has(chunk.address, stamp.batchId, stampHash(stamp)),
      );
      if (stored !== undefined && fresh.length === 0) this.imported.known++;
      if (stored === undefined && stamps.length === 0) cached.push(chunk);
      return stored === undefined || fresh.length > 0 ? [this.#putStamped(chunk, stamps)] : [];
    });
    if (cached.length > 0) this.#store.disk.expect();
    for (const chunk of cached) this.#store.cache.put(chunk);
    await Promise.all(puts);
    // Writes are committed in order.
    await this.#store.state('import').batch([]);
    const lost = cached.find(({ address }) => !this.#store.chunks.has(address));
    if (lost === undefined) return;
    this.#store.disk.expect();
    throw new ArchiveError(`chunk ${toHex(lost.address)} could not be stored`);
  }

  async #putStamped(chunk: Chunk, stamps: readonly Stamp[]): Promise<void> {
    const outcomes = await Promise.all(
      stamps.map((stamp) =>
        this.#store.reserve.put(chunk, stamp).then(
          () => 'stored',
          (error: unknown) => {
            if (error instanceof ReserveOverwriteError) return 'older';
            throw error;
          },
        ),
      ),
    );
    if (outcomes.includes('older')) this.imported.kept++;
  }

  async #takePin(path: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    await this.settle();
    const lines = linesOf(body, path);
    const first = await lines.next();
    if (first.done === true) throw new ArchiveError(`entry '${path}': expected a reference, got nothing`);
    const reference = first.value;
    if (this.#store.pins.has(reference)) return;
    const session = this.#store.pins.openSession();
    try {
      for await (const address of lines) {
        const chunk = address.length === ADDRESS_SIZE ? this.#store.chunks.get(address) : undefined;
        if (chunk === undefined) {
          this.imported.incomplete.push(toHex(reference));
          await session.cleanup();
          return;
        }
        await session.put(chunk);
      }
      await session.done(reference);
    } catch (error) {
      await session.cleanup();
      throw error;
    }
    this.imported.pins++;
  }
}

interface Named {
  readonly path: string;
  /** Hex. */
  readonly address: string;
  readonly body: AsyncIterable<Uint8Array>;
}

async function bytesOf(body: AsyncIterable<Uint8Array>, max: number, path: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > max) throw new ArchiveError(`entry '${path}': expected at most ${max} bytes`);
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array, void, void> {
  let rest = '';
  for await (const part of body) {
    const lines = (rest + Buffer.from(part).toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield lineOf(line, path);
    if (rest.length > 2 * 2 * ADDRESS_SIZE) break;
  }
  if (rest !== '') yield lineOf(rest, path);
}

function lineOf(line: string, path: string): Uint8Array {
  if (LINE.test(line)) return fromHex(line);
  throw new ArchiveError(`entry '${path}': expected lines of 64 hex digits, the first one perhaps of 128`);
}
