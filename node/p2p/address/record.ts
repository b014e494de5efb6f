/**
 * Records of where a node is dialled, `p2p-protocols.md` 3.3 and 3.4. The older generation has timestamp 0 and a smaller
 * signature. Vectors: `test/vectors/p2p.json`.
 */
import { CodedError } from '../../../formats/coded-error.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import { recoverSigner, type Signer } from '../../../formats/crypto/signer.ts';
import type { MessageOf } from '../codec/message.ts';
import type { AddressRecord, Generation } from '../host.ts';
import { decodeUnderlays } from './underlay.ts';

export const BzzAddress = {
  underlay: [1, 'bytes'],
  signature: [2, 'bytes'],
  overlay: [3, 'bytes'],
  nonce: [4, 'bytes'],
  timestamp: [5, 'int64'],
  chequebook: [6, 'bytes'],
} as const;

export const NO_CHEQUEBOOK = new Uint8Array(20);
export const NO_TIME = 0n;

const PREFIX = new TextEncoder().encode('bee-handshake-');
const NONCE_SIZE = 32;
/** Tolerated difference of clocks. */
export const FUTURE_SECONDS_MAX = 60n;
/** Gossip refreshes a record no sooner. */
const UPDATE_INTERVAL_SECONDS = 300n;

export type RecordErrorCode =
  | 'RECORD_INVALID'
  | 'TIMESTAMP_NOT_POSITIVE'
  | 'TIMESTAMP_IN_FUTURE'
  | 'TIMESTAMP_NOT_NEWER'
  | 'TIMESTAMP_TOO_SOON';

export class RecordError extends CodedError<RecordErrorCode> {}

export interface ValidRecord {
  readonly record: AddressRecord;
  /** Signer, 20 bytes. */
  readonly ethereum: Uint8Array;
  readonly underlays: readonly string[];
}

/** A record without timestamp is of the older generation. */
export function generationOf(record: Pick<AddressRecord, 'timestamp'>): Generation {
  return record.timestamp === NO_TIME ? '14.0.0' : '15.0.0';
}

/** What a record's signature covers. The network id is big endian, unlike in the overlay. */
export function signData(record: Omit<AddressRecord, 'signature'>, networkId: bigint): Uint8Array {
  const parts = [PREFIX, record.underlay, record.overlay, u64(networkId)];
  if (generationOf(record) === '15.0.0') parts.push(record.nonce, u64(record.timestamp), record.chequebook);
  return new Uint8Array(Buffer.concat(parts));
}

function u64(value: bigint): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, value);
  return new Uint8Array(view.buffer);
}

export function mintRecord(
  statement: { underlay: Uint8Array; nonce: Uint8Array; timestamp: bigint; chequebook: Uint8Array },
  deps: { signer: Signer; networkId: bigint },
): AddressRecord {
  const overlay = overlayAddress(deps.signer.address, deps.networkId, statement.nonce);
  const unsigned = { ...statement, overlay };
  return { ...unsigned, signature: deps.signer.sign(signData(unsigned, deps.networkId)) };
}

/** Verified records with timestamp: nodes keep presenting the same one. */
const proofs = new WeakMap<AddressRecord, ValidRecord>();

/**
 * @param wire as received; timestamp and chequebook are ignored for generation 14.0.0
 * @param how.known an equal record is not verified again
 * @throws RecordError `RECORD_INVALID`, `TIMESTAMP_NOT_POSITIVE`
 */
export function parseRecord(
  wire: MessageOf<typeof BzzAddress>,
  networkId: bigint,
  how: { readonly generation?: Generation; readonly known?: AddressRecord | undefined } = {},
): ValidRecord {
  const { generation = '15.0.0', known } = how;
  const timed = generation === '15.0.0';
  const before = timed && known !== undefined && equalRecords(known, wire) ? proofs.get(known) : undefined;
  if (before !== undefined) return before;
  if (wire.nonce.length !== NONCE_SIZE) throw invalid(`nonce of ${wire.nonce.length} bytes`);
  const record = timed ? withTime(wire) : withoutTime(wire);
  const ethereum = signerOf(record, networkId);
  if (!equalBytes(overlayAddress(ethereum, networkId, wire.nonce), wire.overlay)) {
    throw invalid('the signer does not own the overlay');
  }
  const proof = { record, ethereum, underlays: underlaysOf(wire.underlay) };
  if (timed) proofs.set(record, proof);
  return proof;
}

export function equalRecords(a: AddressRecord, b: AddressRecord): boolean {
  return (
    a.timestamp === b.timestamp &&
    (['signature', 'underlay', 'overlay', 'nonce', 'chequebook'] as const).every((field) =>
      equalBytes(a[field], b[field]),
    )
  );
}

/** A received record may be a view of a much longer message. */
export function copyRecord(record: AddressRecord): AddressRecord {
  const { underlay, signature, overlay, nonce, timestamp, chequebook } = record;
  const copy: AddressRecord = {
    underlay: new Uint8Array(underlay),
    signature: new Uint8Array(signature),
    overlay: new Uint8Array(overlay),
    nonce: new Uint8Array(nonce),
    timestamp,
    chequebook: new Uint8Array(chequebook),
  };
  const proof = proofs.get(record);
  if (proof !== undefined) proofs.set(copy, { ...proof, record: copy });
  return copy;
}

function withTime(wire: MessageOf<typeof BzzAddress>): AddressRecord {
  if (wire.chequebook.length !== 0 && wire.chequebook.length !== NO_CHEQUEBOOK.length) {
    throw invalid(`chequebook of ${wire.chequebook.length} bytes`);
  }
  if (wire.timestamp <= NO_TIME)
    throw new RecordError('TIMESTAMP_NOT_POSITIVE', 'timestamp must be positive');
  return { ...wire, chequebook: wire.chequebook.length === 0 ? NO_CHEQUEBOOK : wire.chequebook };
}

export function withoutTime(wire: MessageOf<typeof BzzAddress>): AddressRecord {
  return { ...wire, timestamp: NO_TIME, chequebook: NO_CHEQUEBOOK };
}

/**
 * Checks that the timestamp, in Unix seconds, is news given the stored one.
 * @throws RecordError
 */
export function checkTimestamp(
  timestamp: bigint,
  known: { stored: bigint | undefined; nowSeconds: bigint; source: 'handshake' | 'gossip' },
): void {
  if (timestamp > known.nowSeconds + FUTURE_SECONDS_MAX) {
    throw new RecordError('TIMESTAMP_IN_FUTURE', 'timestamp in future');
  }
  const { stored } = known;
  if (stored === undefined || stored === NO_TIME) return;
  const stale = known.source === 'handshake' ? timestamp < stored : timestamp <= stored;
  if (stale) throw new RecordError('TIMESTAMP_NOT_NEWER', 'timestamp not newer than existing');
  if (known.source === 'gossip' && timestamp <= stored + UPDATE_INTERVAL_SECONDS) {
    throw new RecordError('TIMESTAMP_TOO_SOON', 'timestamp within minimum update interval');
  }
}

function signerOf(record: AddressRecord, networkId: bigint): Uint8Array {
  try {
    return recoverSigner(signData(record, networkId), record.signature);
  } catch (cause) {
    throw invalid('signature', cause);
  }
}

function underlaysOf(bytes: Uint8Array): string[] {
  try {
    return decodeUnderlays(bytes);
  } catch (cause) {
    throw invalid('underlay', cause);
  }
}

function invalid(what: string, cause?: unknown): RecordError {
  return new RecordError('RECORD_INVALID', `invalid address: ${what}`, { cause });
}
