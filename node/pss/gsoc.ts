/**
 * Messages in single-owner chunks under a shared key: `node-behaviour.md` 8.2, `data-formats.md` 8.2. Everything under a
 * subscribed address is delivered, even if the reserve keeps an older one, also to those who subscribe within a moment.
 */
import { type Chunk, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { socParts } from '../../formats/chunk/soc.ts';
import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { type Deliver, Subscriptions } from './subscriptions.ts';

export interface Gsoc {
  /** @param address 32 bytes @param deliver gets wrapped payloads, without span @throws SubscriptionError */
  subscribe(address: Uint8Array, deliver: Deliver): () => void;
  offer(chunk: Chunk): void;
}

export function createGsoc({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): Gsoc {
  const subscriptions = new Subscriptions(clock);
  return {
    subscribe: (address, deliver) => subscriptions.add(toHex(address), deliver),
    offer(chunk) {
      if (chunk.kind !== 'soc') return;
      const key = toHex(chunk.address);
      // Many payloads share an address; the identity covers both.
      const id = toHex(chunk.identity);
      const payload = socParts(chunk.data).wrapped.slice(SPAN_SIZE);
      subscriptions.hold(key, id, payload);
      if (subscriptions.has(key)) subscriptions.publish(key, id, payload);
    },
  };
}
