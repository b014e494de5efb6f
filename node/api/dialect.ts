/**
 * The two naming dialects of the HTTP API as two columns of one table: header names, path segments, JSON names, texts
 * and the differing behaviours of `http-api-completion.md` section 2. Handlers read columns and never ask which
 * dialect is active. Requests may use either family of names, and the active one wins; answers use the active one.
 */
import { checksumAddress } from '../../formats/crypto/checksum.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { LEVEL_MAX, type RedundancyLevel } from '../files/redundancy/redundancy.ts';
import { PATH_SIZE_MAX } from '../manifest/manifest.ts';

export type DialectName = 'svc' | 'swarm';

/** Headers whose name starts with the dialect's prefix: key in code → rest of the name. */
const OWN_HEADERS = {
  postageBatchId: 'postage-batch-id',
  postageStamp: 'postage-stamp',
  tag: 'tag',
  pin: 'pin',
  encrypt: 'encrypt',
  deferredUpload: 'deferred-upload',
  collection: 'collection',
  indexDocument: 'index-document',
  errorDocument: 'error-document',
  redundancyLevel: 'redundancy-level',
  redundancyStrategy: 'redundancy-strategy',
  redundancyFallbackMode: 'redundancy-fallback-mode',
  chunkRetrievalTimeout: 'chunk-retrieval-timeout',
  lookaheadBufferSize: 'lookahead-buffer-size',
  cache: 'cache',
  onlyRootChunk: 'only-root-chunk',
  act: 'act',
  actTimestamp: 'act-timestamp',
  actPublisher: 'act-publisher',
  actHistoryAddress: 'act-history-address',
  socSignature: 'soc-signature',
  feedIndex: 'feed-index',
  feedIndexNext: 'feed-index-next',
  feedResolvedVersion: 'feed-resolved-version',
  traceId: 'trace-id',
} as const;

/** Headers named the same in both dialects. */
const COMMON_HEADERS = {
  accept: 'accept',
  contentType: 'content-type',
  gasPrice: 'gas-price',
  gasLimit: 'gas-limit',
  immutable: 'immutable',
  range: 'range',
  ifRange: 'if-range',
  ifMatch: 'if-match',
  ifNoneMatch: 'if-none-match',
  ifModifiedSince: 'if-modified-since',
  ifUnmodifiedSince: 'if-unmodified-since',
} as const;

type OwnHeader = keyof typeof OWN_HEADERS;
export type HeaderKey = OwnHeader | keyof typeof COMMON_HEADERS;

interface HeaderName {
  /** Lower case; used in answers and in validation errors. */
  readonly active: string;
  /** Name in the other family, accepted when `active` is absent. */
  readonly other?: string;
  /** Capitalised form, used in parse errors. */
  readonly declared: string;
}

/** One reason of a refused request. */
export interface Reason {
  readonly field: string;
  readonly error: string;
}

/** Logical JSON field → the names under which it is emitted, all with the same value; none: left out. */
interface FieldNames {
  readonly mode: readonly string[];
  readonly walletBalance: readonly string[];
  readonly statusList: readonly string[];
  readonly statusOverlay: readonly string[];
  readonly statusCommitment: readonly string[];
  readonly balancesByPeer: readonly string[];
  readonly batchImmutable: readonly string[];
  readonly batchStorageRadius: readonly string[];
  readonly stampExpired: readonly string[];
  /** Stamps that have taken the slots of older chunks. */
  readonly stampDisplaced: readonly string[];
  /** As a duration; both dialects also emit the number of seconds. */
  readonly sampleDuration: readonly string[];
  /** Second name of a staking transaction, on the debug port. */
  readonly debugTransaction: readonly string[];
  readonly debugApiVersion: readonly string[];
  /** Of the chain state: how many blocks a new batch must last. */
  readonly minimumValidity: readonly string[];
}

interface Versions {
  /** Versions of the interface on either port, which clients check. */
  readonly main: string;
  readonly debug: string;
  /** The version that the node reports as its own. @param own version of the package */
  readonly product: (own: string) => string;
}

interface Messages {
  readonly stampOrBatch: string;
  readonly invalidName: string;
  /** For an unknown coin. */
  readonly coins: string;
  /** Body of `GET /`. */
  readonly root: string;
  /** Answer to a tag in a stream's query that is not a number. */
  readonly streamTag: string;
}

