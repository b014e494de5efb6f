import { CodedError } from '../../../formats/coded-error.ts';
import {
  checkTimestamp,
  generationOf,
  NO_TIME,
  parseRecord,
  RecordError,
  type RecordErrorCode,
} from '../address/record.ts';
import { decodeUnderlays, peerIdOf, UnderlayError } from '../address/underlay.ts';
import type { AddressRecord, Generation } from '../host.ts';
import type { AckMessage, SynAckMessage } from './wire.ts';

export type HandshakeErrorCode =
  | 'SYN_INVALID'
  | 'ACK_INVALID'
  | 'PEER_ID_MISMATCH'
  | 'NETWORK_ID_INCOMPATIBLE'
  | 'PICKER_REJECTION'
  | RecordErrorCode;

const NOTHING = new Uint8Array(0);

export class HandshakeError extends CodedError<HandshakeErrorCode> {}

export interface Introduction {
  readonly record: AddressRecord;
  /** 20 bytes. */
  readonly ethereum: Uint8Array;
  readonly underlays: readonly string[];
  readonly fullNode: boolean;
  readonly welcomeMessage: string;
}

export interface AckContext {
  readonly generation: Generation;
  readonly networkId: bigint;
  readonly remoteId: string;
  readonly nowSeconds: bigint;
  stored(overlay: Uint8Array): AddressRecord | undefined;
  /** Undefined on the dialling side. */
  readonly picks?: (overlay: Uint8Array, fullNode: boolean) => boolean;
}

/** How the other side sees us. @throws HandshakeError `SYN_INVALID` */
export function parseObserved(bytes: Uint8Array): string[] {
  try {
    return decodeUnderlays(bytes);
  } catch (cause) {
    if (!(cause instanceof UnderlayError)) throw cause;
    throw new HandshakeError('SYN_INVALID', `invalid syn: ${cause.message}`, { cause });
  }
}

/** The addresses must all be ours. @throws HandshakeError */
export function checkObserved(observedUnderlay: Uint8Array, ownPeerId: string): void {
  for (const underlay of parseObserved(observedUnderlay)) {
    const peerId = peerIdOf(underlay);
    if (peerId !== ownPeerId) {
      throw new HandshakeError(
        'PEER_ID_MISMATCH',
        `received peer id ${peerId ?? 'none'} does not match ours`,
      );
    }
  }
}

/** @throws HandshakeError `SYN_INVALID`, `ACK_INVALID` */
export function partsOf(synAck: SynAckMessage) {
  const { syn, ack } = synAck;
  if (syn === undefined) throw new HandshakeError('SYN_INVALID', 'invalid syn: missing');
  if (ack === undefined || ack.address === undefined) throw missingAddress();
  return { syn, ack };
}

export function ackMessage(own: {
  record: AddressRecord;
  networkId: bigint;
  fullNode: boolean;
  welcomeMessage: string;
}): AckMessage {
  const { record, ...rest } = own;
  if (generationOf(record) === '15.0.0') return { ...rest, address: record, nonce: NOTHING };
  const address = { ...record, nonce: NOTHING, timestamp: NO_TIME, chequebook: NOTHING };
  return { ...rest, address, nonce: record.nonce };
}

/** @throws HandshakeError */
export function checkAck(ack: AckMessage, context: AckContext): Introduction {
  const { address, networkId, fullNode, welcomeMessage } = ack;
  if (address === undefined) throw missingAddress();
  if (networkId !== context.networkId) {
    throw new HandshakeError('NETWORK_ID_INCOMPATIBLE', `incompatible network ID ${networkId}`);
  }
  if (fullNode && context.picks?.(address.overlay, fullNode) === false) {
    throw new HandshakeError('PICKER_REJECTION', 'picker rejection');
  }
  try {
    const wire = { ...address, nonce: context.generation === '15.0.0' ? address.nonce : ack.nonce };
    const known = context.stored(address.overlay);
    const { generation } = context;
    const { record, ethereum, underlays } = parseRecord(wire, context.networkId, { generation, known });
    checkTime(record, known, context);
    checkIdentity(underlays, context.remoteId);
    return { record, ethereum, underlays, fullNode, welcomeMessage };
  } catch (cause) {
    if (!(cause instanceof RecordError)) throw cause;
    throw new HandshakeError(cause.code, `invalid ack: ${cause.message}`, { cause });
  }
}

/** A record without timestamp counts as newer, since the node itself presents it. */
function checkTime(record: AddressRecord, known: AddressRecord | undefined, context: AckContext): void {
  if (context.generation === '14.0.0') return;
  const { nowSeconds } = context;
  checkTimestamp(record.timestamp, { stored: known?.timestamp, nowSeconds, source: 'handshake' });
}

/**
 * Records are public: without this, any node could introduce itself with another one's record. All identities count, because
 * a Bee that is dialled also signs the addresses that it is told it has; where these leave no room for its own, the dialler
 * still passes as that Bee.
 */
function checkIdentity(underlays: readonly string[], remoteId: string): void {
  for (const underlay of underlays) {
    const peerId = peerIdOf(underlay) ?? remoteId;
    if (peerId === remoteId) continue;
    throw new HandshakeError(
      'PEER_ID_MISMATCH',
      `invalid ack: the record is of peer id ${peerId}, presented by ${remoteId}`,
    );
  }
}

function missingAddress(): HandshakeError {
  return new HandshakeError('ACK_INVALID', 'invalid ack: no address');
}
