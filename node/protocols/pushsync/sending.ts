import { closerTo, isResponsible } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import { SignatureError } from '../../../formats/crypto/signer.ts';
import type { Accounting, Credit } from '../../accounting/ports.ts';
import type { CauseEvent } from '../../env/chunk-events.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import type { Topology } from '../../topology/topology.ts';
import { type AttemptsOutcome, attemptPeers } from '../attempts.ts';
import { converseWithin } from '../conversation.ts';
import { SkipList } from '../skip-list.ts';
import type { ObserverDeps, PushsyncObserver } from './observer.ts';
import {
  ATTEMPT_TIMEOUT_MS,
  FAILED_SKIP_MS,
  FORWARDER,
  finalRefusal,
  isSuperseded,
  MULTIPLEX,
  MULTIPLEX_KEPT_MS,
  NO_ROOM_MAX,
  NoRoomError,
  ORIGIN,
  PASSED_ON,
  PushsyncError,
  type Receipt,
} from './rules.ts';
import { Delivery, PUSHSYNC, type ReceiptMessage, Receipt as ReceiptTable } from './wire.ts';

export interface SenderDeps extends ObserverDeps {
  readonly host: Pick<Host, 'overlay' | 'open' | 'misbehaved'>;
  readonly topology: Pick<Topology, 'closestPeer' | 'peers' | 'storageRadius'>;
  readonly accounting: Pick<Accounting, 'price' | 'prepareCredit' | 'awaitCredit'>;
}

/** Received or encoded once, for any number of peers. */
export interface Parcel {
  readonly chunk: Chunk;
  /** 113 bytes. */
  readonly stamp: Uint8Array;
  readonly id: string;
  readonly onSent: (() => void) | undefined;
  /** This node will store the chunk as well. */
  readonly keptHere: boolean;
  readonly causeEvent: CauseEvent;
}

/** `R` is what the first good receipt turns into. */
export interface Way<R> {
  /** The chunk is own, not passed on. */
  readonly originated: boolean;
  /** Overlays in hex, not to ask. */
  readonly exclude?: readonly string[];
  readonly accept: (receipt: Receipt, peer: Peer) => R;
}

interface Attempt {
  readonly peer: Peer;
  readonly credit: Credit;
  readonly number: number;
}

export class Sender {
  readonly #deps: SenderDeps;
  readonly #observer: PushsyncObserver;
  readonly #failed: SkipList;

  constructor(deps: SenderDeps, observer: PushsyncObserver) {
    this.#deps = deps;
    this.#observer = observer;
    this.#failed = new SkipList({ durationMs: FAILED_SKIP_MS }, deps);
  }

  avoid(peer: Peer, parcel: Parcel): void {
    this.#failed.add(parcel.id, peer.overlayHex);
  }

