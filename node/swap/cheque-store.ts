/**
 * The last cheque in each direction, and the parties: a peer's chequebook, the overlay of a chain address, and where the
 * cost of cashing was deducted. A change is committed before it is visible in memory. `node-behaviour.md` 6 and 13.
 */
import { toHex } from '../../formats/crypto/hex.ts';
import { Lock } from '../env/turns/lock.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { decodeCheque, encodeCheque, type SignedCheque } from './cheque.ts';

const ISSUED = 'issued/';
const RECEIVED = 'received/';
const PEER = 'peer/';

export interface Party {
  /** 64 hex. */
  readonly overlayHex: string;
  /** Chain address, 20 bytes. */
  readonly ethereum: Uint8Array;
}

export interface IssuedCheque {
  readonly cheque: SignedCheque;
  /** Written to the peer without a sign that it was taken, base units without a deduction. */
  readonly unconfirmed: bigint;
}

/** Addresses are 40 hex, empty when unknown. */
interface PeerRecord {
  readonly ethereum: string;
  /** The chequebook that the peer pays with. */
  readonly chequebook: string;
  /** A cheque of ours was increased by the deduction, taken or not. */
  readonly deductionIssued: boolean;
  /** The peer kept the deduction from a cheque of ours. */
  readonly deductedBy: boolean;
  /** We kept the deduction from a cheque of the peer. */
  readonly deductedFor: boolean;
}

const STRANGER: PeerRecord = {
  ethereum: '',
  chequebook: '',
  deductionIssued: false,
  deductedBy: false,
  deductedFor: false,
};

export class ChequeStore {
  readonly #state: KeyValueStore;
  /** Each starts from the state that the previous one left. */
  readonly #changes = new Lock();
  /** By own chequebook and beneficiary: a new chequebook starts anew. */
  readonly #issued = new Map<string, IssuedCheque>();
  readonly #totals = new Map<string, bigint>();
  readonly #received = new Map<string, SignedCheque>();
  readonly #peers = new Map<string, PeerRecord>();
  readonly #peerOfChequebook = new Map<string, string>();
  readonly #peerOfEthereum = new Map<string, string>();

  /** @param state subsystem `swap` */
  constructor(state: KeyValueStore) {
    this.#state = state;
    for (const [, value] of state.entries(ISSUED)) this.#keepIssued(decodeIssued(value));
    for (const [, value] of state.entries(RECEIVED)) this.#keepReceived(decodeCheque(value));
    for (const [key, value] of state.entries(PEER)) {
      this.#keepPeer(key.slice(PEER.length), JSON.parse(new TextDecoder().decode(value)) as PeerRecord);
    }
  }

  lastIssued(chequebook: Uint8Array, beneficiary: Uint8Array): IssuedCheque | undefined {
    return this.#issued.get(issuedKey(chequebook, beneficiary));
  }

  /** Promised in all, base units. */
  totalIssued(chequebook: Uint8Array): bigint {
    return this.#totals.get(toHex(chequebook)) ?? 0n;
  }

  *allIssued(chequebook: Uint8Array): Iterable<readonly [peer: string, cheque: SignedCheque]> {
    const own = toHex(chequebook);
    for (const { cheque } of this.#issued.values()) {
      const peer = this.#peerOfEthereum.get(toHex(cheque.beneficiary));
      if (toHex(cheque.chequebook) === own && peer !== undefined) yield [peer, cheque];
    }
  }

  lastReceived(chequebook: Uint8Array): SignedCheque | undefined {
    return this.#received.get(toHex(chequebook));
  }

  receivedFrom(peer: string): SignedCheque | undefined {
    return this.#received.get(this.#peer(peer).chequebook);
  }

  *allReceived(): Iterable<readonly [peer: string, cheque: SignedCheque]> {
    for (const [chequebook, cheque] of this.#received) {
      const peer = this.#peerOfChequebook.get(chequebook);
      if (peer !== undefined) yield [peer, cheque];
    }
  }

  /** Last known chain address, 40 hex. */
  ethereumOf(peer: string): string | undefined {
    const { ethereum } = this.#peer(peer);
    return ethereum === '' ? undefined : ethereum;
  }

