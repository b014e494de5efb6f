/** The node's own batches by id. Records are written by the caller together with what caused them, as one batch. */
import { fromHex, toHex } from '../crypto/hex.ts';
import type { KeyValueChange } from '../store/ports.ts';
import { BatchIssuer, type IssuerDeps, type IssuerRecord } from './issuer.ts';

const ISSUER = 'issuer/';
/** Label of a batch that was found on the chain without a record of its purchase. */
export const RECOVERED = 'recovered';

export class Issuers {
  readonly #deps: IssuerDeps;
  readonly #issuers = new Map<string, BatchIssuer>();

  constructor(deps: IssuerDeps) {
    this.#deps = deps;
    for (const [key, value] of deps.state.entries(ISSUER)) {
      const id = key.slice(ISSUER.length);
      this.#issuers.set(id, new BatchIssuer(decodeRecord(fromHex(id), value), deps));
    }
  }

  get(batchId: Uint8Array): BatchIssuer | undefined {
    return this.#issuers.get(toHex(batchId));
  }

  all(): BatchIssuer[] {
    return [...this.#issuers.values()];
  }

  /**
   * The purchase and the event of the same batch arrive in any order: the first makes the issuer, the purchase gives
   * the label. @returns what has to be written
   */
  add(record: IssuerRecord): KeyValueChange[] {
    const known = this.get(record.batchId);
    if (known === undefined) {
      this.#issuers.set(toHex(record.batchId), new BatchIssuer(record, this.#deps));
      return [putRecord(record)];
    }
    return record.label === RECOVERED ? [] : this.#update(known, { label: record.label });
  }

  /** @param topUp per chunk @returns what has to be written, nothing for a batch of others */
  topUp(batchId: Uint8Array, topUp: bigint): KeyValueChange[] {
    const issuer = this.get(batchId);
    return issuer === undefined ? [] : this.#update(issuer, { amount: issuer.amount + topUp });
  }

  increaseDepth(batchId: Uint8Array, depth: number): KeyValueChange[] {
    const issuer = this.get(batchId);
    return issuer === undefined || depth <= issuer.depth ? [] : this.#update(issuer, { depth });
  }

  /** @returns what has to be written, undefined for a batch of others */
  relabel(batchId: Uint8Array, label: string): KeyValueChange[] | undefined {
    const issuer = this.get(batchId);
    return issuer && this.#update(issuer, { label });
  }

  #update(issuer: BatchIssuer, change: Partial<IssuerRecord>): KeyValueChange[] {
    const { batchId, label, amount, depth, bucketDepth, blockNumber, immutable } = issuer;
    const record = { batchId, label, amount, depth, bucketDepth, blockNumber, immutable, ...change };
    issuer.update(record);
    return [putRecord(record)];
  }
}

type StoredRecord = Omit<IssuerRecord, 'batchId' | 'amount'> & { readonly amount: string };

function putRecord({ batchId, amount, ...rest }: IssuerRecord): KeyValueChange {
  const stored: StoredRecord = { ...rest, amount: amount.toString() };
  return { put: ISSUER + toHex(batchId), value: Buffer.from(JSON.stringify(stored)) };
}

function decodeRecord(batchId: Uint8Array, value: Uint8Array): IssuerRecord {
  const stored = JSON.parse(Buffer.from(value).toString('utf8')) as StoredRecord;
  return { ...stored, batchId, amount: BigInt(stored.amount) };
}
