/**
 * Mistakes of clients that the public network's nodes answer with 500. The strict dialect refuses such a request and says
 * why; the other answers as they do.
 */
import type { ChunkErrorCode } from '../../formats/chunk/errors.ts';
import type { SignatureErrorCode } from '../../formats/crypto/signer.ts';
import type { ChainErrorCode } from '../../formats/ethereum/chain-error.ts';
import type { CollectionErrorCode } from '../files/collection/collection.ts';
import type { JoinErrorCode } from '../files/tree.ts';
import type { ManifestErrorCode } from '../manifest/errors.ts';
import type { HostErrorCode } from '../p2p/host.ts';
import type { PostageErrorCode } from '../postage/ports.ts';
import type { PssErrorCode } from '../pss/errors.ts';
import type { Dialect, HeaderKey } from './dialect.ts';
import { type ApiError, type ApiErrorCode, type Refusal, statusOf } from './errors.ts';

type Code =
  | ApiErrorCode
  | ChainErrorCode
  | ChunkErrorCode
  | CollectionErrorCode
  | HostErrorCode
  | JoinErrorCode
  | ManifestErrorCode
  | PostageErrorCode
  | PssErrorCode
  | SignatureErrorCode;

interface Mistake {
  readonly status: 400 | 404 | 413;
  readonly field: string | { readonly header: HeaderKey };
  /** Bees do not answer 500: both dialects refuse it. */
  readonly everywhere?: true;
}

/** Codes of answers, or of the errors below them. */
const MISTAKES: { readonly [C in Code]?: Mistake } = {
  DEPTH_INVALID: { status: 400, field: 'depth' },
  BATCH_NOT_FOUND: { status: 404, field: 'batch_id' },
  GAS_LIMIT_TOO_LOW: { status: 400, field: { header: 'gasLimit' } },
  GAS_PRICE_TOO_LOW: { status: 400, field: { header: 'gasPrice' } },
  INSUFFICIENT_NATIVE: { status: 400, field: 'wallet' },
  MALFORMED_TREE: { status: 404, field: 'reference' },
  CHUNK_INVALID: { status: 400, field: 'body' },
  SIGNATURE_INVALID: { status: 400, field: 'body' },
  INVALID_INDEX_DOCUMENT: { status: 400, field: { header: 'indexDocument' } },
  PATH_TOO_LONG: { status: 400, field: 'path', everywhere: true },
  METADATA_TOO_LARGE: { status: 400, field: 'metadata' },
  MANIFEST_TOO_LARGE: { status: 413, field: 'manifest' },
  BODY_TOO_LARGE: { status: 413, field: 'body' },
  MESSAGE_TOO_LONG: { status: 413, field: 'body' },
  TARGETS_EMPTY: { status: 400, field: 'target' },
  TARGETS_UNEQUAL: { status: 400, field: 'target' },
  NONCES_EXHAUSTED: { status: 400, field: 'target' },
  WELCOME_TOO_LONG: { status: 400, field: 'welcomeMessage' },
  UNDERLAY_INVALID: { status: 400, field: 'multi-address' },
  SELF_DIAL: { status: 400, field: 'multi-address' },
  ALREADY_CONNECTED: { status: 400, field: 'multi-address' },
  PEER_NOT_ALLOWED: { status: 400, field: 'multi-address' },
};

/** Undefined: a failure, or already a refusal. */
export function mistakeOf(answer: ApiError, dialect: Dialect): Refusal | undefined {
  if (statusOf(answer) < 500) return undefined;
  const mistake = found(answer.cause) ?? found(answer);
  if (mistake === undefined || !(dialect.strictRequests || mistake.everywhere === true)) return undefined;
  const { status, field: of, message } = mistake;
  const field = typeof of === 'string' ? of : dialect.headers[of.header].active;
  // Its own message says it all.
  return { status, reasons: message === answer.code ? [] : [{ field, error: message }] };
}

function found(error: unknown): (Mistake & { readonly message: string }) | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const { code, message } = error;
  if (typeof code !== 'string' || !Object.hasOwn(MISTAKES, code)) return undefined;
  const mistake = MISTAKES[code as Code];
  return mistake === undefined ? undefined : { ...mistake, message };
}
