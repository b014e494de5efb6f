/** Own batches. The caller writes records with their cause, as one. */
import { equalBytes, fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import type { KeyValueChange } from '../store/ports.ts';
import type { MirroredBatch } from './batch-store.ts';
import type { Intents } from './intents.ts';
import { BatchIssuer, type IssuerDeps, type IssuerRecord } from './issuer.ts';
import { BUCKET_DEPTH_MAX } from './rules.ts';

const ISSUER = 'issuer/';

interface IssuersDeps extends IssuerDeps {
  /** Label of a batch without a purchase record. */
  readonly foundLabel: string;
  readonly signer: Pick<Signer, 'sign' | 'address'>;
  readonly intents: Intents;
}

export class Issuers {
  readonly #deps: IssuersDeps;
  readonly #issuers = new Map<string, BatchIssuer>();

  constructor(deps: IssuersDeps) {
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
   * Purchase and event come in any order: the first creates the issuer, the purchase gives the label. @returns changes to
   * write
   */
  add(record: IssuerRecord): KeyValueChange[] {
    const known = this.get(record.batchId);
    const taken = this.#deps.intents.take(record.batchId);
    if (known === undefined) {
      this.#issuers.set(toHex(record.batchId), new BatchIssuer(record, this.#deps));
      return [putRecord(record), ...taken];
    }
    // A later label stays.
    return known.label === this.#deps.foundLabel
      ? [...this.#update(known, { label: record.label }), ...taken]
      : taken;
  }

  isOwn({ owner, bucketDepth }: MirroredBatch): boolean {
    return bucketDepth <= BUCKET_DEPTH_MAX && equalBytes(owner, this.#deps.signer.address);
  }

  /** New ones get an issuer, others their current terms; stamps stay. @returns changes to write */
  follow(batches: readonly MirroredBatch[]): KeyValueChange[] {
    return batches.flatMap((batch) => {
      const { id: batchId, amount, depth, bucketDepth, start: blockNumber, immutable } = batch;
      const terms = { amount, depth, bucketDepth, blockNumber, immutable };
      const issuer = this.get(batchId);
      if (issuer === undefined) {
        const label = this.#deps.intents.labelOf(batchId) ?? this.#deps.foundLabel;
        return this.add({ batchId, label, ...terms });
      }
      const same = Object.entries(terms).every(
        ([name, value]) => issuer[name as keyof typeof terms] === value,
      );
      return same ? [] : this.#update(issuer, terms);
    });
  }

  /** @returns changes to write */
  relabel(issuer: BatchIssuer, label: string): KeyValueChange[] {
    return this.#update(issuer, { label });
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
