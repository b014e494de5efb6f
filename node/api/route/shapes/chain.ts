import type { Dialect } from '../../dialect.ts';
import {
  amount,
  chainAddress,
  dateTime,
  either,
  flag,
  hex32,
  hex65,
  hexNumber,
  integer,
  like,
  list,
  named,
  nothing,
  number,
  object,
  text,
  txHash,
  uint,
} from './json-schema.ts';

const notNegative = { ...number, minimum: 0 };

export function chainShapes({ fields }: Dialect) {
  return {
    ChainState: object({
      chainTip: uint,
      block: uint,
      totalAmount: amount,
      currentPrice: amount,
      ...named(fields.minimumValidity, uint),
    }),
    ReserveState: object({
      radius: uint,
      storageRadius: uint,
      commitment: uint,
      reserveCapacityDoubling: uint,
    }),
    ...batchShapes(fields),
    Stake: object({ stakedAmount: amount }),
    WithdrawableStake: object({ withdrawableAmount: amount }),
    StakeTransaction: object({ txHash }, named(fields.debugTransaction, txHash)),
    RedistributionState: redistributionState(fields),
    ReserveSample: object({
      hash: hex32,
      proofs: object({ proof1: inclusionProof, proof2: inclusionProof, proofLast: inclusionProof }),
      durationSeconds: notNegative,
    }),
    Transaction: transaction,
    TransactionList: object({ pendingTransactions: list(transaction) }),
    TransactionHash: object({ transactionHash: txHash }),
  };
}

function batchShapes(fields: Dialect['fields']) {
  const batch = object({
    batchID: hex32,
    utilization: uint,
    utilizationRatio: notNegative,
    usable: flag,
    label: text,
    depth: uint,
    amount,
    bucketDepth: uint,
    blockNumber: uint,
    immutableFlag: flag,
    exists: flag,
    batchTTL: integer,
    ...named(fields.stampExpired, flag),
    ...named(fields.stampDisplaced, uint),
  });
  const networkBatch = object({
    batchID: hex32,
    value: amount,
    start: uint,
    owner: chainAddress,
    depth: uint,
    bucketDepth: uint,
    ...named(fields.batchImmutable, flag),
    ...named(fields.batchStorageRadius, uint),
    batchTTL: integer,
  });
  return {
    Batch: batch,
    BatchList: object({ stamps: list(batch) }),
    Buckets: object({
      depth: uint,
      bucketDepth: uint,
      bucketUpperBound: uint,
      buckets: list(object({ bucketID: uint, collisions: uint })),
    }),
    BatchTransaction: object({ batchID: hex32, txHash }),
    BatchLabel: object({ label: text }),
    NetworkBatch: networkBatch,
    NetworkBatches: object({ batches: list(networkBatch) }),
  };
}

const redistributionState = (fields: Dialect['fields']) =>
  object({
    minimumGasFunds: amount,
    hasSufficientFunds: flag,
    isFrozen: flag,
    isFullySynced: flag,
    isHealthy: flag,
    phase: text,
    round: uint,
    lastWonRound: uint,
    lastPlayedRound: uint,
    lastFrozenRound: uint,
    lastSelectedRound: uint,
    ...named(fields.sampleDuration, text),
    lastSampleDurationSeconds: notNegative,
    block: uint,
    reward: amount,
    fees: amount,
  });

const inclusionProof = object({
  proofSegments: list(hex32),
  proveSegment: hex32,
  proofSegments2: list(hex32),
  proveSegment2: hex32,
  chunkSpan: uint,
  proofSegments3: list(hex32),
  postageProof: object({ signature: hex65, postageId: hex32, index: hexNumber, timeStamp: hexNumber }),
  socProof: either(
    nothing,
    list(object({ signer: chainAddress, signature: hex65, identifier: hex32, chunkAddr: hex32 })),
  ),
});

const transaction = object({
  transactionHash: txHash,
  to: chainAddress,
  nonce: uint,
  gasPrice: amount,
  gasLimit: uint,
  gasTipBoost: integer,
  gasTipCap: amount,
  gasFeeCap: amount,
  data: like('^0x([a-fA-F0-9]{2})*$'),
  created: dateTime,
  description: text,
  value: amount,
});
