/**
 * Shapes of the bodies that routes name, for the OpenAPI document and for the tests that check answers
 * against them. Routes refer to them by name, so that a node that never serves the document never loads this
 * file.
 */
import { type TSchema, Type } from 'typebox';
import { CHUNK_EVENT_KINDS } from '../../env/chunk-events.ts';
import type { Dialect } from '../dialect.ts';

const Reference = Type.String({ pattern: '^([a-f0-9]{64}|[a-f0-9]{128})$' });
const Hex32 = Type.String({ pattern: '^[a-f0-9]{64}$' });
const Hex8 = Type.String({ pattern: '^[a-f0-9]{16}$' });
/** Without leading zeros. */
const HexNumber = Type.String({ pattern: '^[a-f0-9]{1,16}$' });
const Hex65 = Type.String({ pattern: '^[a-f0-9]{130}$' });
const Hex = Type.String({ pattern: '^([a-f0-9]{2})+$' });
const Hex64 = Type.String({ pattern: '^[a-f0-9]{128}$' });
/** Compressed or not. */
const GivenKey = Type.String({ pattern: '^([A-Fa-f0-9]{66}|[A-Fa-f0-9]{130})$' });
const PublicKey = Type.String({ pattern: '^[a-f0-9]{66}$' });
const ChainAddress = Type.String({ pattern: '^(0x)?[a-fA-F0-9]{40}$' });
const TxHash = Type.String({ pattern: '^0x[a-f0-9]{64}$' });
const Amount = Type.String({ pattern: '^-?[0-9]+$' });
const DateTime = Type.String({ format: 'date-time' });
const Uint = Type.Integer({ minimum: 0 });
/** First bits of addresses. */
const Prefix = Type.String({ pattern: '^[01]*$' });

export type SchemaName =
  | 'ReferenceResponse'
  | 'GranteesCreation'
  | 'GranteesPatch'
  | 'GranteesChange'
  | 'PublicKeys'
  | 'Envelope'
  | 'Acknowledgement'
  | 'Problem'
  | 'Tag'
  | 'TagList'
  | 'TagPatch'
  | 'PinList'
  | 'PinChecks'
  | 'Retrievability'
  | 'Addresses'
  | 'Health'
  | 'Readiness'
  | 'NodeInfo'
  | 'Peers'
  | 'BlockedPeers'
  | 'OverlayAddress'
  | 'RoundTripTime'
  | 'Topology'
  | 'WelcomeMessage'
  | 'WelcomeAnswer'
  | 'ReserveState'
  | 'ChainState'
  | 'Status'
  | 'StatusList'
  | 'Neighborhoods'
  | 'Backlog'
  | 'ChunkEvents'
  | 'StoreCounters'
  | 'Batch'
  | 'BatchList'
  | 'Buckets'
  | 'BatchTransaction'
  | 'BatchLabel'
  | 'NetworkBatch'
  | 'NetworkBatches'
  | 'Balance'
  | 'Balances'
  | 'Accounting'
  | 'Settlements'
  | 'Settlement'
  | 'ChequebookAddress'
  | 'ChequebookBalance'
  | 'Cheques'
  | 'AllCheques'
  | 'CashoutStatus'
  | 'Wallet'
  | 'Stake'
  | 'WithdrawableStake'
  | 'StakeTransaction'
  | 'RedistributionState'
  | 'ReserveSample'
  | 'Transaction'
  | 'TransactionList'
  | 'TransactionHash'
  | 'Loggers'
  | 'OpenApi';