interface DialectColumn {
  readonly prefix: string;
  /** First segment of the file routes. */
  readonly segment: string;
  /** Suffix of the host names whose first part names the content. */
  readonly hostSuffix: string;
  readonly metricPrefix: string;
  /** The network's token as a coin of the wallet. */
  readonly token: string;
  readonly versions: Versions;
  readonly fields: FieldNames;
  readonly messages: Messages;
  /** One element of `reasons`. */
  readonly reason: (reason: Reason) => unknown;
  /** Settlement sums: a bigint is written as a JSON integer of all its digits, a string as text. */
  readonly settlementAmount: (amount: bigint) => bigint | string;
  /**
   * Refuses values that the document's formats exclude: signs and leading zeros of numbers, references of another
   * length, negative prices, JSON of another shape. The other dialect reads such values as a Bee does.
   */
  readonly strictRequests: boolean;
  /** Status of a sent deposit, withdrawal or cashout. */
  readonly paidStatus: 200 | 201;
  /** A request for the cheques of a peer without any is answered 404. */
  readonly missesCheques: boolean;
  /** 20-byte chain address in JSON. */
  readonly chainAddress: (address: Uint8Array) => string;
  /** The same, in the fields that Bees write in checksum case. */
  readonly checksummedAddress: (address: Uint8Array) => string;
  /** Bounds of `limit` in `GET /tags`; without a maximum it is cut to 1000. */
  readonly tagLimit: { readonly min?: number; readonly max?: number };
  /** Keys of the body of `PATCH /tags/{uid}` that name its reference, the first that is there. Others are ignored. */
  readonly tagReferenceKeys: readonly string[];
  /** Deleting a missing tag is answered 404. */
  readonly missesTags: boolean;
  /** Text around the records of pin checks. */
  readonly pinChecks: { readonly start: string; readonly between: string; readonly end: string };
  /** Answer to every chunk of a stream. */
  readonly chunkTaken: Uint8Array;
  /** Redundancy of an upload that names no level. */
  readonly uploadLevel: RedundancyLevel;
  /** Level for the replicas that a re-upload searches for when it names none. */
  readonly reuploadLevel: RedundancyLevel;
  /** Feeds, pins, stewardship and lists of grantees read the level just as uploads and downloads do. */
  readonly levelEverywhere: boolean;
  /** Type of the answer with a chunk. */
  readonly chunkType: string;
  /** A file whose manifest entry has an empty type is served with an empty one; otherwise its first bytes decide. */
  readonly servesEmptyTypes: boolean;
  /** In a stream without a batch, chunks bring their own stamps, and the query may name the stream's tag. */
  readonly stampedStreams: boolean;
  /** Message to a stream before it is ended for a chunk of impossible size; undefined: none. */
  readonly streamChunkInvalid: string | undefined;
  /** A re-upload without a batch is refused; otherwise the batch of an earlier upload pays. */
  readonly reuploadNeedsBatch: boolean;
  /** Whether a file request without a path is redirected to the form with a slash. @param accept of the request */
  readonly redirectsRoot: (accept: string) => boolean;
  /** Names of request headers on which that depends. */
  readonly rootVary: Readonly<Record<string, string>>;
  /** The only word accepted as the type of a feed, in upper or lower case; undefined: the type is ignored. */
  readonly feedType: string | undefined;
  /** Longest path of a file that is uploaded, bytes. */
  readonly pathMax: number;
  /** What a hard link in an archive is stored as. */
  readonly hardLinks: 'file' | 'empty';
  /** Whether the answer to a collection upload has an ETag; a single file's always has one. */
  readonly collectionEtag: boolean;
  /** `GET /stamps` knows the query parameter `all`. */
  readonly expiredStamps: boolean;
  /** `POST /welcome-message` answers the health members besides the acknowledgement. */
  readonly welcomeWithHealth: boolean;
  /** The error that the game is for full nodes comes before the one that it is switched off. */
  readonly fullModeFirst: boolean;
  /** Form of the loggers of one name in the tree of loggers. */
  readonly namedLoggers: (entries: readonly string[]) => string | readonly string[];
  /** Entries of the tree of loggers have both of their members, even empty ones. */
  readonly wholeLoggers: boolean;
  /** Status records say of every peer whether it failed, not only of those that did. */
  readonly saysNotFailed: boolean;
  /** The balance with a peer has members for thresholds, which are never filled. */
  readonly balanceThresholds: boolean;
  /** A look-up of a feed finds the update of the time that it names; otherwise that time is ignored. */
  readonly feedsByTime: boolean;
  /** Value in the proof of a content-addressed chunk. */
  readonly noSocProof: readonly [] | null;
}

