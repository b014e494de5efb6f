import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { BINS, closerTo, isResponsible, proximityOrder } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { Tiers } from '../../../node/topology/tiers.ts';
import { fakePeer } from './fake-peer.ts';

const own = new Uint8Array(32);
const overlay = (prefix: string) => fromHex(prefix.padEnd(64, '0'));
const peer = (prefix: string) => fakePeer(overlay(prefix));

function tiersOf(
  peers: readonly Peer[],
  standing: { reachable?: readonly string[]; healthy?: readonly string[] } = {},
): Tiers {
  const bins = Array.from({ length: BINS }, (_, bin) =>
    peers.filter(({ overlay: address }) => proximityOrder(own, address) === bin),
  );
  const ids = (prefixes: readonly string[] = []) => prefixes.map((prefix) => prefix.padEnd(64, '0'));
  return new Tiers(own, () => bins, {
    isPublic: (id) => ids(standing.reachable).includes(id),
    isHealthy: (id) => ids(standing.healthy).includes(id),
  });
}

const nobody = new Set<string>();
/** Deeper than any two addresses can be: there is no neighbourhood. */
const FAR = BINS;
const prefixOf = (found: Peer | undefined) => found?.overlayHex.slice(0, 2);

test('a healthy peer that can be reached comes before a closer one that is neither', () => {
  const peers = ['80', 'a0', 'c0', 'ff'].map(peer);
  const address = overlay('ff');
  expect(prefixOf(tiersOf(peers).closest(address, FAR, nobody))).toBe('ff');
  expect(prefixOf(tiersOf(peers, { reachable: ['80', 'c0'] }).closest(address, FAR, nobody))).toBe('c0');
  const rated = { reachable: ['80', 'c0'], healthy: ['80', 'ff'] };
  expect(prefixOf(tiersOf(peers, rated).closest(address, FAR, nobody))).toBe('80');
});

test('peers that have come since the last chunk are found', () => {
  const bins: Peer[][] = Array.from({ length: BINS }, () => []);
  const tiers = new Tiers(own, () => bins, { isPublic: () => true, isHealthy: () => true });
  expect(tiers.closest(overlay('ff'), FAR, nobody)).toBeUndefined();
  bins[0]?.push(peer('ff'));
  tiers.changed();
  expect(prefixOf(tiers.closest(overlay('ff'), FAR, nobody))).toBe('ff');
});

test('when a tier is used up the next one follows', () => {
  const tiers = tiersOf(['80', 'c0', 'ff'].map(peer), { reachable: ['80', 'c0'], healthy: ['80'] });
  const skip = new Set<string>();
  const order: (string | undefined)[] = [];
  for (let i = 0; i < 4; i++) {
    const found = tiers.closest(overlay('ff'), FAR, skip);
    order.push(prefixOf(found));
    if (found !== undefined) skip.add(found.overlayHex);
  }
  expect(order).toEqual(['80', 'c0', 'ff', undefined]);
});

test('a tier without a peer closer than the node itself is passed over', () => {
  const tiers = tiersOf([peer('80'), peer('01')], { reachable: ['80'], healthy: ['80'] });
  expect(prefixOf(tiers.closest(overlay('01'), FAR, nobody, own))).toBe('01');
  expect(tiers.closest(overlay('00'), FAR, nobody, own)).toBeUndefined();
});

test('a peer in the neighbourhood of the address comes before a healthy one outside it', () => {
  const tiers = tiersOf(['80', 'c0', 'fe'].map(peer), { reachable: ['80', 'c0'], healthy: ['80'] });
  const closest = (radius: number) => prefixOf(tiers.closest(overlay('ff'), radius, nobody));
  expect([0, 1, 2, 3, 7, 8].map(closest)).toEqual(['80', '80', 'c0', 'fe', 'fe', '80']);
});

test('among the peers of a neighbourhood a healthy one comes before a closer unhealthy one', () => {
  const tiers = tiersOf(['c0', 'fe'].map(peer), { reachable: ['c0'], healthy: ['c0'] });
  expect(prefixOf(tiers.closest(overlay('ff'), 2, nobody))).toBe('c0');
});

test('a peer of the neighbourhood that is skipped, or no closer than the node itself, does not count', () => {
  const tiers = tiersOf(['80', 'c0'].map(peer), { reachable: ['80'], healthy: ['80'] });
  expect(prefixOf(tiers.closest(overlay('ff'), 2, new Set([peer('c0').overlayHex])))).toBe('80');
  expect(tiers.closest(overlay('ff'), 2, nobody, overlay('fe'))).toBeUndefined();
});

const overlays = fc.uniqueArray(
  // Shared prefixes of all lengths, so that deep bins are not empty.
  fc
    .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat({ max: 31 }))
    .map(([bytes, zeros]) =>
      bytes.map((byte, i) => (i * 8 < zeros ? byte >> Math.min(8, zeros - i * 8) : byte)),
    ),
  { maxLength: 40, selector: (bytes) => bytes.join() },
);

property.prop([overlays, overlays, fc.nat({ max: 12 }), fc.infiniteStream(fc.nat({ max: 3 }))])(
  'whoever is chosen is the closest of the best tier that has somebody left, in the neighbourhood if it has any there',
  (present, addresses, radius, ranks) => {
    const peers = present.map((address) => fakePeer(address));
    const rank = new Map(peers.map(({ overlayHex }) => [overlayHex, ranks.next().value as number]));
    const bins = Array.from({ length: BINS }, (_, bin) =>
      peers.filter(({ overlay: address }) => proximityOrder(own, address) === bin),
    );
    // 0: unknown, 1: healthy but not reachable, 2: reachable, 3: both.
    const tiers = new Tiers(own, () => bins, {
      isPublic: (id) => (rank.get(id) ?? 0) >= 2,
      isHealthy: (id) => (rank.get(id) ?? 0) % 2 === 1,
    });
    const tierOf = ({ overlayHex }: Peer) => Math.max(1, rank.get(overlayHex) ?? 0);
    const skip = new Set(peers.filter((_, i) => i % 5 === 4).map(({ overlayHex }) => overlayHex));
    for (const address of addresses) {
      const inside = (peer: Peer) => Number(isResponsible(peer.overlay, address, radius));
      const [expected] = peers
        .filter(({ overlayHex }) => !skip.has(overlayHex))
        .sort(
          (a, b) => inside(b) - inside(a) || tierOf(b) - tierOf(a) || closerTo(address, a.overlay, b.overlay),
        );
      expect(tiers.closest(address, radius, skip)?.overlayHex).toBe(expected?.overlayHex);
    }
  },
);
