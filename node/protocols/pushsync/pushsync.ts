/**
 * Bringing a chunk with its stamp to the node that stores it, and its signed receipt back. `p2p-protocols.md` 4.9.
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
 * A failure before step 4 is reported in Receipt.err and closes the stream in order; one after it resets the
 * stream. What was stored stays stored when the debit fails. A forwarder passes the receipt on as it is.
 *
 * The origin pushes to the closest peer, one more every five seconds and after every failure, up to 32 failures; a
 * forwarder tolerates one. A push that reaches the chunk's neighbourhood goes to two more peers at once, and
 * to none outside it; an origin that keeps a content-addressed chunk itself asks them only when there is no
 * receipt for a second. Of a single-owner chunk the closest peer always gets one. A storer without room says
 * so and names its neighbourhood.
 *
 * An invalid chunk counts against its sender at once. Stamps are checked by the storer, so a forwarder may
 * pass on a bad one unknowingly: that counts little. Only when a storer reports bad stamps back does a
 * forwarder check its sender's stamps before passing them on.
 */

import { addressPrefix, closerTo, isResponsible, proximityOrder } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { decodeStamp, encodeStamp, type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { type Clock, TimeoutError } from '../../../formats/clock.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import { SignatureError, type Signer } from '../../../formats/crypto/signer.ts';
import { type Accounting, AccountingError, type Credit, type Debit } from '../../accounting/ports.ts';
import { type ChunkEvents, reasonOf } from '../../env/chunk-events.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import type { Tracing } from '../../env/tracing/tracing.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Host, MessageStream, Peer } from '../../p2p/host.ts';
import { PeerLimits } from '../../p2p/peers/peer-limits.ts';
import { type Postage, PostageError } from '../../postage/ports.ts';
import { type Reserve, ReserveOverwriteError } from '../../store/ports.ts';
import type { Topology } from '../../topology/topology.ts';
import { type AttemptsOutcome, attemptPeers } from '../attempts.ts';
import { converseWithin } from '../conversation.ts';
import { SkipList } from '../skip-list.ts';
import { attemptSpan, chunkAttributes } from '../spans.ts';
import { PUSHSYNC_METRICS } from './metrics.ts';
import {
  ATTEMPT_TIMEOUT_MS,
  FAILED_SKIP_MS,
  FORWARDER,
  finalRefusal,
  isShallow,
  MULTIPLEX,
  MULTIPLEX_KEPT_MS,
  NO_ROOM_MAX,
  NoRoomError,
  ORIGIN,
  PASSED_ON,
  PushsyncError,
  REFUSALS,
  type Receipt,
  refusesStamp,
  storerOf,
} from './rules.ts';
import { Delivery as DeliveryMessage, PUSHSYNC, Receipt as ReceiptMessage } from './wire.ts';

export interface PushsyncOptions {
  readonly networkId: bigint;
  /** Of this node's overlay, 32 bytes. */
  readonly nonce: Uint8Array;
  /** A full node stores what no other node takes, unless it is cut off; a light one fails with `NO_PEER`. */
  readonly fullNode: boolean;
  /** How many times the reserve is doubled. */
  readonly capacityDoubling: number;
  /** Whether others can reach this node; if not, it stores only what no other node takes. */
  readonly reachable: boolean;
}

export interface PushsyncDeps {
  readonly host: Pick<Host, 'overlay' | 'handle' | 'open' | 'misbehaved' | 'isSuspect'>;
  readonly topology: Pick<Topology, 'closestPeer' | 'isCutOff' | 'peers' | 'storageRadius'>;
  readonly accounting: Pick<Accounting, 'price' | 'prepareCredit' | 'prepareDebit' | 'awaitCredit'>;
  readonly postage: Pick<Postage, 'validate'>;
  readonly store: { readonly reserve: Pick<Reserve, 'put' | 'has' | 'hasIndex' | 'hasRoomFor'> };
  /** Key of this node's overlay. */
  readonly signer: Signer;
  /** Sees every valid chunk that is delivered, whether it is then stored, passed on or refused for its stamp. Must not throw. */
  readonly onDelivered: (chunk: Chunk) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events?: ChunkEvents | undefined;
  readonly tracing?: Tracing | undefined;
}