const COLUMNS: Readonly<Record<DialectName, DialectColumn>> = {
  svc: {
    prefix: 'svc-',
    segment: 'svc',
    hostSuffix: '.svc.localhost',
    metricPrefix: 'svc',
    token: 'svc',
    versions: { main: '7.3.0', debug: '4.0.0', product: (own) => own },
    fields: {
      mode: ['svcMode'],
      walletBalance: ['svcBalance'],
      statusList: ['stamps', 'snapshots'],
      statusOverlay: ['overlay', 'peer'],
      statusCommitment: ['batchCommitment', 'BatchCommitment'],
      balancesByPeer: ['peerData'],
      batchImmutable: ['immutable', 'immutableFlag'],
      batchStorageRadius: ['storageRadius'],
      stampExpired: ['expired'],
      stampDisplaced: ['displaced'],
      sampleDuration: ['lastSampleDuration'],
      debugTransaction: ['txhash'],
      debugApiVersion: ['debugApiVersion'],
      minimumValidity: [],
    },
    messages: {
      stampOrBatch: "Either 'Svc-Postage-Stamp' or 'Svc-Postage-Batch-Id' header must be set in the request",
      invalidName: 'invalid name or svc address',
      coins: 'only SVC or NativeToken options are accepted',
      root: 'svc node\n',
      streamTag: 'invalid svc-tag query parameter',
    },
    reason: ({ field, error }) => `${field}: ${error}`,
    settlementAmount: (amount) => amount,
    strictRequests: true,
    paidStatus: 201,
    missesCheques: true,
    chainAddress: toHex,
    checksummedAddress: toHex,
    tagLimit: { min: 1, max: 1000 },
    tagReferenceKeys: ['address', 'reference'],
    missesTags: true,
    // A browser needs the slash for relative links; other clients get the content at once.
    redirectsRoot: (accept) => /text\/html/i.test(accept),
    pinChecks: { start: '[', between: ',', end: ']' },
    chunkTaken: Uint8Array.of(0),
    uploadLevel: 0,
    reuploadLevel: LEVEL_MAX,
    levelEverywhere: false,
    chunkType: 'application/octet-stream',
    servesEmptyTypes: false,
    stampedStreams: false,
    streamChunkInvalid: undefined,
    reuploadNeedsBatch: false,
    rootVary: { vary: 'Accept' },
    feedType: 'sequence',
    // Of a file system.
    pathMax: 4096,
    hardLinks: 'file',
    collectionEtag: true,
    expiredStamps: true,
    welcomeWithHealth: true,
    fullModeFirst: true,
    namedLoggers: (entries) => entries.join('\n'),
    wholeLoggers: true,
    saysNotFailed: true,
    balanceThresholds: false,
    feedsByTime: true,
    noSocProof: [],
  },
  swarm: {
    prefix: 'swarm-',
    segment: 'bzz',
    hostSuffix: '.swarm.localhost',
    metricPrefix: 'bee',
    token: 'bzz',
    // The versions of Bee 2.8.1, whose builds append a word of their own.
    versions: { main: '8.1.0', debug: '8.1.0', product: () => '2.8.1-svcnet' },
    fields: {
      mode: ['beeMode'],
      walletBalance: ['bzzBalance'],
      statusList: ['snapshots'],
      statusOverlay: ['overlay'],
      statusCommitment: ['batchCommitment'],
      balancesByPeer: [],
      batchImmutable: ['immutable'],
      batchStorageRadius: [],
      stampExpired: [],
      stampDisplaced: [],
      sampleDuration: [],
      debugTransaction: [],
      debugApiVersion: [],
      minimumValidity: ['minimumValidityBlocks'],
    },
    messages: {
      stampOrBatch:
        "Either 'Swarm-Postage-Stamp' or 'Swarm-Postage-Batch-Id' header must be set in the request",
      invalidName: 'invalid name or bzz address',
      coins: 'only BZZ or NativeToken options are accepted',
      root: 'Ethereum Swarm Bee\n',
      streamTag: 'invalid swarm-tag query parameter',
    },
    reason: (reason) => reason,
    settlementAmount: String,
    strictRequests: false,
    paidStatus: 200,
    missesCheques: false,
    chainAddress: (address) => `0x${toHex(address)}`,
    checksummedAddress: checksumAddress,
    tagLimit: {},
    // bee-js sends `reference`, as text or as an object.
    tagReferenceKeys: ['address'],
    missesTags: false,
    redirectsRoot: () => true,
    pinChecks: { start: '', between: '', end: '' },
    chunkTaken: new Uint8Array(0),
    uploadLevel: 1,
    reuploadLevel: 1,
    levelEverywhere: true,
    chunkType: 'binary/octet-stream',
    servesEmptyTypes: true,
    stampedStreams: true,
    streamChunkInvalid: 'invalid chunk data',
    reuploadNeedsBatch: true,
    rootVary: {},
    feedType: undefined,
    pathMax: PATH_SIZE_MAX,
    hardLinks: 'empty',
    collectionEtag: false,
    expiredStamps: false,
    welcomeWithHealth: false,
    fullModeFirst: false,
    namedLoggers: (entries) => entries,
    wholeLoggers: false,
    saysNotFailed: false,
    balanceThresholds: true,
    feedsByTime: false,
    noSocProof: null,
  },
};

