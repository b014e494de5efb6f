/**
 * Downloads of content whose root chunk is already at hand: wrapped by single-owner chunks, or pointed to by feeds.
 */
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { ContentGetter } from '../../files/redundancy/siblings.ts';
import { withRoot } from '../../files/rooted.ts';
import type { Answer } from '../exchange/answer.ts';
import type { Call } from '../route/route.ts';
import { bool } from '../values/kinds.ts';
import { optional, type ParamTable } from '../values/params.ts';
import { download, exposed, PLAIN_DOWNLOAD_HEADERS } from './download.ts';

const OCTETS = 'application/octet-stream';

export const ROOT_DOWNLOAD_HEADERS = {
  onlyRootChunk: optional(bool, false),
  ...PLAIN_DOWNLOAD_HEADERS,
} as const;

type RootDownloadCall = Call<ParamTable, ParamTable, typeof ROOT_DOWNLOAD_HEADERS>;

interface RootContent {
  /** Content-addressed. */
  readonly root: Chunk;
  /** Reference of the content, when it is not the root's address. */
  readonly reference?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** Names of the headers that browsers may read; absent: all of them. */
  readonly expose?: readonly string[];
  /** Label of the speed metric. */
  readonly endpoint: string;
}

/**
 * The content below the root, or, with `only-root-chunk`, span and payload of the root itself, without ETag and
 * ranges.
 */
export async function downloadRoot(
  call: RootDownloadCall,
  content: RootContent,
  getter: ContentGetter,
): Promise<Answer> {
  const { root, reference = root.address, headers, expose = Object.keys(headers), endpoint } = content;
  if (call.headers.onlyRootChunk) {
    const plain = { 'content-type': OCTETS, ...exposed(expose), ...headers };
    return { status: 200, headers: plain, bytes: root.data };
  }
  const file = { reference, contentType: OCTETS, headers, expose, endpoint };
  return download(call, file, withRoot(root, getter));
}