  /** The peer has used no other one, and no other peer uses this one. */
  mayPayFrom(peer: string, chequebook: Uint8Array): boolean {
    const known = this.#peer(peer).chequebook;
    const hex = toHex(chequebook);
    if (known !== '') return known === hex;
    return (this.#peerOfChequebook.get(hex) ?? peer) === peer;
  }

  hasDeductionIssued(peer: string): boolean {
    return this.#peer(peer).deductionIssued;
  }

  hasDeductedBy(peer: string): boolean {
    return this.#peer(peer).deductedBy;
  }

  hasDeductedFor(peer: string): boolean {
    return this.#peer(peer).deductedFor;
  }

  recordIssued(
    { overlayHex, ethereum }: Party,
    issued: IssuedCheque,
    { deduction }: { deduction: boolean },
  ): Promise<void> {
    return this.#changes.run(async () => {
      const known = this.#peer(overlayHex);
      const deductionIssued = known.deductionIssued || deduction;
      const peer = { ...known, ethereum: toHex(ethereum), deductionIssued };
      await this.#state.batch([putIssued(issued), putPeer(overlayHex, peer)]);
      this.#keepIssued(issued);
      this.#keepPeer(overlayHex, peer);
    });
  }

  /** The peer holds the cheque, or never will: if it is the last one, nothing of it is in doubt. */
  recordConfirmed(
    { overlayHex }: Party,
    { cheque }: IssuedCheque,
    { deducted }: { deducted: boolean },
  ): Promise<void> {
    return this.#changes.run(async () => {
      const known = this.#peer(overlayHex);
      const peer = { ...known, deductedBy: known.deductedBy || deducted };
      const last = this.lastIssued(cheque.chequebook, cheque.beneficiary)?.cheque;
      const isLast = last?.cumulativePayout === cheque.cumulativePayout;
      const issued = { cheque, unconfirmed: 0n };
      await this.#state.batch([...(isLast ? [putIssued(issued)] : []), putPeer(overlayHex, peer)]);
      if (isLast) this.#keepIssued(issued);
      this.#keepPeer(overlayHex, peer);
    });
  }

  recordReceived(
    { overlayHex, ethereum }: Party,
    cheque: SignedCheque,
    { deducted }: { deducted: boolean },
  ): Promise<void> {
    return this.#changes.run(async () => {
      const known = this.#peer(overlayHex);
      const peer: PeerRecord = {
        ...known,
        ethereum: toHex(ethereum),
        chequebook: toHex(cheque.chequebook),
        deductedFor: known.deductedFor || deducted,
      };
      const key = RECEIVED + toHex(cheque.chequebook);
      await this.#state.batch([{ put: key, value: encodeCheque(cheque) }, putPeer(overlayHex, peer)]);
      this.#keepReceived(cheque);
      this.#keepPeer(overlayHex, peer);
    });
  }

  /** A chain address has a new overlay: its cheques move, the deductions do not. Ignores an address without payments. */
  moved({ overlayHex, ethereum }: Party): Promise<void> {
    return this.#changes.run(async () => {
      const before = this.#peerOfEthereum.get(toHex(ethereum));
      if (before === undefined || before === overlayHex) return;
      const old = this.#peer(before);
      const left: PeerRecord = { ...old, ethereum: '', chequebook: '' };
      const peer: PeerRecord = {
        ...this.#peer(overlayHex),
        ethereum: toHex(ethereum),
        chequebook: old.chequebook,
      };
      await this.#state.batch([putPeer(before, left), putPeer(overlayHex, peer)]);
      this.#keepPeer(before, left);
      this.#keepPeer(overlayHex, peer);
    });
  }

  #peer(overlayHex: string): PeerRecord {
    return this.#peers.get(overlayHex) ?? STRANGER;
  }

  #keepIssued(issued: IssuedCheque): void {
    const { chequebook, beneficiary, cumulativePayout } = issued.cheque;
    const key = issuedKey(chequebook, beneficiary);
    const before = this.#issued.get(key)?.cheque.cumulativePayout ?? 0n;
    this.#totals.set(toHex(chequebook), this.totalIssued(chequebook) + cumulativePayout - before);
    this.#issued.set(key, issued);
  }

  #keepReceived(cheque: SignedCheque): void {
    this.#received.set(toHex(cheque.chequebook), cheque);
  }

  #keepPeer(overlayHex: string, record: PeerRecord): void {
    this.#peers.set(overlayHex, record);
    if (record.chequebook !== '') this.#peerOfChequebook.set(record.chequebook, overlayHex);
    if (record.ethereum !== '') this.#peerOfEthereum.set(record.ethereum, overlayHex);
  }
}

function issuedKey(chequebook: Uint8Array, beneficiary: Uint8Array): string {
  return `${toHex(chequebook)}/${toHex(beneficiary)}`;
}

function putIssued(issued: IssuedCheque): KeyValueChange {
  const { chequebook, beneficiary } = issued.cheque;
  return { put: ISSUED + issuedKey(chequebook, beneficiary), value: encodeIssued(issued) };
}

function putPeer(overlayHex: string, record: PeerRecord): KeyValueChange {
  return { put: PEER + overlayHex, value: Buffer.from(JSON.stringify(record)) };
}

/** The amount in doubt, a line feed, the cheque's wire form. */
function encodeIssued({ cheque, unconfirmed }: IssuedCheque): Uint8Array {
  return Buffer.concat([Buffer.from(`${unconfirmed}\n`), encodeCheque(cheque)]);
}

function decodeIssued(value: Uint8Array): IssuedCheque {
  const end = value.indexOf(0x0a);
  const unconfirmed = BigInt(Buffer.from(value.subarray(0, end)).toString());
  return { cheque: decodeCheque(value.subarray(end + 1)), unconfirmed };
}
