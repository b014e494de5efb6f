/**
 * Every error answer: code → status and message (`http-api-completion.md` 3 to 8). `MAPPED` says what errors of modules
 * become; `orElse` and a route's `errors` name an operation's own. No other file has a status of an error.
 */

import type { ChunkNotFoundError } from '../../formats/chunk/chunk.ts';
import type { ChainErrorCode } from '../../formats/ethereum/chain-error.ts';
import type { AccountingErrorCode } from '../accounting/ports.ts';
import type { ActErrorCode } from '../act/errors.ts';
import type { CollectionErrorCode } from '../files/collection/collection.ts';
import type { JoinErrorCode } from '../files/tree.ts';
import type { UploadError } from '../files/upload.ts';
import type { IncentivesErrorCode } from '../incentives/ports.ts';
import type { HostErrorCode } from '../p2p/host.ts';
import type { PostageErrorCode } from '../postage/ports.ts';
import type { SwapErrorCode } from '../swap/errors.ts';
import type { Dialect, Reason } from './dialect.ts';

/** `standard`: the status's phrase. `cause`: the cause's text. Else of the dialect. */
type Message =
  | string
  | {
      readonly text: 'standard' | 'cause' | 'stampOrBatch' | 'coins' | 'streamTag';
      readonly before?: string;
    };
type ErrorRow = readonly [status: number, message: Message];

const STANDARD: Message = { text: 'standard' };
const CAUSE: Message = { text: 'cause' };