  async send<R>(
    parcel: Parcel,
    { originated, exclude = [], accept }: Way<R>,
    signal: AbortSignal,
  ): Promise<AttemptsOutcome<R>> {
    const { accounting, clock, topology } = this.#deps;
    const { address } = parcel.chunk;
    const skip = this.#failed.peers(parcel.id);
    for (const id of exclude) skip.add(id);
    const isInside = (peer: Peer) => isResponsible(peer.overlay, address, topology.storageRadius());
    let full: NoRoomError | undefined;
    let refusals = 0;
    let attempts = 0;
    const outcome = await attemptPeers<Receipt, R>(
      {
        ...(originated ? ORIGIN : FORWARDER),
        skip,
        choose: (skip) => {
          const nearest = attempts > 0 ? this.#listener(parcel.chunk, skip) : undefined;
          const peer = nearest ?? topology.closestPeer(address, { skip, includeSelf: !originated });
          if (peer === undefined || peer === 'self') return undefined;
          // Any other peer would only ask the neighbourhood again.
          return isInside(peer) || !topology.peers().some(isInside) ? peer : undefined;
        },
        multiplex: MULTIPLEX,
        // It may be a message, which its listener must get at once.
        multiplexAfterMs: parcel.keptHere && parcel.chunk.kind === 'cac' ? MULTIPLEX_KEPT_MS : undefined,
        isNeighbour: isInside,
        reserve: (peer) => this.#reserveCredit(peer, parcel, originated),
        awaitCredit: (peer, wake) =>
          accounting.awaitCredit(peer, accounting.price(peer.overlay, address), wake),
        attempt: (peer, credit) => {
          const attempt = { peer, credit, number: ++attempts };
          return this.#observer.attempt(attempt, parcel, () => this.#request(attempt, parcel));
        },
        accept,
        failed: (peer, err) => {
          this.#observer.notTaken(peer, parcel.id, err);
          if (err instanceof SignatureError) this.#deps.host.misbehaved(peer, 'unsigned receipt', PASSED_ON);
          if (isSuperseded(err)) return false;
          if (err instanceof NoRoomError) {
            // It may soon have room: not left out of the next push.
            full = err;
            refusals++;
          } else this.avoid(peer, parcel);
          return refusals < NO_ROOM_MAX;
        },
      },
      { clock, signal },
    );
    // The next push comes after a pause, and may have no other peers.
    if (outcome.outcome !== 'done' && originated) this.#failed.forget(parcel.id);
    // A storer's own statement tells more than failures of peers asked later.
    const isFinal = outcome.outcome === 'exhausted' && isSuperseded(outcome.cause);
    return outcome.outcome === 'done' || full === undefined || isFinal
      ? outcome
      : { outcome: 'exhausted', cause: full };
  }

  /**
   * Closest of the neighbourhood to a single-owner chunk: the address may have been chosen for that peer to listen at. A
   * busy one is rated badly and would not be chosen, and pull syncing brings only the last of many payloads. So it gets a
   * copy besides.
   */
  #listener({ kind, address }: Chunk, skip: ReadonlySet<string>): Peer | undefined {
    if (kind !== 'soc') return undefined;
    const { topology } = this.#deps;
    const [nearest] = topology
      .peers()
      .filter((peer) => isResponsible(peer.overlay, address, topology.storageRadius()))
      .sort((a, b) => closerTo(address, a.overlay, b.overlay));
    return nearest === undefined || skip.has(nearest.overlayHex) ? undefined : nearest;
  }

  #reserveCredit(peer: Peer, parcel: Parcel, originated: boolean): Credit {
    const { accounting } = this.#deps;
    try {
      return accounting.prepareCredit(peer, accounting.price(peer.overlay, parcel.chunk.address), originated);
    } catch (error) {
      this.#observer.noCredit(peer, parcel);
      throw error;
    }
  }

  async #request({ peer, credit }: Attempt, parcel: Parcel): Promise<Receipt> {
    const { address, data } = parcel.chunk;
    const conversation = { peer, protocol: PUSHSYNC.id, timeoutMs: ATTEMPT_TIMEOUT_MS };
    try {
      const receipt = await converseWithin(conversation, this.#deps, async (stream) => {
        await stream.write(Delivery, { address, data, stamp: parcel.stamp });
        this.#observer.sent();
        parcel.onSent?.();
        return await stream.read(ReceiptTable);
      });
      this.#check(receipt, peer, address);
      credit.apply();
      return receipt;
    } finally {
      credit.release();
    }
  }

  /** @throws PushsyncError of a refusal, or when it is about another chunk */
  #check(receipt: ReceiptMessage, peer: Peer, address: Uint8Array): void {
    if (receipt.err !== '') {
      throw (
        NoRoomError.in(receipt.err) ??
        finalRefusal(receipt.err) ??
        new PushsyncError('DELIVERY_FAILED', `delivery of chunk failed: ${receipt.err}`)
      );
    }
    if (!equalBytes(receipt.address, address)) {
      this.#deps.host.misbehaved(peer, 'receipt for another chunk');
      throw new PushsyncError(
        'RECEIPT_INVALID',
        `invalid receipt. chunk ${toHex(address)}, peer ${peer.overlayHex}`,
      );
    }
  }
}