export interface Dialect extends DialectColumn {
  readonly name: DialectName;
  readonly headers: Readonly<Record<HeaderKey, HeaderName>>;
}

/** First path segments under which files are served; both work in either dialect. */
export const FILE_SEGMENTS: readonly string[] = [COLUMNS.svc.segment, COLUMNS.swarm.segment];
/** Host names under which content is served; both work in either dialect. */
export const HOST_SUFFIXES: readonly string[] = [COLUMNS.svc.hostSuffix, COLUMNS.swarm.hostSuffix];
/** The segment used for them in the route table. */
/** Names of the network's token as a coin of the wallet; both work in either dialect. */
export const TOKEN_NAMES: readonly string[] = [COLUMNS.svc.token, COLUMNS.swarm.token];

export const CANONICAL_SEGMENT = COLUMNS.svc.segment;

/** All nodes of a process have the same one. */
export function dialectOf(name: DialectName): Dialect {
  return DIALECTS[name];
}

function createDialect(name: DialectName): Dialect {
  const other = COLUMNS[name === 'svc' ? 'swarm' : 'svc'];
  const headers: Partial<Record<HeaderKey, HeaderName>> = {};
  for (const [key, wire] of Object.entries(COMMON_HEADERS)) {
    headers[key as HeaderKey] = { active: wire, declared: canonical(wire) };
  }
  for (const [key, rest] of Object.entries(OWN_HEADERS)) {
    const active = COLUMNS[name].prefix + rest;
    headers[key as HeaderKey] = { active, other: other.prefix + rest, declared: canonical(active) };
  }
  return { ...COLUMNS[name], name, headers: headers as Record<HeaderKey, HeaderName> };
}

const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  svc: createDialect('svc'),
  swarm: createDialect('swarm'),
};

/** Header names of both families, the active one first: what browsers may send. */
export function acceptedHeaderNames(dialect: Dialect): string[] {
  const names = Object.keys(OWN_HEADERS).map((key) => dialect.headers[key as OwnHeader]);
  return [...names.map(({ active }) => active), ...names.flatMap(({ other }) => other ?? [])];
}

/** Sets the same value under each of the dialect's names. */
export function emit(names: readonly string[], value: unknown): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** As `emit`, for a value that is read only when the dialect has a name for it. */
export async function emitRead(
  names: readonly string[],
  read: () => Promise<unknown>,
): Promise<Record<string, unknown>> {
  return names.length === 0 ? {} : emit(names, await read());
}

/** `content-type` → `Content-Type`. */
function canonical(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
