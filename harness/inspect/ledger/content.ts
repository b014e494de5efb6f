/**
 * What a scenario uploads, and what it must become: seeded payloads, tar archives, and the chunk addresses that the splitter
 * computes here, so that the ledger knows every chunk.
 */
import type { Chunk, ChunkPutter } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import {
  type CollectionOptions,
  storeCollection,
  storeFile,
} from '../../../node/files/collection/collection.ts';
import { multipartEntries } from '../../../node/files/collection/multipart.ts';
import { tarEntries } from '../../../node/files/collection/tar.ts';
import { type SplitOptions, split } from '../../../node/files/splitter.ts';
import type { TreeFile } from '../../base/tree.ts';

/** Reference and chunks, computed here. */
export interface ExpectedContent {
  readonly reference: string;
  /** Hex addresses, each once. */
  readonly chunks: readonly string[];
}

/** Encrypted references differ each time. */
export type StoredAs = Pick<SplitOptions, 'level'>;

/** @returns as in `POST /bytes` */
export async function expectBytes(data: Uint8Array, stored: StoredAs = {}): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const { reference } = await split(oneBuffer(data), recorded.putter, stored);
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** One file under a manifest. */
export async function expectFile(
  data: Uint8Array,
  about: { readonly name: string; readonly contentType: string },
  stored: StoredAs = {},
): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const reference = await storeFile(oneBuffer(data), recorded.putter, { ...about, ...stored });
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** Documents for the root and for missing paths. */
export type SiteDocuments = Pick<CollectionOptions, 'indexDocument' | 'errorDocument'>;

/** How a node stores an archive. */
export interface TarStoredAs extends StoredAs {
  /** A hard link has its target's content in `svc` (default), none in `swarm`, as on a Bee. */
  readonly dialect?: 'svc' | 'swarm';
}

const HARD_LINKS = { svc: 'file', swarm: 'empty' } as const;

/** @returns reference and chunks of a tar collection */
export async function expectTar(
  archive: Uint8Array,
  documents: SiteDocuments = {},
  { dialect = 'svc', ...stored }: TarStoredAs = {},
): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const options = { ...documents, ...stored };
  const entries = tarEntries(oneBuffer(archive), { hardLinks: HARD_LINKS[dialect] });
  const reference = await storeCollection(entries, recorded.putter, options);
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** @param form.contentType with its boundary */
export async function expectForm(
  form: { body: Uint8Array; contentType: string },
  stored: StoredAs = {},
): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const entries = multipartEntries(oneBuffer(form.body), form.contentType);
  const reference = await storeCollection(entries, recorded.putter, stored);
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

const BOUNDARY = 'svcnet-part-boundary';

/** Part names keep the directories, which file names lose. */
export function formOf(files: readonly TreeFile[]): { body: Uint8Array; contentType: string } {
  const parts = files.flatMap(({ path, data }) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${path}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    data,
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
  return { body: new Uint8Array(body), contentType: `multipart/form-data; boundary=${BOUNDARY}` };
}

function recordingPutter(): { putter: ChunkPutter; addresses: () => string[] } {
  const seen = new Set<string>();
  return {
    putter: {
      put(chunk: Chunk) {
        seen.add(toHex(chunk.address));
        return Promise.resolve();
      },
    },
    addresses: () => [...seen],
  };
}

async function* oneBuffer(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}
