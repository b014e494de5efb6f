import { isResponsible } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { decodeStamp, type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Signer } from '../../../formats/crypto/signer.ts';
import { type Accounting, AccountingError, type Debit } from '../../accounting/ports.ts';
import type { CauseEvent } from '../../env/chunk-events.ts';
import type { Host, MessageStream, Peer } from '../../p2p/host.ts';
import { PeerLimits } from '../../p2p/peers/peer-limits.ts';
import { type Postage, PostageError } from '../../postage/ports.ts';
import { type Reserve, ReserveOverwriteError } from '../../store/ports.ts';
import type { Topology } from '../../topology/topology.ts';
import { timeLimit } from '../conversation.ts';
import type { ObserverDeps, PushsyncObserver } from './observer.ts';
import {
  ATTEMPT_TIMEOUT_MS,
  couldNotPush,
  nobodyCloser,
  PASSED_ON,
  REFUSALS,
  type Receipt,
  refusesStamp,
} from './rules.ts';
import type { Sender, Way } from './sending.ts';
import { belongsHere, noRoomFor } from './surroundings.ts';
import { Delivery, type DeliveryMessage, Receipt as ReceiptTable } from './wire.ts';

export interface ServingOptions {
  readonly nonce: Uint8Array;
  /** If others cannot reach this node, it stores only what no other takes. */
  readonly reachable: boolean;
}

export interface ServingDeps extends ObserverDeps {
  readonly host: Pick<Host, 'overlay' | 'misbehaved' | 'isSuspect'>;
  readonly topology: Pick<Topology, 'peers' | 'storageRadius'>;
  readonly accounting: Pick<Accounting, 'price' | 'prepareDebit'>;
  readonly postage: Pick<Postage, 'validate'>;
  readonly store: { readonly reserve: Pick<Reserve, 'put' | 'has' | 'hasIndex' | 'hasRoomFor'> };
  readonly signer: Signer;
  /** Sees every valid delivery, even if it is refused for its stamp. Must not throw. */
  readonly onDelivered: (chunk: Chunk) => void;
}

export class Serving {
  readonly #options: ServingOptions;
  readonly #deps: ServingDeps;
  readonly #sender: Sender;
  readonly #observer: PushsyncObserver;
  readonly #refusals: PeerLimits;

  constructor(
    options: ServingOptions,
    deps: ServingDeps,
    { sender, observer }: { sender: Sender; observer: PushsyncObserver },
  ) {
    this.#options = options;
    this.#deps = deps;
    this.#sender = sender;
    this.#observer = observer;
    this.#refusals = new PeerLimits(REFUSALS, deps.clock);
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const startedAt = this.#deps.clock.monotonic();
    const { peer } = stream;
    const message = await this.#readDelivery(stream);
    const { address } = message;
    const causeEvent = this.#observer.received(peer, address);
    let receipt: Receipt;
    let debit: Debit;
    // Usually undefined: no wait for another turn.
    const pause = this.#refusals.ready(peer, signal);
    if (pause !== undefined) await pause;
    try {
      receipt = await this.#take(message, peer, signal, causeEvent);
      debit = this.#reserveDebit(peer, address);
    } catch (error) {
      this.#observer.refused(peer, { address, causeEvent, startedAt }, error);
      this.#blame(peer, error);
      await stream.write(ReceiptTable, { err: refusal(error, peer) });
      return;
    }
    try {
      await stream.write(ReceiptTable, receipt);
      debit.apply();
    } finally {
      debit.release();
    }
    this.#observer.answered(startedAt);
  }