export const ERRORS = {
  MALFORMED_URL: [400, STANDARD],
  NOT_FOUND: [404, STANDARD],
  BODY_TOO_LARGE: [413, STANDARD],
  BODY_IDLE: [408, STANDARD],
  INTERNAL: [500, STANDARD],
  UPGRADE_FAILED: [400, 'upgrade failed'],
  HOST_TWICE: [400, 'more than one Host header'],
  HOST_REFUSED: [
    403,
    'host name not allowed: use an address or localhost, or name it in the option allowed-hosts',
  ],
  ORIGIN_REFUSED: [403, 'origin not allowed: name it in the option cors-allowed-origins'],
  TOKEN_REQUIRED: [401, 'a valid token is required: Authorization: Bearer <token>'],
  TOKEN_SCOPE: [403, 'the token is read-only: this operation needs the full one'],
  SERVICE_UNAVAILABLE: [503, 'service unavailable'],
  INVALID_PATH_PARAMS: [400, 'invalid path params'],
  INVALID_QUERY_PARAMS: [400, 'invalid query params'],
  INVALID_HEADER_PARAMS: [400, 'invalid header params'],
  INVALID_BODY_PARAMS: [400, 'invalid body params'],
  NODE_STARTING: [503, 'Node is syncing. This endpoint is unavailable. Try again later.'],
  CHEQUEBOOK_DISABLED: [403, 'Chequebook is disabled. This endpoint is unavailable.'],
  SWAP_DISABLED: [403, 'Swap is disabled. This endpoint is unavailable.'],
  CHAIN_DISABLED: [403, 'Chain is disabled. This endpoint is unavailable.'],
  INCENTIVES_DISABLED: [403, 'Storage incentives are disabled. This endpoint is unavailable.'],
  FULL_MODE_ONLY: [400, 'operation is supported only in full mode'],
  ONCHAIN_BUSY: [429, 'simultaneous on-chain operations not supported'],
  STATUS_BUSY: [429, 'simultaneous operations not supported'],
  DISK_FULL: [507, 'insufficient storage'],
  SYNC_FAILED: [503, 'syncing failed'],
  SYNC_RUNNING: [503, 'syncing in progress'],
  TAG_NOT_FOUND: [404, 'tag not found'],
  BATCH_NOT_FOUND: [404, 'batch with id not found'],
  BATCH_NOT_USABLE: [422, 'batch not usable yet or does not exist'],
  /** 404 in a dialect without expired batches. */
  BATCH_EXPIRED: [422, 'batch not usable yet or does not exist'],
  BATCH_INVALID: [400, 'invalid batch id'],
  BATCH_OVERISSUED: [402, 'batch is overissued'],
  STAMP_INVALID: [400, 'stamp signature is invalid'],
  STAMP_MALFORMED: [400, 'Stamp deserialization failure'],
  STAMP_OR_BATCH_REQUIRED: [400, { text: 'stampOrBatch' }],
  PUTTER_REFUSED: [400, STANDARD],
  STREAM_TAG_INVALID: [400, { text: 'streamTag' }],
  CHUNK_PUTTER_REFUSED: [400, 'get putter failed'],
  SPLIT_FAILED: [500, 'split write all failed'],
  DONE_SPLIT_FAILED: [500, 'done split failed'],
  CHUNK_READ_BODY_FAILED: [500, 'cannot read chunk data'],
  CHUNK_TOO_SHORT: [400, 'insufficient data length'],
  CHUNK_CREATE_FAILED: [500, 'create chunk error'],
  CHUNK_WRITE_FAILED: [500, 'chunk write error'],
  SOC_TOO_SHORT: [400, 'short chunk data'],
  SOC_OWNER_INVALID: [401, 'invalid address'],
  SOC_INVALID: [401, 'invalid chunk'],
  SOC_WRITE_FAILED: [400, 'chunk write error'],
  FEED_STORE_FAILED: [500, 'store manifest failed'],
  STAMPING_FAILED: [500, 'stamping failed'],
  ISSUER_NOT_SAVED: [500, 'failed to save stamp issuer'],
  BODY_REQUIRED: [400, 'could not validate request'],
  CONTENT_TYPE_INVALID: [400, 'invalid content-type'],
  COLLECTION_EMPTY: [400, 'no files in root directory'],
  TAR_FILENAME_INVALID: [400, 'invalid filename in tar archive'],
  TAR_INVALID: [400, 'invalid tar archive'],
  MULTIPART_INVALID: [400, 'invalid multipart body'],
  COLLECTION_TOO_LARGE: [413, 'collection too large'],
  COLLECTION_STORE_FAILED: [500, 'could not store directory'],
  FILE_STORE_FAILED: [500, 'could not store file'],
  DOWNLOAD_HEADERS: [400, 'could not parse headers'],
  DOWNLOADS_BUSY: [503, 'too many downloads at once, try again later'],
  LISTINGS_BUSY: [503, 'too many listings at once, try again later'],
  ROOT_NOT_FOUND: [404, STANDARD],
  JOIN_FAILED: [500, 'joiner failed'],
  CONTENT_MALFORMED: [404, CAUSE],
  CHUNK_NOT_FOUND: [404, 'chunk not found'],
  CHUNK_READ_FAILED: [500, 'read chunk failed'],
  SOC_NOT_FOUND: [404, 'requested chunk cannot be retrieved'],
  SOC_EXPECTED: [500, 'chunk is not a single owner chunk'],
  FEED_TYPE_NOT_FOUND: [404, 'feed type not found'],
  FEED_LOOKUP_FAILED: [404, 'lookup at failed'],
  FEED_EMPTY: [404, 'no update found'],
  FEED_UPDATE_UNRESOLVED: [404, 'wrapped chunk cannot be retrieved'],
  FEED_NOT_FOUND: [404, 'feed not found'],
  ADDRESS_NOT_FOUND: [404, 'address not found or incorrect'],
  PATH_NOT_FOUND: [404, 'path address not found'],
  PATH_FAILED: [404, STANDARD],
  PSS_BATCH_NOT_FOUND: [400, 'batch not found'],
  PSS_BATCH_NOT_USABLE: [400, 'batch not usable yet'],
  PSS_ISSUER_FAILED: [400, 'postage stamp issuer'],
  PSS_SEND_FAILED: [500, 'pss send failed'],
  ACT_NOT_FOUND: [404, 'act or history entry not found'],
  ACT_TIMESTAMP_INVALID: [400, 'invalid timestamp'],
  ACT_HISTORY_INVALID: [400, 'failed to create history'],
  ACT_UPLOAD_FAILED: [500, 'act upload failed'],
  ACT_DOWNLOAD_FAILED: [500, 'act download failed'],
  GRANTEES_BODY_UNREAD: [500, 'cannot read request'],
  GRANTEES_BODY_INVALID: [500, 'error unmarshaling request body'],
  GRANTEES_INVALID: [400, 'invalid grantee list'],
  GRANTEES_ADD_INVALID: [400, 'invalid add list'],
  GRANTEES_REVOKE_INVALID: [400, 'invalid revoke list'],
  GRANTEES_NONE: [400, 'remove from empty grantee list'],
  GRANTEES_CHANGE_FAILED: [500, 'failed to create or update grantee list'],
  GRANTEES_CLOSE_FAILED: [500, 'done split grantees failed'],
  GRANTEES_NOT_FOUND: [404, 'granteelist not found'],
  TAG_NOT_PRESENT: [404, 'tag not present'],
  TAG_LIST_FAILED: [500, CAUSE],
  TAG_CREATE_FAILED: [500, 'cannot create tag'],
  TAG_GET_FAILED: [500, 'cannot get tag'],
  TAG_BODY_INVALID: [500, 'error unmarshaling metadata'],
  TAG_DONE_FAILED: [500, 'done split: failed'],
  PIN_CONTENT_NOT_FOUND: [404, 'pin collection failed'],
  PIN_FAILED: [500, 'pin collection failed'],
  PIN_CHECK_FAILED: [500, 'pin root hash: checking of tracking pin failed'],
  UNPIN_CHECK_FAILED: [500, 'pin root hash: checking of tracking pin'],
  UNPIN_FAILED: [500, 'unpin root hash: deletion of pin failed'],
  PIN_GET_FAILED: [500, 'pinned root hash: check reference failed'],
  PIN_LIST_FAILED: [500, 'list pinned root references failed'],
  RETRIEVABLE_FAILED: [500, 'is retrievable check failed'],
  REUPLOAD_BATCH_UNKNOWN: [404, 'unable to find old batch for reference, provide new batch id'],
  REUPLOAD_FAILED: [500, 're-upload failed'],
  STAMPER_NOT_SAVED: [500, 'unable to save stamper data'],
  ISSUER_NOT_FOUND: [404, 'issuer does not exist'],
  ISSUER_NOT_USABLE: [400, 'batch not usable'],
  STAMPS_CHECK_FAILED: [500, 'unable to check batch'],
  ISSUER_FAILED: [500, 'get issuer failed'],
  OUT_OF_FUNDS: [400, 'out of funds'],
  INSUFFICIENT_VALIDITY: [400, 'insufficient amount for 24h minimum validity'],
  BATCH_CREATE_FAILED: [500, 'cannot create batch'],
  TOPUP_OUT_OF_FUNDS: [402, 'out of funds'],
  BATCH_TOPUP_FAILED: [500, 'cannot topup batch'],
  DEPTH_INVALID: [400, 'invalid depth'],
  BATCH_DILUTE_FAILED: [500, 'cannot dilute batch'],
  LABEL_BODY_INVALID: [400, 'invalid request body'],
  LABEL_REQUIRED: [400, 'label is required'],
  LABEL_FAILED: [500, 'cannot update label'],
  BATCHES_FAILED: [500, 'unable to iterate all batches'],
  NETWORK_BATCH_NOT_FOUND: [404, 'batch not found'],
  BATCH_GET_FAILED: [500, 'unable to get batch'],
  PEER_NOT_FOUND: [404, 'peer not found'],
  PEER_CALL_FAILED: [500, CAUSE],
  DIAL_FAILED: [500, 'libp2p connect: the peer cannot be connected to'],
  DIAL_REFUSED: [500, 'no supported addresses'],
  ALREADY_CONNECTED: [500, 'already connected'],
  PEER_BLOCKLISTED: [500, 'peer blocklisted'],
  SELF_DIAL: [500, 'cannot connect to self'],
  BLOCKLIST_FAILED: [500, 'get blocklisted peers failed'],
  PING_FAILED: [500, 'pingpong: ping failed'],
  WELCOME_BODY_INVALID: [400, CAUSE],
  WELCOME_TOO_LONG: [500, 'handshake welcome message longer than maximum of 140 characters'],
  COMMITMENT_FAILED: [500, 'unable to calculate commitment'],
  BLOCK_NUMBER_UNAVAILABLE: [500, 'block number unavailable'],
  VALIDITY_UNAVAILABLE: [500, 'minimum validity blocks unavailable'],
  STATUS_FAILED: [500, CAUSE],
  NEIGHBORHOODS_FAILED: [500, 'unable to get neighborhoods status'],
  STORE_COUNTERS_FAILED: [500, 'debug storage info not available'],
  BALANCES_FAILED: [500, 'Cannot get balances'],
  BALANCE_NOT_FOUND: [404, 'No balance for peer'],
  BALANCE_FAILED: [500, 'Cannot get balance'],
  ACCOUNTING_FAILED: [500, 'Cannot get accounting info'],
  SETTLEMENTS_FAILED: [500, 'can not get settlements'],
  SETTLEMENT_NOT_FOUND: [404, 'no settlements for peer'],
  SETTLEMENT_FAILED: [500, 'can not get settlements for peer'],
  CHEQUEBOOK_BALANCE_FAILED: [500, 'cannot get chequebook balance'],
  INSUFFICIENT_FUNDS: [400, 'insufficient funds'],
  DEPOSIT_FAILED: [500, 'cannot deposit'],
  WITHDRAW_FAILED: [500, 'cannot withdraw'],
  NO_PRIOR_CHEQUE: [404, 'no prior cheque'],
  CHEQUE_FAILED: [500, 'cannot get last cheque for peer'],
  CHEQUES_FAILED: [500, 'cannot get last cheque for all peers'],
  CASHOUT_STATUS_FAILED: [500, 'cannot get cashout status'],
  CASHOUT_FAILED: [500, 'cannot cash cheque'],
  WALLET_NATIVE_FAILED: [500, 'unable to acquire balance from the chain backend'],
  WALLET_TOKEN_FAILED: [500, 'unable to acquire erc20 balance'],
  STAKE_READ_FAILED: [500, 'get staked amount failed'],
  STAKE_TOO_SMALL: [400, 'insufficient stake amount'],
  STAKE_FAILED: [500, 'cannot stake'],
  STAKE_IS_FROZEN: [400, 'stake is frozen'],
  STAKE_NOT_PAUSED: [400, 'contract is not paused'],
  STAKE_MIGRATE_NONE: [400, 'insufficient stake to migrate'],
  STAKE_MIGRATE_FAILED: [500, 'cannot migrate stake'],
  STAKE_WITHDRAW_NONE: [400, 'insufficient stake to withdraw'],
  STAKE_WITHDRAW_FAILED: [500, 'cannot withdraw stake'],
  GAME_STATE_FAILED: [500, 'failed to get redistribution status'],
  GAME_FUNDS_FAILED: [500, 'failed to calculate if node has enough funds to play'],
  SAMPLING_BUSY: [503, 'Too many reserve samples are being made. Try again later.'],
  SAMPLE_FAILED: [500, 'failed making sample with proofs'],
  COIN_UNKNOWN: [400, { text: 'coins' }],
  WITHDRAWAL_REFUSED: [400, 'provided address not whitelisted'],
  WITHDRAWAL_TOO_LARGE: [400, 'not enough balance'],
  WITHDRAW_TOKEN_BALANCE_FAILED: [500, 'unable to get balance'],
  WITHDRAW_TOKEN_FAILED: [500, 'unable to transfer amount'],
  WITHDRAW_NATIVE_FAILED: [500, 'unable to transfer'],
  TRANSACTIONS_FAILED: [500, 'cannot get transaction'],
  TRANSACTION_NOT_FOUND: [404, 'unknown transaction'],
  TRANSACTION_IMPORTED: [400, 'already imported'],
  TRANSACTION_RESEND_FAILED: [500, "can't resend transaction"],
} as const satisfies Record<string, ErrorRow>;

