/**
 * Connections whose other end has not yet introduced itself. An honest one does so within milliseconds, so when a source has
 * used its share, or all the total, the one that has waited longest is dropped.
 */
import { isPrivate } from '../address/underlay.ts';
import { sourceOf } from './connection-gate.ts';

export const STRANGERS_MAX = 256;
export const STRANGERS_PER_SOURCE_MAX = 32;
/** Of one private address: a hundred nodes may start on this machine together. */
export const STRANGERS_NEARBY_MAX = 224;

export class Strangers<T> {
  /** Oldest first. */
  readonly #sources = new Map<T, string>();
  readonly #counts = new Map<string, number>();

  /** @param remote multiaddress @returns the one to drop for it */
  add(one: T, remote: string): T | undefined {
    const source = sourceOf(remote);
    const count = this.#counts.get(source) ?? 0;
    const shareMax = isPrivate(remote) ? STRANGERS_NEARBY_MAX : STRANGERS_PER_SOURCE_MAX;
    let leaves: T | undefined;
    if (count >= shareMax) leaves = this.#oldestOf(source);
    else if (this.#sources.size >= STRANGERS_MAX) leaves = this.oldest();
    if (leaves !== undefined) this.delete(leaves);
    this.#sources.set(one, source);
    this.#counts.set(source, (this.#counts.get(source) ?? 0) + 1);
    return leaves;
  }

  /** Introduced, or gone. Safe to call for any. */
  delete(one: T): void {
    const source = this.#sources.get(one);
    if (source === undefined) return;
    this.#sources.delete(one);
    const count = (this.#counts.get(source) ?? 0) - 1;
    if (count > 0) this.#counts.set(source, count);
    else this.#counts.delete(source);
  }

  oldest(): T | undefined {
    return this.#sources.keys().next().value;
  }

  #oldestOf(source: string): T | undefined {
    for (const [one, from] of this.#sources) if (from === source) return one;
    return undefined;
  }
}
