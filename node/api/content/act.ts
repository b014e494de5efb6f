/** Access control: `http-api-completion.md` 4.3, 4.4, and 5, groups ACTUP and ACTDOWN. */
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Upload } from '../../files/upload.ts';
import type { Dialect } from '../dialect.ts';
import { orElse } from '../errors.ts';
import type { NodeServices } from '../services.ts';
import { bool, hex, int, publicKey } from '../values/kinds.ts';
import { optional, type ValuesOf } from '../values/params.ts';

export const ACT_UPLOAD_HEADERS = {
  act: optional(bool, false),
  actHistoryAddress: optional(hex, undefined),
} as const;

export const ACT_DOWNLOAD_HEADERS = {
  actPublisher: optional(publicKey, undefined),
  actHistoryAddress: optional(hex, undefined),
  actTimestamp: optional(int, undefined),
} as const;

const ACT_REFUSALS = ['ACT_NOT_FOUND', 'ACT_TIMESTAMP_INVALID', 'ACT_HISTORY_INVALID'] as const;
export const ACT_UPLOAD_REFUSALS = [...ACT_REFUSALS, 'ACT_UPLOAD_FAILED'] as const;
export const ACT_DOWNLOAD_REFUSALS = [...ACT_REFUSALS, 'ACT_DOWNLOAD_FAILED'] as const;

/** The code for a history or an access list. */
const NOT_THERE = { CHUNK_NOT_FOUND: 'ACT_NOT_FOUND' } as const;

interface UploadCall {
  readonly headers: ValuesOf<typeof ACT_UPLOAD_HEADERS>;
  readonly services: Pick<NodeServices, 'accessControl' | 'netstore'>;
  readonly signal: AbortSignal;
}

export interface Answered {
  readonly reference: Uint8Array;
  /** History of access-controlled content, 32 bytes. */
  readonly history?: Uint8Array;
}

/** Encrypted if the request asks for it; the chunks for that belong to the upload. @throws ApiError of ACTUP */
export async function protect(
  reference: Uint8Array,
  session: Upload,
  { headers, services, signal }: UploadCall,
): Promise<Answered> {
  if (!headers.act) return { reference };
  const io = { getter: services.netstore.getter({ cache: true }), putter: session, signal };
  const protecting = () => services.accessControl.protect(reference, headers.actHistoryAddress, io);
  return orElse('ACT_UPLOAD_FAILED', protecting, NOT_THERE);
}

export function historyHeader({ history }: Answered, { headers }: Dialect): Readonly<Record<string, string>> {
  return history === undefined ? {} : { [headers.actHistoryAddress.active]: toHex(history) };
}

interface DownloadCall {
  readonly headers: ValuesOf<typeof ACT_DOWNLOAD_HEADERS> & { readonly cache: boolean };
  readonly services: Pick<NodeServices, 'accessControl' | 'netstore'>;
  readonly signal: AbortSignal;
}

/** Decrypted if the request names publisher and history. @throws ApiError of ACTDOWN */
export async function reveal(
  reference: Uint8Array,
  { headers, services, signal }: DownloadCall,
): Promise<Uint8Array> {
  const { actPublisher: publisher, actHistoryAddress: history, actTimestamp: timestamp, cache } = headers;
  if (publisher === undefined || history === undefined) return reference;
  const getter = services.netstore.getter({ cache });
  const request = { reference, publisher, history, timestamp };
  const revealing = () => services.accessControl.reveal(request, { getter, signal });
  return orElse('ACT_DOWNLOAD_FAILED', revealing, NOT_THERE);
}
