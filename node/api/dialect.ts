/**
 * The two naming dialects, as columns of one table (`http-api-completion.md` 2). Handlers read columns and never ask which
 * dialect is active. In requests either family of names works, and the active one wins.
 */
import { checksumAddress } from '../../formats/crypto/checksum.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { LEVEL_MAX, type RedundancyLevel } from '../files/redundancy/redundancy.ts';
import { PATH_SIZE_MAX } from '../manifest/manifest.ts';

export type DialectName = 'svc' | 'swarm';

/** Key in code → name without the dialect's prefix. */
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
  /** Lower case. */
  readonly active: string;
  /** Accepted when `active` is absent. */
  readonly other?: string;
  readonly declared: string;
}

export interface Reason {
  readonly field: string;
  readonly error: string;
}

/** Logical JSON field → its names, all with the same value; none: left out. */
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
  /** Stamps in the slots of older chunks. */
  readonly stampDisplaced: readonly string[];
  /** Names of the duration; both dialects also emit seconds. */
  readonly sampleDuration: readonly string[];
  /** Second name of a staking transaction, on the debug port. */
  readonly debugTransaction: readonly string[];
  readonly debugApiVersion: readonly string[];
  /** Blocks that a new batch must last. */
  readonly minimumValidity: readonly string[];
}

interface Versions {
  readonly main: string;
  readonly debug: string;
  /** Reported as the node's. @param own version of the package */
  readonly product: (own: string) => string;
}

interface Messages {
  readonly stampOrBatch: string;
  readonly invalidName: string;
  readonly coins: string;
  readonly root: string;
  /** To a tag in a stream's query that is not a number. */
  readonly streamTag: string;
}

interface DialectColumn {
  readonly prefix: string;
  readonly segment: string;
  /** Suffix of host names that name content. */
  readonly hostSuffix: string;
  readonly metricPrefix: string;
  /** The network's token as a coin of the wallet. */
  readonly token: string;
  readonly versions: Versions;
  readonly fields: FieldNames;
  readonly messages: Messages;
  readonly reason: (reason: Reason) => unknown;
  /** A bigint becomes a JSON integer, a string text. */
  readonly settlementAmount: (amount: bigint) => bigint | string;
  /**
   * Refuses signs and leading zeros of numbers, references of another length, negative prices, JSON of another shape.
   * Otherwise read as a Bee does.
   */
  readonly strictRequests: boolean;
  readonly paidStatus: 200 | 201;
  /** 404 for a peer without cheques. */
  readonly missesCheques: boolean;
  readonly chainAddress: (address: Uint8Array) => string;
  /** The same, in the fields that Bees write in checksum case. */
  readonly checksummedAddress: (address: Uint8Array) => string;
  /** Bounds of `limit` in `GET /tags`; without a maximum it is cut to 1000. */
  readonly tagLimit: { readonly min?: number; readonly max?: number };
  /** Of the body of `PATCH /tags/{uid}`: the first that is there names the reference. */
  readonly tagReferenceKeys: readonly string[];
  readonly missesTags: boolean;
  readonly pinChecks: { readonly start: string; readonly between: string; readonly end: string };
  readonly chunkTaken: Uint8Array;
  readonly uploadLevel: RedundancyLevel;
  /** Limits the replicas that a re-upload without a level searches for. */
  readonly reuploadLevel: RedundancyLevel;
  /** Other operations read the level, too. */
  readonly levelEverywhere: boolean;
  readonly chunkType: string;
  /** Otherwise the first bytes of a file decide. */
  readonly servesEmptyTypes: boolean;
  /** Without a batch, chunks bring their stamps, and the query may name the tag. */
  readonly stampedStreams: boolean;
  /** Message before the end; undefined: none. */
  readonly streamChunkInvalid: string | undefined;
  /** Otherwise the batch of an earlier upload pays. */
  readonly reuploadNeedsBatch: boolean;
  /** Redirects a file request without a path to the form with a slash. @param accept of the request */
  readonly redirectsRoot: (accept: string) => boolean;
  /** Request headers on which that depends. */
  readonly rootVary: Readonly<Record<string, string>>;
  /** The only type accepted, without case; undefined: ignored. */
  readonly feedType: string | undefined;
  /** Longest path of an uploaded file, bytes. */
  readonly pathMax: number;
  /** What a hard link in an archive is stored as. */
  readonly hardLinks: 'file' | 'empty';
  /** A single file's answer always has one. */
  readonly collectionEtag: boolean;
  readonly expiredStamps: boolean;
  readonly welcomeWithHealth: boolean;
  /** That the game is for full nodes is said before that it is off. */
  readonly fullModeFirst: boolean;
  /** Form of the loggers of one name in the tree of loggers. */
  readonly namedLoggers: (entries: readonly string[]) => string | readonly string[];
  /** Both members, even if empty. */
  readonly wholeLoggers: boolean;
  /** Status records tell it of every peer. */
  readonly saysNotFailed: boolean;
  readonly balanceThresholds: boolean;
  /** Otherwise the time in a look-up is ignored. */
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
    // Only browsers need the slash, for relative links.
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
    // Of Bee 2.8.1, whose builds append a word.
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

/** Both work in either dialect. */
export const FILE_SEGMENTS: readonly string[] = [COLUMNS.svc.segment, COLUMNS.swarm.segment];
/** Both work in either dialect. */
export const HOST_SUFFIXES: readonly string[] = [COLUMNS.svc.hostSuffix, COLUMNS.swarm.hostSuffix];
/** Both work in either dialect. */
export const TOKEN_NAMES: readonly string[] = [COLUMNS.svc.token, COLUMNS.swarm.token];

export const CANONICAL_SEGMENT = COLUMNS.svc.segment;

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

/** Names of both families, the active one first. */
export function acceptedHeaderNames(dialect: Dialect): string[] {
  const names = Object.keys(OWN_HEADERS).map((key) => dialect.headers[key as OwnHeader]);
  return [...names.map(({ active }) => active), ...names.flatMap(({ other }) => other ?? [])];
}

/** Sets the same value under each of the dialect's names. */
export function emit(names: readonly string[], value: unknown): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** As `emit`; reads the value only if there is a name for it. */
export async function emitRead(
  names: readonly string[],
  read: () => Promise<unknown>,
): Promise<Record<string, unknown>> {
  return names.length === 0 ? {} : emit(names, await read());
}

function canonical(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
