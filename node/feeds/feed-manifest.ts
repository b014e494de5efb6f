/**
 * A fixed reference for changing content: a manifest whose root names a feed instead of a file. The metadata keys are
 * stored data, identical in every dialect. `data-formats.md` 4.2. Vectors: test/vectors/feeds.json.
 */
import { ADDRESS_SIZE, type ChunkPutter } from '../../formats/chunk/chunk.ts';
import { OWNER_SIZE } from '../../formats/chunk/soc.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { saveManifest } from '../files/manifest-store.ts';
import type { SplitOptions } from '../files/splitter.ts';
import { Manifest } from '../manifest/manifest.ts';
import type { Metadata } from '../manifest/metadata.ts';
import type { Feed } from './feed.ts';

/** The only kind of feed that is written and looked up. */
export const SEQUENCE = 'Sequence';

const OWNER = 'swarm-feed-owner';
const TOPIC = 'swarm-feed-topic';
const TYPE = 'swarm-feed-type';
const ROOT_PATH = '/';

/** @returns reference of the manifest, 32 bytes @throws what the putter throws */
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
  /** In lower case. */
  readonly type: string;
}

/**
 * The feed that a manifest names. Undefined when it names none; a malformed one counts as none. Reads nothing more.
 */
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