export type PushResult =
  | {
      readonly outcome: 'synced';
      readonly receipt: Receipt;
      /** Proximity order of chunk and storer. */
      readonly storerPO: number;
    }
  /** No other node takes the chunk, and it belongs here: this node has to store it. */
  | { readonly outcome: 'want-self' };

export interface Pushsync {
  /**
   * Pushes an own chunk. @param options.onSent called for every peer to which the delivery was written
   * @param options.tagUid of the upload that it waited with
   * @param options.keptHere the caller stores it for the network as well, once there is a receipt: fewer copies
   * are pushed
   * @throws PushsyncError `NO_PEER` (light node, or cut off from all known peers), `SHALLOW_RECEIPT` (repeat: another
   * storer is asked), `NO_ROOM` (NoRoomError), `SUPERSEDED` (a newer stamp has its index), `PUSH_FAILED`; the
   * signal's reason
   */
  push(
    chunk: Chunk,
    stamp: Stamp,
    options: { signal: AbortSignal; onSent?: () => void; tagUid?: number; keptHere?: boolean },
  ): Promise<PushResult>;
}

/** Registers the receiving side. */
export function createPushsync(options: PushsyncOptions, deps: PushsyncDeps): Pushsync {
  const protocol = new PushsyncProtocol(options, deps);
  deps.host.handle(PUSHSYNC, (stream, signal) => protocol.serve(stream, signal));
  return protocol;
}

/** A chunk on its way: bytes as received or encoded once, for any number of peers. */
interface Parcel {
  readonly chunk: Chunk;
  /** 113 bytes. */
  readonly stamp: Uint8Array;
  /** Hex of the chunk's identity: key of its failed peers. */
  readonly id: string;
  readonly onSent: (() => void) | undefined;
  /** Whether this node will store it as well. */
  readonly keptHere: boolean;
  /** The event that it is being sent under. */
  readonly of: number | undefined;
}

/** How a parcel is sent. `R` is what the first good receipt turns into. */
interface Way<R> {
  readonly role: typeof ORIGIN | typeof FORWARDER;
  readonly originated: boolean;
  readonly accept: (receipt: Receipt, peer: Peer) => R;
}

class PushsyncProtocol implements Pushsync {
  readonly #options: PushsyncOptions;
  readonly #deps: PushsyncDeps;
  readonly #metrics: MetricsOf<typeof PUSHSYNC_METRICS>;
  readonly #failed: SkipList;
  readonly #refusals: PeerLimits;

  constructor(options: PushsyncOptions, deps: PushsyncDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#refusals = new PeerLimits(REFUSALS, deps.clock);
    this.#metrics = deps.metrics.register(PUSHSYNC_METRICS);
    this.#failed = new SkipList({ durationMs: FAILED_SKIP_MS }, deps);
  }

  async push(
    chunk: Chunk,
    stamp: Stamp,
    { signal, onSent, keptHere = false }: Parameters<Pushsync['push']>[2],
  ): Promise<PushResult> {
    this.#metrics.requests.inc();
    const of = this.#deps.events?.add('pushing', chunk.address);
    const parcel = { chunk, stamp: encodeStamp(stamp), id: toHex(chunk.identity), onSent, keptHere, of };
    const way: Way<Judged> = {
      role: ORIGIN,
      originated: true,
      accept: (...given) => this.#judge(parcel, ...given),
    };
    try {
      const outcome = await this.#send(parcel, way, signal);
      const result =
        outcome.outcome === 'done' ? this.#synced(parcel, outcome.result) : this.#notSynced(parcel, outcome);
      this.#metrics.outgoing.inc();
      return result;
    } catch (error) {
      this.#deps.events?.add('not-synced', chunk.address, { of, detail: reasonOf(error) });
      this.#metrics.outgoingErrors.inc();
      throw error;
    }
  }

