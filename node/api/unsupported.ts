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

/** The options of an upload that change how it is stored. */
interface UploadWishes {
  readonly pin?: boolean;
  readonly act?: boolean;
}

/** @throws ApiError `NOT_IMPLEMENTED` naming the first header that asks for more than a plain upload */
export function refuseWishes(wishes: UploadWishes, dialect: Dialect): void {
  if (wishes.pin === true) refuse('pin', dialect);
  if (wishes.act === true) refuse('act', dialect);
}

function refuse(key: HeaderKey, dialect: Dialect): never {
  const name = dialect.headers[key].active;
  throw new ApiError('NOT_IMPLEMENTED', { text: `this node does not support what header ${name} asks for` });
}
