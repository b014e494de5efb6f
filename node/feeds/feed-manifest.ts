/**
 * A manifest whose root names a feed: a fixed reference for changing content. Keys are stored data, the same in every
 * dialect. `data-formats.md` 4.2. Vectors: test/vectors/feeds.json.
 */
import { ADDRESS_SIZE, type ChunkPutter } from '../../formats/chunk/chunk.ts';
import { OWNER_SIZE } from '../../formats/chunk/soc.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { saveManifest } from '../files/manifest-store.ts';
import type { SplitOptions } from '../files/splitter.ts';
import { Manifest } from '../manifest/manifest.ts';
import type { Metadata } from '../manifest/metadata.ts';
import type { Feed } from './feed.ts';

/** The only kind supported. */
export const SEQUENCE = 'Sequence';

const OWNER = 'swarm-feed-owner';
const TOPIC = 'swarm-feed-topic';
const TYPE = 'swarm-feed-type';
const ROOT_PATH = '/';

/** @returns 32 bytes @throws what the putter throws */
export async function storeFeedManifest(
  { owner, topic }: Feed,
  putter: ChunkPutter,
  { level = 0, signal }: Pick<SplitOptions, 'level' | 'signal'> = {},
): Promise<Uint8Array> {
  const manifest = Manifest.create();
  const metadata = { [OWNER]: toHex(owner), [TOPIC]: toHex(topic), [TYPE]: SEQUENCE };
  await manifest.add(ROOT_PATH, new Uint8Array(ADDRESS_SIZE), metadata);
  return saveManifest(manifest, putter, { level, signal });
}

interface NamedFeed {
  readonly feed: Feed;
  /** Lower case. */
  readonly type: string;
}

/** Undefined when none is named, or a malformed one. */
export async function feedOf(manifest: Manifest): Promise<NamedFeed | undefined> {
  const metadata: Metadata = (await manifest.metadata(ROOT_PATH)) ?? {};
  const owner = bytesOf(metadata[OWNER]);
  const topic = bytesOf(metadata[TOPIC]);
  if (owner?.length !== OWNER_SIZE || topic === undefined) return undefined;
  return { feed: { owner, topic }, type: (metadata[TYPE] ?? SEQUENCE).toLowerCase() };
}

function bytesOf(hex: string | undefined): Uint8Array | undefined {
  if (hex === undefined || !/^([0-9a-fA-F]{2})+$/.test(hex)) return undefined;
  return new Uint8Array(Buffer.from(hex, 'hex'));
}