  /** @throws SignatureError, PushsyncError `RECEIPT_INVALID`: the peer has failed then */
  #judge({ keptHere }: Parcel, receipt: Receipt, peer: Peer): Judged {
    const storer = storerOf(receipt, this.#options.networkId);
    // Passed back by a peer that knows no closer one: it would be the only copy.
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
    // No closer peer than the storer is known: so it keeps what no other node can.
    if (isShallow(depth) && !this.#isClosest(storer, receipt.address)) {
      this.#metrics.shallow.inc();
      this.#metrics.shallowDepth.inc({ depth: storerPO });
      this.#failed.add(parcel.id, peer.id);
      throw new PushsyncError('SHALLOW_RECEIPT', 'shallow receipt');
    }
    this.#metrics.receiptDepth.inc({ depth: storerPO });
    this.#deps.events?.add('synced', receipt.address, { of: parcel.of, peer: toHex(storer) });
    return { outcome: 'synced', receipt, storerPO };
  }

  #notSynced(
    { chunk, of }: Parcel,
    outcome: Exclude<AttemptsOutcome<never>, { outcome: 'done' }>,
  ): PushResult {
    const refused = outcome.outcome === 'exhausted' ? outcome.cause : undefined;
    if (refused !== undefined && !(refused instanceof NoRoomError)) throw couldNotPush(refused);
    const { store, topology } = this.#deps;
    // While we are cut off, a chunk kept here would count as synced where no node looks for it.
    if (!this.#options.fullNode || topology.isCutOff()) {
      throw refused ?? new PushsyncError('NO_PEER', 'no peer found');
    }
    if (!this.#belongsHere(chunk.address)) throw refused ?? couldNotPush(new Error(NOBODY_CLOSER));
    if (!store.reserve.hasRoomFor(chunk.address)) throw refused ?? this.#noRoomFor(chunk.address);
    // The chunk has arrived. Single-owner chunks are reported when others deliver them: a node's own uploads
    // are no news to it.
    if (chunk.kind === 'cac') this.#deps.onDelivered(chunk);
    this.#deps.events?.add('kept', chunk.address, { of });
    return { outcome: 'want-self' };
  }

  /** Whether no connected peer is closer to the chunk. */
  #isClosest(overlay: Uint8Array, address: Uint8Array): boolean {
    return this.#deps.topology.peers().every((peer) => closerTo(address, overlay, peer.overlay) <= 0);
  }

  /** Names the chunk's neighbourhood: this node may lie outside it, and merely be closer than others. */
  #noRoomFor(address: Uint8Array): NoRoomError {
    return new NoRoomError(addressPrefix(address, this.#deps.topology.storageRadius()));
  }

  /** Whether the chunk is this node's to store when no other takes it. */
  #belongsHere(address: Uint8Array): boolean {
    const { host, topology } = this.#deps;
    return (
      isResponsible(host.overlay, address, topology.storageRadius()) || this.#isClosest(host.overlay, address)
    );
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const startedAt = clock.monotonic();
    const message = await this.#readDelivery(stream);
    this.#metrics.received.inc();
    const of = this.#deps.events?.add('received', message.address, { peer: stream.peer.id });
    let receipt: Receipt;
    let debit: Debit;
    // Undefined in the usual case, which then does not wait for another turn of the event loop.
    const pause = this.#refusals.ready(stream.peer, signal);
    if (pause !== undefined) await pause;
    try {
      receipt = await this.#take(message, stream.peer, signal, of);
      debit = this.#reserveDebit(stream.peer, message.address);
    } catch (error) {
      this.#metrics.handlerErrors.inc();
      this.#metrics.handlerTime.observe({ status: 'failure' }, (clock.monotonic() - startedAt) / 1000);
      log.debug({ err: error, peer: stream.peer.id }, 'delivery refused');
      this.#deps.events?.add('refused', message.address, {
        of,
        peer: stream.peer.id,
        detail: reasonOf(error),
      });
      this.#deps.tracing?.current()?.fail(error);
      this.#blame(stream.peer, error);
      await stream.write(ReceiptMessage, { err: refusal(error, stream.peer) });
      return;
    }
    try {
      await stream.write(ReceiptMessage, receipt);
      debit.apply();
    } finally {
      debit.release();
    }
    this.#metrics.handlerTime.observe({ status: 'success' }, (clock.monotonic() - startedAt) / 1000);
  }

  /** If a batch is unknown or seems too small, we may not have read its events yet. */
  #blame(sender: Peer, error: unknown): void {
    const { host } = this.#deps;
    const ofTheDelivery =
      error instanceof ChunkError || error instanceof PostageError || refusesStamp(causeOf(error));
    if (ofTheDelivery) this.#refusals.charge(sender, 1);
    if (error instanceof ChunkError) host.misbehaved(sender, error.message);
    else if (isBadStamp(error)) host.misbehaved(sender, `stamp: ${error.message}`, PASSED_ON);
  }

  async #readDelivery(stream: MessageStream): Promise<MessageOf<typeof DeliveryMessage>> {
    const timedOut = () => stream.reset(new TimeoutError(ATTEMPT_TIMEOUT_MS));
    const limit = this.#deps.clock.timer(ATTEMPT_TIMEOUT_MS, timedOut);
    try {
      return await stream.read(DeliveryMessage);
    } finally {
      limit[Symbol.dispose]();
    }
  }

  #reserveDebit(peer: Peer, address: Uint8Array): Debit {
    const { accounting, host } = this.#deps;
    return accounting.prepareDebit(peer, accounting.price(host.overlay, address));
  }

  /** @returns our own receipt or that of the next node */
  async #take(
    message: MessageOf<typeof DeliveryMessage>,
    sender: Peer,
    signal: AbortSignal,
    of: number | undefined,
  ): Promise<Receipt> {
    const { clock, host, topology } = this.#deps;
    const stamp = decodeStamp(message.stamp);
    const chunk = chunkFrom(message.address, message.data);
    this.#deps.tracing?.current()?.annotate(chunkAttributes(host.overlay, chunk.address));
    this.#deps.onDelivered(chunk);
    if (this.#options.reachable && isResponsible(host.overlay, chunk.address, topology.storageRadius())) {
      return await this.#store(chunk, stamp, of);
    }

    if (host.isSuspect(sender)) this.#checkStamp(chunk, stamp);
    const id = toHex(chunk.identity);
    const parcel = { chunk, stamp: message.stamp, id, onSent: undefined, keptHere: false, of };
    const way: Way<Receipt> = { role: FORWARDER, originated: false, accept: (receipt) => receipt };
    using deadline = clock.deadline(ATTEMPT_TIMEOUT_MS, signal);
    // A node that does not count itself would send the chunk back to the closest peer, and so in circles.
    const exclude = this.#options.reachable ? [] : [sender.id];
    const outcome = await this.#send(parcel, way, deadline.signal, exclude);
    if (outcome.outcome === 'exhausted') {
      if (refusesStamp(outcome.cause)) this.#checkStamp(chunk, stamp);
      throw couldNotPush(outcome.cause);
    }
    if (outcome.outcome === 'nobody') {
      // All closer peers failed a moment ago. A chunk kept here would count as stored where no node looks for
      // it.
      if (!this.#belongsHere(chunk.address)) throw couldNotPush(new Error(NOBODY_CLOSER));
      return await this.#store(chunk, stamp, of);
    }
    this.#metrics.forwarder.inc();
    this.#deps.events?.add('forwarded', chunk.address, { of, peer: sender.id });
    return outcome.result;
  }

  async #store(chunk: Chunk, stamp: Stamp, of: number | undefined): Promise<Receipt> {
    const { events, signer, store, topology } = this.#deps;
    const { address } = chunk;
    this.#validate(chunk, stamp);
    // A chunk that is here already, or replaces another, needs no room.
    const isHeld = () =>
      store.reserve.has(address, stamp.batchId, stampHash(stamp)) || store.reserve.hasIndex(stamp);
    if (!store.reserve.hasRoomFor(address) && !isHeld()) {
      this.#metrics.noRoom.inc();
      throw this.#noRoomFor(address);
    }
    await store.reserve.put(chunk, stamp);
    this.#metrics.storer.inc();
    events?.add('stored', address, { of });
    this.#deps.tracing?.current()?.event('stored');
    // The current radius: it may have grown since the delivery came, and then this node is not responsible
    // for the chunk.
    const storageRadius = topology.storageRadius();
    const signature = signer.sign(address);
    events?.add('signed', address, { of });
    return { address, signature, nonce: this.#options.nonce, storageRadius };
  }

  /**
   * For a chunk that is passed on. @throws PostageError `STAMP_INVALID`; nothing while the batch is unknown
   */
  #checkStamp(chunk: Chunk, stamp: Stamp): void {
    try {
      this.#validate(chunk, stamp);
    } catch (error) {
      if (isBadStamp(error)) throw error;
      this.#deps.log.debug({ err: error }, 'stamp of a forwarded chunk could not be checked');
    }
  }

  #validate(chunk: Chunk, stamp: Stamp): void {
    const { clock, postage } = this.#deps;
    const startedAt = clock.monotonic();
    let status = 'failure';
    try {
      postage.validate(chunk, stamp);
      status = 'success';
    } catch (error) {
      this.#metrics.invalidStamps.inc();
      throw error;
    } finally {
      this.#metrics.stampTime.observe({ status }, (clock.monotonic() - startedAt) / 1000);
    }
  }

  async #send<R>(
    parcel: Parcel,
    way: Way<R>,
    signal: AbortSignal,
    exclude: readonly string[] = [],
  ): Promise<AttemptsOutcome<R>> {
    const { accounting, clock, log, topology, tracing } = this.#deps;
    const { address } = parcel.chunk;
    const skip = this.#failed.peers(parcel.id);
    for (const id of exclude) skip.add(id);
    const isInside = (peer: Peer) => isResponsible(peer.overlay, address, topology.storageRadius());
    let full: NoRoomError | undefined;
    let refusals = 0;
    let attempts = 0;
    const outcome = await attemptPeers<Receipt, R>(
      {
        ...way.role,
        skip,
        choose: (skip) => {
          const nearest = attempts > 0 ? this.#listener(parcel.chunk, skip) : undefined;
          const peer = nearest ?? topology.closestPeer(address, { skip, includeSelf: !way.originated });
          if (peer === undefined || peer === 'self') return undefined;
          // The whole neighbourhood has been asked: any other peer would only ask it again.
          return isInside(peer) || !topology.peers().some(isInside) ? peer : undefined;
        },
        multiplex: MULTIPLEX,
        // A single-owner chunk may be a message: the node that listens for it must get it at once.
        multiplexAfterMs: parcel.keptHere && parcel.chunk.kind === 'cac' ? MULTIPLEX_KEPT_MS : undefined,
        isNeighbour: isInside,
        reserve: (peer) => this.#reserveCredit(peer, parcel, way.originated),
        awaitCredit: (peer, wake) =>
          accounting.awaitCredit(peer, accounting.price(peer.overlay, address), wake),
        attempt: (peer, credit) => {
          const attempt = ++attempts;
          const request = () => this.#request(peer, parcel, { credit, attempt });
          if (tracing === undefined) return request();
          const cost = accounting.price(peer.overlay, address);
          return tracing.span('push-chunk-async', attemptSpan({ peer, address, attempt, cost }), request);
        },
        accept: way.accept,
        failed: (peer, err) => {
          log.debug({ err, chunk: parcel.id, peer: peer.id }, 'chunk not taken');
          if (err instanceof SignatureError) this.#deps.host.misbehaved(peer, 'unsigned receipt', PASSED_ON);
          if (isSuperseded(err)) return false;
          if (err instanceof NoRoomError) {
            // It may have room in a moment, so it is not left out of the next push.
            full = err;
            refusals++;
          } else this.#failed.add(parcel.id, peer.id);
          return refusals < NO_ROOM_MAX;
        },
      },
      { clock, signal },
    );
    // The next push may ask the failed peers again: it comes after a pause, and may have no other peers.
    if (outcome.outcome !== 'done' && way.originated) this.#failed.forget(parcel.id);
    // A storer's own statement tells more than the failures of the peers asked after it.
    const isFinal = outcome.outcome === 'exhausted' && isSuperseded(outcome.cause);
    return outcome.outcome === 'done' || full === undefined || isFinal
      ? outcome
      : { outcome: 'exhausted', cause: full };
  }

  /**
   * Closest of the neighbourhood to a single-owner chunk: its owner may have chosen the address for that peer to
   * listen at. One that is busy is rated badly and would not be chosen, and pull syncing brings only the last
   * of many payloads. It gets a copy beside the peer that is trusted to answer.
   */
  #listener({ kind, address }: Chunk, skip: ReadonlySet<string>): Peer | undefined {
    if (kind !== 'soc') return undefined;
    const { topology } = this.#deps;
    const [nearest] = topology
      .peers()
      .filter((peer) => isResponsible(peer.overlay, address, topology.storageRadius()))
      .sort((a, b) => closerTo(address, a.overlay, b.overlay));
    return nearest === undefined || skip.has(nearest.id) ? undefined : nearest;
  }

  #reserveCredit(peer: Peer, { chunk: { address }, of }: Parcel, originated: boolean): Credit {
    const { accounting, events } = this.#deps;
    try {
      return accounting.prepareCredit(peer, accounting.price(peer.overlay, address), originated);
    } catch (error) {
      this.#metrics.overdraftRefresh.inc();
      events?.add('no-credit', address, { of, peer: peer.id });
      this.#deps.tracing?.current()?.event('overdrawn', { 'peer.overlay': peer.id });
      throw error;
    }
  }

  async #request(
    peer: Peer,
    parcel: Parcel,
    { credit, attempt }: { credit: Credit; attempt: number },
  ): Promise<Receipt> {
    const { clock, events } = this.#deps;
    const { address } = parcel.chunk;
    const of = events?.add('push', address, { of: parcel.of, peer: peer.id, attempt });
    const startedAt = clock.monotonic();
    let status = 'failure';
    this.#metrics.attempts.inc();
    try {
      const receipt = await this.#ask(peer, parcel);
      credit.apply();
      status = 'success';
      events?.add('push-accepted', address, { of, peer: peer.id, attempt });
      return receipt;
    } catch (error) {
      this.#metrics.failedAttempts.inc();
      events?.add('push-failed', address, { of, peer: peer.id, attempt, detail: reasonOf(error) });
      throw error;
    } finally {
      credit.release();
      this.#metrics.pushTime.observe({ status }, (clock.monotonic() - startedAt) / 1000);
    }
  }

  async #ask(peer: Peer, { chunk, stamp, onSent }: Parcel): Promise<Receipt> {
    const { address, data } = chunk;
    const conversation = { peer, protocol: PUSHSYNC.id, timeoutMs: ATTEMPT_TIMEOUT_MS };
    const receipt = await converseWithin(conversation, this.#deps, async (stream) => {
      await stream.write(DeliveryMessage, { address, data, stamp });
      this.#metrics.sent.inc();
      onSent?.();
      return await stream.read(ReceiptMessage);
    });
    if (receipt.err !== '') {
      throw (
        NoRoomError.in(receipt.err) ??
        finalRefusal(receipt.err) ??
        new PushsyncError('DELIVERY_FAILED', `delivery of chunk failed: ${receipt.err}`)
      );
    }
    if (!equalBytes(receipt.address, address)) {
      this.#deps.host.misbehaved(peer, 'receipt for another chunk');
      throw new PushsyncError('RECEIPT_INVALID', `invalid receipt. chunk ${toHex(address)}, peer ${peer.id}`);
    }
    return receipt;
  }
}

