/** Own transactions: each under its hash for ever, with raw bytes, and marks of those to check. Both change in one write. */

import { encodeWord } from '../../../formats/ethereum/abi.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import type { LogEntry, Receipt, SentTransaction } from '../ports.ts';

/** Marks hold the nonce, 32 bytes. */
const STORED = 'stored/';
const PENDING = 'pending/';
/** A reorganisation could change it. */
const RECENT = 'recent/';

export interface TransactionRecord extends SentTransaction {
  /** 0x-hex. */
  readonly raw: string;
}

export type Outcome = NonNullable<SentTransaction['outcome']>;

export interface TransactionRecords {
  /** @param hash in any case */
  find(hash: string): TransactionRecord | undefined;
  /** By nonce, then the cheaper first. */
  pending(): TransactionRecord[];
  recent(): TransactionRecord[];
  pendingHashes(): string[];
  recentHashes(): string[];
  /** Durable when it resolves. */
  add(record: TransactionRecord): Promise<void>;
  forget(hash: string): Promise<void>;
  /** Pending or recent → recent. */
  settle(record: TransactionRecord, outcome: Outcome): Promise<void>;
  reopen(record: TransactionRecord): Promise<void>;
  finish(hash: string): Promise<void>;
}

export function createTransactionRecords(state: KeyValueStore): TransactionRecords {
  const find = (hash: string): TransactionRecord | undefined => {
    const bytes = state.get(STORED + hash.toLowerCase());
    return bytes === undefined ? undefined : decodeRecord(bytes);
  };
  // A copy: entries may be removed meanwhile.
  const hashes = (mark: string) =>
    Array.from(state.entries(mark), ([key, nonce]) => ({ hash: key.slice(mark.length), nonce }))
      .sort(
        (a, b) =>
          Buffer.compare(a.nonce, b.nonce) || byFee(find(a.hash), find(b.hash)) || (a.hash < b.hash ? -1 : 1),
      )
      .map(({ hash }) => hash);
  const marked = (mark: string) =>
    hashes(mark)
      .map(find)
      .filter((record) => record !== undefined);

  return {
    find,
    pending: () => marked(PENDING),
    recent: () => marked(RECENT),
    pendingHashes: () => hashes(PENDING),
    recentHashes: () => hashes(RECENT),
    add: (record) =>
      state.batch([
        { put: STORED + record.hash, value: encodeRecord(record) },
        { put: PENDING + record.hash, value: encodeWord(record.nonce) },
      ]),
    forget: (hash) => state.batch([{ remove: STORED + hash }, { remove: PENDING + hash }]),
    settle: (record, outcome) =>
      state.batch([
        { put: STORED + record.hash, value: encodeRecord({ ...record, outcome }) },
        { remove: PENDING + record.hash },
        { put: RECENT + record.hash, value: encodeWord(record.nonce) },
      ]),
    reopen: (record) =>
      state.batch([
        { put: STORED + record.hash, value: encodeRecord({ ...record, outcome: undefined }) },
        { remove: RECENT + record.hash },
        { put: PENDING + record.hash, value: encodeWord(record.nonce) },
      ]),
    finish: (hash) => state.remove(RECENT + hash),
  };
}

function byFee(a: TransactionRecord | undefined, b: TransactionRecord | undefined): number {
  return Number((a?.gasFeeCap ?? 0n) - (b?.gasFeeCap ?? 0n));
}

/** Amounts are decimal strings. */
interface StoredRecord {
  readonly hash: string;
  readonly to: string;
  readonly data: string;
  readonly value: string;
  readonly nonce: number;
  readonly gasLimit: string;
  readonly gasTipCap: string;
  readonly gasFeeCap: string;
  readonly tipBoostPercent: number;
  readonly created: number;
  readonly description: string;
  readonly raw: string;
  readonly cancelledAt?: number;
  readonly receipt?: StoredReceipt;
}

interface StoredReceipt {
  readonly status: Receipt['status'];
  readonly blockNumber: number;
  readonly gasUsed: string;
  readonly logs: readonly LogEntry[];
}

function encodeRecord(record: TransactionRecord): Uint8Array {
  const { outcome, value, gasLimit, gasTipCap, gasFeeCap, ...plain } = record;
  const stored: StoredRecord = {
    ...plain,
    value: String(value),
    gasLimit: String(gasLimit),
    gasTipCap: String(gasTipCap),
    gasFeeCap: String(gasFeeCap),
    ...(outcome?.kind === 'cancelled' ? { cancelledAt: outcome.blockNumber } : {}),
    ...(outcome?.kind === 'mined' ? { receipt: encodeReceipt(outcome.receipt) } : {}),
  };
  return Buffer.from(JSON.stringify(stored));
}

function encodeReceipt({ status, blockNumber, gasUsed, logs }: Receipt): StoredReceipt {
  return { status, blockNumber, gasUsed: String(gasUsed), logs };
}

function decodeRecord(bytes: Uint8Array): TransactionRecord {
  const stored = JSON.parse(Buffer.from(bytes).toString()) as StoredRecord;
  const { hash, to, data, nonce, tipBoostPercent, created, description, raw } = stored;
  return {
    hash,
    to,
    data,
    nonce,
    tipBoostPercent,
    created,
    description,
    raw,
    value: BigInt(stored.value),
    gasLimit: BigInt(stored.gasLimit),
    gasTipCap: BigInt(stored.gasTipCap),
    gasFeeCap: BigInt(stored.gasFeeCap),
    outcome: decodeOutcome(stored),
  };
}

function decodeOutcome({ hash, receipt, cancelledAt }: StoredRecord): Outcome | undefined {
  if (receipt !== undefined) {
    const gasUsed = BigInt(receipt.gasUsed);
    return { kind: 'mined', receipt: { ...receipt, transactionHash: hash, gasUsed } };
  }
  return cancelledAt === undefined ? undefined : { kind: 'cancelled', blockNumber: cancelledAt };
}
