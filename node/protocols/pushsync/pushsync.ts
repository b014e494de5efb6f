/**
 * Brings a chunk with its stamp to the node that stores it, and its signed receipt back. `p2p-protocols.md` 4.9.
 *
 *   pushing side                              receiving side
 *   1 reserve the peer's price
 *   2 Delivery{chunk, stamp}   ──►            verify the chunk
 *                                             within the radius: validate the stamp, store, sign
 *                                             else push on (this file again); closest itself: store
 *                                             3 reserve our price as debit
 *   5 same chunk address?      ◄──            4 Receipt{signature, nonce, radius} or Receipt{err}
 *   7 apply the credit                        6 apply the debit
 *   8 origin: who signed, and deep enough?
 *
 * A failure before step 4 is reported in Receipt.err and closes the stream in order; a later one resets it. What was stored
 * stays stored.
 *
 * The origin pushes to the closest peer, one more every five seconds and after every failure, up to 32 failures; a forwarder
 * tolerates one. In the chunk's neighbourhood two more peers get it at once; an origin that keeps a content-addressed chunk
 * itself asks them only without a receipt for a second. Of a single-owner chunk the closest peer always gets one.
 *
 * An invalid chunk counts against its sender. Stamps are checked by the storer, so a bad one counts little against a
 * forwarder; it checks its sender's stamps only once a storer reports bad ones back.
 */

import { proximityOrder } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { encodeStamp, type Stamp } from '../../../formats/chunk/stamp.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import type { Topology } from '../../topology/topology.ts';
import type { AttemptsOutcome } from '../attempts.ts';
import { PushsyncObserver } from './observer.ts';
import {
  couldNotPush,
  isShallow,
  NoRoomError,
  nobodyCloser,
  PushsyncError,
  type Receipt,
  storerOf,
} from './rules.ts';
import { type Parcel, Sender, type SenderDeps, type Way } from './sending.ts';
import { Serving, type ServingDeps, type ServingOptions } from './serving.ts';
import { belongsHere, isClosest, noRoomFor } from './surroundings.ts';
import { PUSHSYNC } from './wire.ts';

export interface PushsyncOptions extends ServingOptions {
  readonly networkId: bigint;
  /** A full node, unless cut off, stores what no other takes. */
  readonly fullNode: boolean;
  readonly capacityDoubling: number;
}

interface OriginDeps {
  readonly host: Pick<Host, 'overlay' | 'handle'>;
  readonly topology: Pick<Topology, 'isCutOff'>;
}

export type PushsyncDeps = OriginDeps & SenderDeps & ServingDeps;

export type PushResult =
  | {
      readonly outcome: 'synced';
      readonly receipt: Receipt;
      readonly storerPO: number;
    }
  /** It belongs here: this node has to store it. */
  | { readonly outcome: 'want-self' };

export interface Pushsync {
  /**
   * Pushes an own chunk. @param options.onSent called for every peer to which the delivery was written
   * @param options.tagUid of the upload that it waited with
   * @param options.keptHere the caller stores it too, after a receipt: fewer copies are pushed
   * @throws PushsyncError `NO_PEER` (light node, or cut off from all known peers), `SHALLOW_RECEIPT` (repeat: another storer
   *   is asked), `NO_ROOM` (NoRoomError), `SUPERSEDED` (a newer stamp has its index), `PUSH_FAILED`; the signal's reason
   */
  push(
    chunk: Chunk,
    stamp: Stamp,
    options: { signal: AbortSignal; onSent?: () => void; tagUid?: number; keptHere?: boolean },
  ): Promise<PushResult>;
}

export function createPushsync(options: PushsyncOptions, deps: PushsyncDeps): Pushsync {
  const observer = new PushsyncObserver(deps);
  const sender = new Sender(deps, observer);
  const serving = new Serving(options, deps, { sender, observer });
  deps.host.handle(PUSHSYNC, (stream, signal) => serving.serve(stream, signal));
  return new Origin(options, deps, { sender, observer });
}

