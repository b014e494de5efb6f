/** Requests for what this node cannot do: they are refused by the name of the header, never silently ignored. */
import type { Dialect, HeaderKey } from './dialect.ts';
import { ApiError } from './errors.ts';
import { hex, int, publicKey } from './kinds.ts';
import { optional, type ValuesOf } from './params.ts';

/** Headers of access-controlled downloads: read and checked like any other. */
export const ACT_DOWNLOAD_HEADERS = {
  actPublisher: optional(publicKey, undefined),
  actHistoryAddress: optional(hex, undefined),
  actTimestamp: optional(int, undefined),
} as const;

/** @throws ApiError `NOT_IMPLEMENTED` when the request asks for access control (both publisher and history) */
export function refuseActDownload(headers: ValuesOf<typeof ACT_DOWNLOAD_HEADERS>, dialect: Dialect): void {
  const asked = headers.actPublisher !== undefined || headers.actHistoryAddress !== undefined;
  if (asked) refuse(headers.actPublisher === undefined ? 'actHistoryAddress' : 'actPublisher', dialect);
}

/** @throws ApiError `NOT_IMPLEMENTED` for an upload that asks for access control */
export function refuseActUpload({ act }: { readonly act: boolean }, dialect: Dialect): void {
  if (act) refuse('act', dialect);
}

function refuse(key: HeaderKey, dialect: Dialect): never {
  const name = dialect.headers[key].active;
  throw new ApiError('NOT_IMPLEMENTED', { text: `this node does not support what header ${name} asks for` });
}
