/** Manifest nodes as files: read by the joiner, written by the splitter. */
import type { ChunkPutter } from '../../formats/chunk/chunk.ts';
import { NODE_SIZE_MAX } from '../manifest/codec.ts';
import { ManifestError } from '../manifest/errors.ts';
import { Manifest } from '../manifest/manifest.ts';
import { openFile } from './joiner.ts';
import type { ContentGetter } from './redundancy/siblings.ts';
import { inOnePiece, type SplitOptions, split } from './splitter.ts';

interface Options {
  readonly signal?: AbortSignal;
}

/** Further nodes take separate turns. */
const NODES_AT_ONCE = 8;

/**
 * Other nodes follow when a path leads to them.
 * @throws ManifestError when the content is no manifest; ChunkNotFoundError when there is none; JoinError
 */
export function openManifest(
  reference: Uint8Array,
  getter: ContentGetter,
  options: Options = {},
): Promise<Manifest> {
  let nodes = 0;
  return Manifest.load(reference, async (node) => {
    nodes += 1;
    if (nodes > NODES_AT_ONCE) await getter.recovery?.clock.turn();
    const file = await openFile(node, getter, options);
    if (file.length > NODE_SIZE_MAX)
      throw new ManifestError('NODE_MALFORMED', `node of ${file.length} bytes: malformed manifest contents`);
    return Buffer.concat(await Array.fromAsync(file.read(0n, file.length, options)));
  });
}

/** @returns reference, 32 or 64 bytes @throws ManifestError `METADATA_TOO_LARGE`; what the putter throws */
export function saveManifest(
  manifest: Manifest,
  putter: ChunkPutter,
  options: SplitOptions = {},
): Promise<Uint8Array> {
  return manifest.save(async (bytes) => {
    await options.pace?.();
    return (await split(inOnePiece(bytes), putter, options)).reference;
  });
}