interface Judged {
  readonly receipt: Receipt;
  readonly peer: Peer;
  readonly storer: Uint8Array;
  readonly storerPO: number;
}

class Origin implements Pushsync {
  readonly #options: PushsyncOptions;
  readonly #deps: PushsyncDeps;
  readonly #sender: Sender;
  readonly #observer: PushsyncObserver;

  constructor(
    options: PushsyncOptions,
    deps: PushsyncDeps,
    { sender, observer }: { sender: Sender; observer: PushsyncObserver },
  ) {
    this.#options = options;
    this.#deps = deps;
    this.#sender = sender;
    this.#observer = observer;
  }

  async push(
    chunk: Chunk,
    stamp: Stamp,
    { signal, onSent, keptHere = false }: Parameters<Pushsync['push']>[2],
  ): Promise<PushResult> {
    const causeEvent = this.#observer.pushing(chunk.address);
    const parcel = {
      chunk,
      stamp: encodeStamp(stamp),
      id: toHex(chunk.identity),
      onSent,
      keptHere,
      causeEvent,
    };
    const way: Way<Judged> = { originated: true, accept: (...given) => this.#judge(parcel, ...given) };
    try {
      const outcome = await this.#sender.send(parcel, way, signal);
      const result =
        outcome.outcome === 'done' ? this.#synced(parcel, outcome.result) : this.#notSynced(parcel, outcome);
      this.#observer.pushed();
      return result;
    } catch (error) {
      this.#observer.notPushed(parcel, error);
      throw error;
    }
  }

  /** @throws SignatureError, PushsyncError `RECEIPT_INVALID`: the peer has failed */
  #judge({ keptHere }: Parcel, receipt: Receipt, peer: Peer): Judged {
    const storer = storerOf(receipt, this.#options.networkId);
    // Passed back by a peer that knows no closer one: ours would be the only copy.
    if (keptHere && equalBytes(storer, this.#deps.host.overlay))
      throw new PushsyncError('RECEIPT_INVALID', 'the receipt is our own');
    return { receipt, peer, storer, storerPO: proximityOrder(storer, receipt.address) };
  }

  #synced(parcel: Parcel, { receipt, peer, storer, storerPO }: Judged): PushResult {
    const depth = {
      storerPO,
      receiptRadius: receipt.storageRadius,
      ownRadius: this.#deps.topology.storageRadius(),
      capacityDoubling: this.#options.capacityDoubling,
    };
    // No peer closer than the storer is known.
    if (isShallow(depth) && !isClosest(this.#deps, storer, receipt.address)) {
      this.#observer.shallow(storerPO);
      this.#sender.avoid(peer, parcel);
      throw new PushsyncError('SHALLOW_RECEIPT', 'shallow receipt');
    }
    this.#observer.synced(parcel, storer, storerPO);
    return { outcome: 'synced', receipt, storerPO };
  }

  #notSynced(parcel: Parcel, outcome: Exclude<AttemptsOutcome<never>, { outcome: 'done' }>): PushResult {
    const refused = outcome.outcome === 'exhausted' ? outcome.cause : undefined;
    if (refused !== undefined && !(refused instanceof NoRoomError)) throw couldNotPush(refused);
    const { store, topology } = this.#deps;
    const { chunk } = parcel;
    // Cut off, a chunk kept here would count as synced where no node looks for it.
    if (!this.#options.fullNode || topology.isCutOff()) {
      throw refused ?? new PushsyncError('NO_PEER', 'no peer found');
    }
    if (!belongsHere(this.#deps, chunk.address)) throw refused ?? nobodyCloser();
    if (!store.reserve.hasRoomFor(chunk.address)) throw refused ?? noRoomFor(this.#deps, chunk.address);
    // Single-owner chunks are reported when others deliver them: own uploads are no news.
    if (chunk.kind === 'cac') this.#deps.onDelivered(chunk);
    this.#observer.kept(parcel);
    return { outcome: 'want-self' };
  }
}