function isSuperseded(error: unknown): error is PushsyncError {
  return error instanceof PushsyncError && error.code === 'SUPERSEDED';
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function isBadStamp(error: unknown): error is PostageError {
  return error instanceof PostageError && error.code === 'STAMP_INVALID' && !error.passing;
}

const NOBODY_CLOSER = 'no closer peer takes the chunk';

/** A receipt whose signer is known. */
interface Judged {
  readonly receipt: Receipt;
  readonly peer: Peer;
  /** Overlay, 32 bytes. */
  readonly storer: Uint8Array;
  /** Proximity order of storer and chunk. */
  readonly storerPO: number;
}

function couldNotPush(cause: unknown): PushsyncError {
  if (cause instanceof NoRoomError || isSuperseded(cause)) return cause;
  return new PushsyncError('PUSH_FAILED', 'could not push chunk', { cause });
}

/** Text of a refusal as nodes of the network word it. */
function refusal(error: unknown, sender: Peer): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ChunkError) {
    return error.code === 'STAMP_INVALID' ? `pushsync stamp unmarshall: ${message}` : 'invalid chunk';
  }
  if (error instanceof PostageError) return `invalid stamp: ${message}`;
  if (error instanceof ReserveOverwriteError) return `reserve put: reserve putter.Put: ${message}`;
  if (error instanceof AccountingError)
    return `prepare debit to peer ${sender.id} before writeback: ${message}`;
  return `handler: push to closest chunk: ${message}`;
}