export type ApiErrorCode = keyof typeof ERRORS;

type ChunkErrorCode = ChunkNotFoundError['code'];
type UploadErrorCode = UploadError['code'];
type DomainCode =
  | PostageErrorCode
  | HostErrorCode
  | ChainErrorCode
  | AccountingErrorCode
  | IncentivesErrorCode
  | SwapErrorCode
  | ChunkErrorCode
  | UploadErrorCode
  | CollectionErrorCode
  | ActErrorCode
  | JoinErrorCode
  | 'STORE_FULL';

/** Unless a route words it itself; null: the operation's general failure. */
const MAPPED: Readonly<Record<DomainCode, ApiErrorCode | null>> = {
  BATCH_NOT_FOUND: 'BATCH_NOT_FOUND',
  BATCH_NOT_USABLE: 'BATCH_NOT_USABLE',
  BATCH_EXPIRED: 'BATCH_EXPIRED',
  BATCH_OVERISSUED: 'BATCH_OVERISSUED',
  STAMP_INVALID: 'STAMP_INVALID',
  OUT_OF_FUNDS: 'OUT_OF_FUNDS',
  INSUFFICIENT_VALIDITY: 'INSUFFICIENT_VALIDITY',
  AMOUNT_INVALID: null,
  DEPTH_INVALID: null,
  ALREADY_CONNECTED: 'ALREADY_CONNECTED',
  SELF_DIAL: 'SELF_DIAL',
  PEER_BLOCKLISTED: 'PEER_BLOCKLISTED',
  PEER_IS_LIGHT: null,
  PEER_NOT_ALLOWED: null,
  DIAL_FAILED: null,
  DIAL_PAUSED: null,
  HANDSHAKE_FAILED: null,
  UNDERLAY_INVALID: null,
  PEER_NOT_FOUND: 'PEER_NOT_FOUND',
  NETWORK_UNAVAILABLE: null,
  HOST_CLOSED: null,
  LISTEN_FAILED: null,
  RPC_UNREACHABLE: null,
  RPC_ERROR: null,
  REVERTED: null,
  GAS_LIMIT_TOO_LOW: null,
  GAS_PRICE_TOO_LOW: null,
  INSUFFICIENT_NATIVE: null,
  TRANSACTION_CANCELLED: null,
  TRANSACTION_UNKNOWN: null,
  ALREADY_IMPORTED: null,
  NOT_MINED: null,
  MONITOR_CLOSED: null,
  INSUFFICIENT_STAKE_AMOUNT: 'STAKE_TOO_SMALL',
  INSUFFICIENT_TOKENS: 'OUT_OF_FUNDS',
  NOTHING_TO_WITHDRAW: 'STAKE_WITHDRAW_NONE',
  NOT_PAUSED: 'STAKE_NOT_PAUSED',
  STAKE_FROZEN: 'STAKE_IS_FROZEN',
  SAMPLE_TOO_SMALL: null,
  SAMPLING_BUSY: 'SAMPLING_BUSY',
  OVERDRAFT: null,
  PEER_NOT_CONNECTED: null,
  CHEQUE_MALFORMED: null,
  WRONG_CHEQUEBOOK: null,
  WRONG_BENEFICIARY: null,
  NOT_FROM_FACTORY: null,
  NOT_INCREASING: null,
  VALUE_TOO_LOW: null,
  CHEQUE_INVALID: null,
  BOUNCING_CHEQUE: null,
  NO_EXCHANGE_HEADER: null,
  RATE_HEADER_MALFORMED: null,
  DEDUCTION_NOT_ZERO: null,
  EXCHANGE_RATE_MISMATCH: null,
  DEDUCTION_MISMATCH: null,
  NO_EXCHANGE_RATE: null,
  CHEQUEBOOK_OUT_OF_FUNDS: null,
  NO_CHEQUEBOOK: null,
  INSUFFICIENT_TOKEN_BALANCE: 'INSUFFICIENT_FUNDS',
  FOREIGN_CHEQUEBOOK: null,
  NO_CHEQUE: 'NO_PRIOR_CHEQUE',
  CHEQUE_NOT_TAKEN: null,
  CHUNK_NOT_FOUND: 'CHUNK_NOT_FOUND',
  TAG_NOT_FOUND: 'TAG_NOT_FOUND',
  NO_FILES: 'COLLECTION_EMPTY',
  INVALID_TAR_FILENAME: 'TAR_FILENAME_INVALID',
  INVALID_TAR: null,
  COLLECTION_TOO_LARGE: 'COLLECTION_TOO_LARGE',
  INVALID_LINK: 'TAR_FILENAME_INVALID',
  INVALID_MULTIPART: null,
  INVALID_PART_NAME: 'MULTIPART_INVALID',
  INVALID_INDEX_DOCUMENT: null,
  INVALID_NAME: null,
  ENTRY_NOT_FOUND: 'ACT_NOT_FOUND',
  TIMESTAMP_INVALID: 'ACT_TIMESTAMP_INVALID',
  HISTORY_MALFORMED: 'ACT_HISTORY_INVALID',
  HISTORY_BUSY: null,
  ACT_MALFORMED: null,
  GRANTEES_EMPTY: 'GRANTEES_NONE',
  GRANTEES_MALFORMED: null,
  GRANTEES_TOO_MANY: null,
  GRANTEES_UNAVAILABLE: null,
  REFERENCE_INVALID: null,
  MALFORMED_TREE: null,
  CHUNK_UNAVAILABLE: null,
  STORE_FULL: 'DISK_FULL',
};

