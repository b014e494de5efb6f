import { BINS, proximityOrder } from '../../formats/chunk/address.ts';
import { fromHex } from '../../formats/crypto/hex.ts';
import type { Peer } from '../p2p/host.ts';

export interface KnownPeer {
  readonly overlayHex: string;
  readonly overlay: Uint8Array;
}

/** Full peers by proximity order to us, known and connected, in order of arrival. Connected peers are known. */
export class Bins {
  readonly #own: Uint8Array;
  readonly #known: readonly Map<string, KnownPeer>[] = emptyBins();
  readonly #connected: readonly Map<string, Peer>[] = emptyBins();
  readonly #connectedIds = new Set<string>();
  /** Shallow to deep, kept until a change: every chunk walks over them. */
  #flat: readonly Peer[] | undefined;
  #knownCount = 0;

  constructor(own: Uint8Array) {
    this.#own = own;
  }

  binOf(overlay: Uint8Array): number {
    return proximityOrder(this.#own, overlay);
  }

  /** @param overlay neither copied nor changed @returns false when the peer was known */
  addKnown(overlayHex: string, overlay: Uint8Array): boolean {
    const bin = this.#known[this.binOf(overlay)] as Map<string, KnownPeer>;
    if (bin.has(overlayHex)) return false;
    bin.set(overlayHex, { overlayHex, overlay });
    this.#knownCount++;
    return true;
  }

  forget(overlayHex: string): void {
    const bin = this.#known[this.binOf(fromHex(overlayHex))] as Map<string, KnownPeer>;
    if (bin.delete(overlayHex)) this.#knownCount--;
  }

  retain(isKept: (overlayHex: string) => boolean): void {
    for (const overlayHex of this.allKnown()) if (!isKept(overlayHex)) this.forget(overlayHex);
  }

  connect(peer: Peer): void {
    // A copy: the overlay is a view of a handshake's message.
    this.addKnown(peer.overlayHex, new Uint8Array(peer.overlay));
    (this.#connected[this.binOf(peer.overlay)] as Map<string, Peer>).set(peer.overlayHex, peer);
    this.#connectedIds.add(peer.overlayHex);
    this.#flat = undefined;
  }

  /** @returns false when it was not connected */
  disconnect(peer: Peer): boolean {
    const bin = this.#connected[this.binOf(peer.overlay)] as Map<string, Peer>;
    if (bin.get(peer.overlayHex) !== peer) return false;
    bin.delete(peer.overlayHex);
    this.#connectedIds.delete(peer.overlayHex);
    this.#flat = undefined;
    return true;
  }

  /**
   * The deepest bin such that it and all deeper ones hold this many connected peers, and no shallower one is empty; else 0.
   */
  depth(peers: number): number {
    const counts = this.#connected.map(({ size }) => size);
    const firstEmpty = counts.indexOf(0);
    let beyond = 0;
    for (let bin = counts.length - 1; bin > 0; bin--) {
      beyond += counts[bin] as number;
      if (beyond >= peers) return firstEmpty === -1 ? bin : Math.min(bin, firstEmpty);
    }
    return 0;
  }

  isKnown(overlayHex: string): boolean {
    return (this.#known[this.binOf(fromHex(overlayHex))] as Map<string, KnownPeer>).has(overlayHex);
  }

  isConnected(overlayHex: string): boolean {
    return this.#connectedIds.has(overlayHex);
  }

  known(bin: number): IteratorObject<KnownPeer> {
    return (this.#known[bin] as Map<string, KnownPeer>).values();
  }

  *allKnown(): Iterable<string> {
    for (const bin of this.#known) yield* bin.keys();
  }

  knownIn(bin: number): number {
    return (this.#known[bin] as Map<string, KnownPeer>).size;
  }

  connected(bin: number): Peer[] {
    return [...(this.#connected[bin] as Map<string, Peer>).values()];
  }

  get all(): readonly Peer[] {
    this.#flat ??= this.#connected.flatMap((bin) => [...bin.values()]);
    return this.#flat;
  }

  get connectedCount(): number {
    return this.#connectedIds.size;
  }

  get knownCount(): number {
    return this.#knownCount;
  }
}

function emptyBins<T>(): Map<string, T>[] {
  return Array.from({ length: BINS }, () => new Map<string, T>());
}