/** Every shape with the names of one dialect. */
export function schemas(dialect: Dialect): Readonly<Record<SchemaName, TSchema>> {
  const { fields } = dialect;
  const named = (names: readonly string[], shape: TSchema) =>
    Object.fromEntries(names.map((name) => [name, shape]));

  const Tag = Type.Object({
    split: Uint,
    seen: Uint,
    stored: Uint,
    sent: Uint,
    synced: Uint,
    uid: Uint,
    address: Type.String(),
    startedAt: DateTime,
  });
  const Health = Type.Object({
    status: Type.String(),
    version: Type.String(),
    apiVersion: Type.String(),
    ...named(fields.debugApiVersion, Type.String()),
  });
  const PinCheck = Type.Object({ reference: Reference, total: Uint, missing: Uint, invalid: Uint });
  const Acknowledgement = Type.Object({ code: Type.Integer(), message: Type.String() });
  const Batch = Type.Object({
    batchID: Hex32,
    utilization: Uint,
    utilizationRatio: Type.Number({ minimum: 0 }),
    usable: Type.Boolean(),
    label: Type.String(),
    depth: Uint,
    amount: Amount,
    bucketDepth: Uint,
    blockNumber: Uint,
    immutableFlag: Type.Boolean(),
    exists: Type.Boolean(),
    batchTTL: Type.Integer(),
    ...named(fields.stampExpired, Type.Boolean()),
  });
  const NetworkBatch = Type.Object({
    batchID: Hex32,
    value: Amount,
    start: Uint,
    owner: ChainAddress,
    depth: Uint,
    bucketDepth: Uint,
    ...named(fields.batchImmutable, Type.Boolean()),
    ...named(fields.batchStorageRadius, Uint),
    batchTTL: Type.Integer(),
  });
  const Balance = Type.Object({
    peer: Hex32,
    balance: Amount,
    thresholdreceived: Type.Null(),
    thresholdgiven: Type.Null(),
  });
  const PeerData = Type.Record(
    Hex32,
    Type.Object({
      balance: Amount,
      consumedBalance: Amount,
      thresholdReceived: Amount,
      thresholdGiven: Amount,
      currentThresholdReceived: Amount,
      currentThresholdGiven: Amount,
      surplusBalance: Amount,
      reservedBalance: Amount,
      shadowReservedBalance: Amount,
      ghostBalance: Amount,
    }),
  );
  const Transaction = Type.Object({
    transactionHash: TxHash,
    to: ChainAddress,
    nonce: Uint,
    gasPrice: Amount,
    gasLimit: Uint,
    gasTipBoost: Type.Integer(),
    gasTipCap: Amount,
    gasFeeCap: Amount,
    data: Type.String({ pattern: '^0x([a-fA-F0-9]{2})*$' }),
    created: DateTime,
    description: Type.String(),
    value: Amount,
  });
  const settled = typeof dialect.settlementAmount(0n) === 'string' ? Amount : Type.Integer();
  const Settlement = Type.Object({ peer: Hex32, received: settled, sent: settled });
  const Cheque = Type.Object({ beneficiary: ChainAddress, chequebook: ChainAddress, payout: Amount });
  const Cheques = Type.Object({
    // An unknown peer is named as in the request, where that is no error.
    peer: dialect.missesCheques ? Hex32 : Hex,
    lastreceived: Type.Union([Cheque, Type.Null()]),
    lastsent: Type.Union([Cheque, Type.Null()]),
  });
  const PeerMetrics = Type.Object({
    lastSeenTimestamp: Type.Integer(),
    sessionConnectionRetry: Uint,
    connectionTotalDuration: Uint,
    sessionConnectionDuration: Uint,
    sessionConnectionDirection: Type.String(),
    latencyEWMA: Uint,
    reachability: Type.String(),
    healthy: Type.Boolean(),
  });
  const TopologyPeer = Type.Object({ address: Hex32, metrics: Type.Optional(PeerMetrics) });
  const Bin = Type.Object({
    population: Uint,
    connected: Uint,
    disconnectedPeers: Type.Array(TopologyPeer),
    connectedPeers: Type.Array(TopologyPeer),
  });
  const Status = Type.Object({
    ...named(fields.statusOverlay, Hex32),
    proximity: Uint,
    ...named(fields.mode, Type.String()),
    reserveSize: Uint,
    reserveSizeWithinRadius: Uint,
    pullsyncRate: Type.Number(),
    storageRadius: Uint,
    connectedPeers: Uint,
    neighborhoodSize: Uint,
    requestFailed: Type.Optional(Type.Boolean()),
    ...named(fields.statusCommitment, Uint),
    isReachable: Type.Boolean(),
    lastSyncedBlock: Uint,
    committedDepth: Uint,
    isWarmingUp: Type.Boolean(),
  });

  const InclusionProof = Type.Object({
    proofSegments: Type.Array(Hex32),
    proveSegment: Hex32,
    proofSegments2: Type.Array(Hex32),
    proveSegment2: Hex32,
    chunkSpan: Uint,
    proofSegments3: Type.Array(Hex32),
    postageProof: Type.Object({ signature: Hex65, postageId: Hex32, index: HexNumber, timeStamp: HexNumber }),
    socProof: Type.Union([
      Type.Null(),
      Type.Array(
        Type.Object({ signer: ChainAddress, signature: Hex65, identifier: Hex32, chunkAddr: Hex32 }),
      ),
    ]),
  });

  return {
    ReferenceResponse: Type.Object({ reference: Reference }),
    Envelope: Type.Object({ issuer: ChainAddress, index: Hex8, timestamp: Hex8, signature: Hex65 }),
    Acknowledgement,
    Problem: Type.Object({
      code: Type.Integer(),
      message: Type.String(),
      reasons: Type.Optional(Type.Array(Type.Unknown())),
    }),
    Tag,
    TagList: Type.Object({ tags: Type.Array(Tag) }),
    PinList: Type.Object({ references: Type.Array(Reference) }),
    // Without a list around them, each record is a separate document.
    PinChecks: dialect.pinChecks.start === '' ? PinCheck : Type.Array(PinCheck),
    Retrievability: Type.Object({ isRetrievable: Type.Boolean() }),
    GranteesCreation: Type.Object({ grantees: Type.Optional(Type.Array(GivenKey)) }),
    GranteesPatch: Type.Object({
      add: Type.Optional(Type.Array(GivenKey)),
      revoke: Type.Optional(Type.Array(GivenKey)),
    }),
    GranteesChange: Type.Object({ ref: Hex64, historyref: Hex32 }),
    PublicKeys: Type.Array(PublicKey),
    TagPatch: Type.Object({ address: Type.Optional(Reference), reference: Type.Optional(Reference) }),
    Addresses: Type.Object({
      overlay: Hex32,
      underlay: Type.Array(Type.String()),
      ethereum: ChainAddress,
      chain_address: ChainAddress,
      publicKey: PublicKey,
      pssPublicKey: PublicKey,
    }),
    Health,
    Readiness: Type.Object({ status: Type.String(), version: Type.String(), apiVersion: Type.String() }),
    NodeInfo: Type.Object({
      ...named(fields.mode, Type.String()),
      chequebookEnabled: Type.Boolean(),
      swapEnabled: Type.Boolean(),
    }),
    Peers: Type.Object({ peers: Type.Array(Type.Object({ address: Hex32, fullNode: Type.Boolean() })) }),
    BlockedPeers: Type.Object({
      peers: Type.Array(
        Type.Object({ address: Hex32, fullNode: Type.Boolean(), reason: Type.String(), duration: Uint }),
      ),
    }),
    OverlayAddress: Type.Object({ address: Hex32 }),
    RoundTripTime: Type.Object({ rtt: Type.String() }),
    Topology: Type.Object({
      baseAddr: Hex32,
      population: Uint,
      connected: Uint,
      timestamp: DateTime,
      nnLowWatermark: Uint,
      depth: Uint,
      reachability: Type.String(),
      networkAvailability: Type.String(),
      bins: Type.Record(Type.String({ pattern: '^bin_([0-9]|[12][0-9]|3[01])$' }), Bin),
      lightNodes: Bin,
    }),
    WelcomeMessage: Type.Object({ welcomeMessage: Type.String() }),
    WelcomeAnswer: dialect.welcomeWithHealth
      ? Type.Object({ ...Health.properties, ...Acknowledgement.properties })
      : Acknowledgement,
    ReserveState: Type.Object({
      radius: Uint,
      storageRadius: Uint,
      commitment: Uint,
      reserveCapacityDoubling: Uint,
    }),
    ChainState: Type.Object({
      chainTip: Uint,
      block: Uint,
      totalAmount: Amount,
      currentPrice: Amount,
      ...named(fields.minimumValidity, Uint),
    }),
    Status,
    StatusList: Type.Object(named(fields.statusList, Type.Array(Status))),
    Neighborhoods: Type.Object({
      neighborhoods: Type.Array(
        Type.Object({
          neighborhood: Prefix,
          reserveSizeWithinRadius: Uint,
          proximity: Uint,
        }),
      ),
    }),
    Backlog: Type.Object({
      reserve: Type.Object({
        capacity: Uint,
        size: Uint,
        sizeWithinRadius: Uint,
        storageRadius: Uint,
        full: Type.Boolean(),
        missing: Type.Optional(Prefix),
        leftovers: Type.Array(Type.Object({ neighborhood: Prefix, chunks: Uint })),
        refusal: Type.Optional(Type.String()),
      }),
      disk: Type.Object({ full: Type.Boolean() }),
      uploads: Type.Array(
        Type.Object({ neighborhood: Prefix, chunks: Uint, reason: Type.String(), since: Uint }),
      ),
    }),
    ChunkEvents: Type.Object({
      events: Type.Array(
        Type.Object({
          seq: Uint,
          at: Type.Number(),
          address: Hex32,
          kind: Type.Enum(Object.keys(CHUNK_EVENT_KINDS)),
          peer: Type.Optional(Hex32),
          ms: Type.Optional(Type.Number()),
          attempt: Type.Optional(Uint),
          of: Type.Optional(Uint),
          detail: Type.Optional(Type.String()),
        }),
      ),
      last: Uint,
      lost: Uint,
      capacity: Uint,
    }),
    StoreCounters: Type.Object({
      Upload: Type.Object({ TotalUploaded: Uint, TotalSynced: Uint, PendingUpload: Uint }),
      Pinning: Type.Object({ TotalCollections: Uint, TotalChunks: Uint }),
      Cache: Type.Object({ Size: Uint, Capacity: Uint }),
      Reserve: Type.Object({
        SizeWithinRadius: Uint,
        TotalSize: Uint,
        Capacity: Uint,
        LastBinIDs: Type.Array(Uint, { minItems: 32, maxItems: 32 }),
        Epoch: Uint,
      }),
      ChunkStore: Type.Object({ TotalChunks: Uint, SharedSlots: Uint, ReferenceCount: Uint }),
    }),
    Batch,
    BatchList: Type.Object({ stamps: Type.Array(Batch) }),
    Buckets: Type.Object({
      depth: Uint,
      bucketDepth: Uint,
      bucketUpperBound: Uint,
      buckets: Type.Array(Type.Object({ bucketID: Uint, collisions: Uint })),
    }),
    BatchTransaction: Type.Object({ batchID: Hex32, txHash: TxHash }),
    BatchLabel: Type.Object({ label: Type.String() }),
    NetworkBatch,
    NetworkBatches: Type.Object({ batches: Type.Array(NetworkBatch) }),
    Balance,
    Balances: Type.Object({ ...named(fields.balancesByPeer, PeerData), balances: Type.Array(Balance) }),
    Accounting: Type.Object({ peerData: PeerData }),
    Settlements: Type.Object({
      totalReceived: settled,
      totalSent: settled,
      settlements: Type.Array(Settlement),
    }),
    Settlement,
    ChequebookAddress: Type.Object({ chequebookAddress: ChainAddress }),
    ChequebookBalance: Type.Object({ totalBalance: Amount, availableBalance: Amount }),
    Cheques,
    AllCheques: Type.Object({ lastcheques: Type.Array(Cheques) }),
    CashoutStatus: Type.Object({
      peer: Hex32,
      lastCashedCheque: Type.Union([Cheque, Type.Null()]),
      transactionHash: Type.Union([TxHash, Type.Null()]),
      result: Type.Union([
        Type.Object({ recipient: ChainAddress, lastPayout: Amount, bounced: Type.Boolean() }),
        Type.Null(),
      ]),
      uncashedAmount: Amount,
    }),
    TransactionHash: Type.Object({ transactionHash: TxHash }),
    Wallet: Type.Object({
      ...named(fields.walletBalance, Amount),
      nativeTokenBalance: Amount,
      chainID: Uint,
      chequebookContractAddress: ChainAddress,
      walletAddress: ChainAddress,
    }),
    Stake: Type.Object({ stakedAmount: Amount }),
    WithdrawableStake: Type.Object({ withdrawableAmount: Amount }),
    StakeTransaction: Type.Object({
      txHash: TxHash,
      ...named(fields.debugTransaction, Type.Optional(TxHash)),
    }),
    RedistributionState: Type.Object({
      minimumGasFunds: Amount,
      hasSufficientFunds: Type.Boolean(),
      isFrozen: Type.Boolean(),
      isFullySynced: Type.Boolean(),
      isHealthy: Type.Boolean(),
      phase: Type.String(),
      round: Uint,
      lastWonRound: Uint,
      lastPlayedRound: Uint,
      lastFrozenRound: Uint,
      lastSelectedRound: Uint,
      ...named(fields.sampleDuration, Type.String()),
      lastSampleDurationSeconds: Type.Number({ minimum: 0 }),
      block: Uint,
      reward: Amount,
      fees: Amount,
    }),
    ReserveSample: Type.Object({
      hash: Hex32,
      proofs: Type.Object({ proof1: InclusionProof, proof2: InclusionProof, proofLast: InclusionProof }),
      durationSeconds: Type.Number({ minimum: 0 }),
    }),
    Transaction,
    TransactionList: Type.Object({ pendingTransactions: Type.Array(Transaction) }),
    Loggers: Type.Object({
      // Children by name under `/`, with the same shape at every depth.
      tree: Type.Record(
        Type.String(),
        Type.Object({
          '/': Type.Optional(Type.Record(Type.String(), Type.Object({}))),
          '+': Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
        }),
      ),
      loggers: Type.Array(
        Type.Object({
          logger: Type.String(),
          verbosity: Type.String(),
          subsystem: Type.String(),
          id: Type.String({ contentEncoding: 'base64url' }),
        }),
      ),
    }),
    OpenApi: Type.Object({ openapi: Type.String(), info: Type.Unknown(), paths: Type.Unknown() }),
  };
}