export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly reasons: readonly Reason[];

  /** @param details.text message, where it is the cause's */
  constructor(
    code: ApiErrorCode,
    details: { reasons?: readonly Reason[]; text?: string; cause?: unknown } = {},
  ) {
    super(details.text ?? textOf(details.cause) ?? code, { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.reasons = details.reasons ?? [];
  }
}

export type ErrorWording = { readonly [C in DomainCode]?: ApiErrorCode };

/** An answer itself, the operation's wording, the mapping of its code, else `fallback`. */
export function answerOf(error: unknown, fallback: ApiErrorCode, wording: ErrorWording = {}): ApiError {
  if (error instanceof ApiError) return error;
  const code = (error as { code?: unknown } | null | undefined)?.code;
  const known = typeof code === 'string' && Object.hasOwn(MAPPED, code) ? (code as DomainCode) : undefined;
  const mapped = known === undefined ? undefined : (wording[known] ?? MAPPED[known]);
  return new ApiError(mapped ?? fallback, { cause: error, reasons: reasonsOf(error) });
}

const BODY_MISTAKES: readonly unknown[] = [
  'INVALID_TAR_FILENAME',
  'INVALID_TAR',
  'COLLECTION_TOO_LARGE',
  'INVALID_LINK',
  'INVALID_MULTIPART',
  'INVALID_PART_NAME',
] satisfies CollectionErrorCode[];

/** For causes that the operation's text cannot tell, and what to do. */
function reasonsOf(error: unknown): Reason[] {
  if (!(error instanceof Error)) return [];
  const { code, message, blocking } = error as Error & { code?: unknown; blocking?: unknown };
  if (BODY_MISTAKES.includes(code)) return [{ field: 'body', error: message }];
  if (code === 'RPC_UNREACHABLE')
    return [{ field: 'chain', error: 'the endpoint does not answer, try again later' }];
  if (code === 'STORE_FULL') return [{ field: 'disk', error: message }];
  if (code === 'NO_ROOM') return [{ field: 'neighborhood', error: `${message}, try again later` }];
  if (code === 'MANIFEST_TOO_LARGE') return [{ field: 'manifest', error: message }];
  if (code === 'TRANSACTION_CANCELLED') return [{ field: 'transaction', error: message }];
  if (code !== 'NOT_MINED') return [];
  const path = `/transactions/${String(blocking)}`;
  return [
    { field: 'transaction', error: `${message}; POST ${path} sends it again, DELETE ${path} cancels it` },
  ];
}

/** A failed step gets this answer. */
export async function orElse<T>(
  fallback: ApiErrorCode,
  step: () => T | Promise<T>,
  wording?: ErrorWording,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw answerOf(error, fallback, wording);
  }
}