  #blame(sender: Peer, error: unknown): void {
    const { host } = this.#deps;
    const ofTheDelivery =
      error instanceof ChunkError || error instanceof PostageError || refusesStamp(causeOf(error));
    if (ofTheDelivery) this.#refusals.charge(sender, 1);
    if (error instanceof ChunkError) host.misbehaved(sender, error.message);
    else if (isBadStamp(error)) host.misbehaved(sender, `stamp: ${error.message}`, PASSED_ON);
  }

  async #readDelivery(stream: MessageStream): Promise<DeliveryMessage> {
    const limit = timeLimit(stream, ATTEMPT_TIMEOUT_MS, this.#deps.clock);
    try {
      return await stream.read(Delivery);
    } finally {
      limit[Symbol.dispose]();
    }
  }

  #reserveDebit(peer: Peer, address: Uint8Array): Debit {
    const { accounting, host } = this.#deps;
    return accounting.prepareDebit(peer, accounting.price(host.overlay, address));
  }

  async #take(
    message: DeliveryMessage,
    sender: Peer,
    signal: AbortSignal,
    causeEvent: CauseEvent,
  ): Promise<Receipt> {
    const { clock, host, topology } = this.#deps;
    const stamp = decodeStamp(message.stamp);
    const chunk = chunkFrom(message.address, message.data);
    this.#observer.verified(chunk.address);
    this.#deps.onDelivered(chunk);
    if (this.#options.reachable && isResponsible(host.overlay, chunk.address, topology.storageRadius())) {
      return await this.#store(chunk, stamp, causeEvent);
    }

    if (host.isSuspect(sender)) this.#checkStamp(chunk, stamp);
    const id = toHex(chunk.identity);
    const parcel = { chunk, stamp: message.stamp, id, onSent: undefined, keptHere: false, causeEvent };
    using deadline = clock.deadline(ATTEMPT_TIMEOUT_MS, signal);
    // A node that does not count itself would send the chunk back, and so in circles.
    const exclude = this.#options.reachable ? [] : [sender.overlayHex];
    const way: Way<Receipt> = { originated: false, exclude, accept: (receipt) => receipt };
    const outcome = await this.#sender.send(parcel, way, deadline.signal);
    if (outcome.outcome === 'exhausted') {
      if (refusesStamp(outcome.cause)) this.#checkStamp(chunk, stamp);
      throw couldNotPush(outcome.cause);
    }
    if (outcome.outcome === 'nobody') {
      // A chunk kept here would count as stored where no node looks for it.
      if (!belongsHere(this.#deps, chunk.address)) throw nobodyCloser();
      return await this.#store(chunk, stamp, causeEvent);
    }
    this.#observer.forwarded(sender, parcel);
    return outcome.result;
  }

  async #store(chunk: Chunk, stamp: Stamp, causeEvent: CauseEvent): Promise<Receipt> {
    const { signer, store, topology } = this.#deps;
    const { address } = chunk;
    this.#validate(chunk, stamp);
    // If held already, or replacing another, it needs no room.
    const isHeld = () =>
      store.reserve.has(address, stamp.batchId, stampHash(stamp)) || store.reserve.hasIndex(stamp);
    if (!store.reserve.hasRoomFor(address) && !isHeld()) {
      this.#observer.noRoom();
      throw noRoomFor(this.#deps, address);
    }
    await store.reserve.put(chunk, stamp);
    this.#observer.stored(chunk, causeEvent);
    // The radius may have grown since, which ends this node's responsibility.
    const storageRadius = topology.storageRadius();
    const signature = signer.sign(address);
    this.#observer.signed(chunk, causeEvent);
    return { address, signature, nonce: this.#options.nonce, storageRadius };
  }

  /** @throws PostageError `STAMP_INVALID`; nothing while the batch is unknown */
  #checkStamp(chunk: Chunk, stamp: Stamp): void {
    try {
      this.#validate(chunk, stamp);
    } catch (error) {
      if (isBadStamp(error)) throw error;
      this.#observer.stampUnchecked(error);
    }
  }

  #validate(chunk: Chunk, stamp: Stamp): void {
    const { clock, postage } = this.#deps;
    const startedAt = clock.monotonic();
    try {
      postage.validate(chunk, stamp);
    } catch (error) {
      this.#observer.stampChecked('failure', startedAt);
      throw error;
    }
    this.#observer.stampChecked('success', startedAt);
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function isBadStamp(error: unknown): error is PostageError {
  return error instanceof PostageError && error.code === 'STAMP_INVALID' && !error.passing;
}

/** As nodes of the network word it. */
function refusal(error: unknown, sender: Peer): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ChunkError) {
    return error.code === 'STAMP_INVALID' ? `pushsync stamp unmarshall: ${message}` : 'invalid chunk';
  }
  if (error instanceof PostageError) return `invalid stamp: ${message}`;
  if (error instanceof ReserveOverwriteError) return `reserve put: reserve putter.Put: ${message}`;
  if (error instanceof AccountingError)
    return `prepare debit to peer ${sender.overlayHex} before writeback: ${message}`;
  return `handler: push to closest chunk: ${message}`;
}
