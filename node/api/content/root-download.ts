/** Content whose root chunk is at hand: of single-owner chunks or feeds. */
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
  /** Set when it is not the root's address. */
  readonly reference?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** That browsers may read; absent: all. */
  readonly expose?: readonly string[];
  readonly endpoint: string;
}

/** With `only-root-chunk`, span and payload of the root, without ETag and ranges. */
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