/** A Bee forgets expired batches. */
export function inDialect(error: ApiError, { expiredStamps }: Pick<Dialect, 'expiredStamps'>): ApiError {
  if (error.code !== 'BATCH_EXPIRED' || expiredStamps) return error;
  return new ApiError('BATCH_NOT_FOUND', { cause: error });
}

export function statusOf(error: ApiError): number {
  return ERRORS[error.code][0];
}

export const HEADERS_OF: { readonly [C in ApiErrorCode]?: Readonly<Record<string, string>> } = {
  // Seconds: by then a stalled download has made room.
  DOWNLOADS_BUSY: { 'retry-after': '1' },
  LISTINGS_BUSY: { 'retry-after': '1' },
  // The rest of the body may follow.
  BODY_IDLE: { connection: 'close' },
};

export interface Refusal {
  readonly status: number;
  readonly reasons: readonly Reason[];
}

/** `http-api-completion.md` 3.1. */
export function errorBody(
  error: ApiError,
  dialect: Dialect,
  { status, reasons }: Refusal = { status: statusOf(error), reasons: error.reasons },
): Record<string, unknown> {
  const [, message]: ErrorRow = ERRORS[error.code];
  const body = { code: status, message: messageText(message, { error, status }, dialect) };
  return reasons.length === 0 ? body : { ...body, reasons: reasons.map(dialect.reason) };
}

const STANDARD_TEXTS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Request Entity Too Large',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
};

export function standardText(status: number): string {
  return STANDARD_TEXTS[status] ?? String(status);
}

function messageText(
  message: Message,
  { error, status }: { readonly error: ApiError; readonly status: number },
  dialect: Dialect,
): string {
  if (typeof message === 'string') return message;
  const texts = {
    standard: standardText(status),
    cause: error.message,
    stampOrBatch: dialect.messages.stampOrBatch,
    coins: dialect.messages.coins,
    streamTag: dialect.messages.streamTag,
  };
  return `${message.before ?? ''}${texts[message.text]}`;
}

function textOf(cause: unknown): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}
