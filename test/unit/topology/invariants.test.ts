import { fc, test as property } from '@fast-check/vitest';
import { expect } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { OVER_SATURATION } from '../../../node/topology/rules.ts';
import type { Topology } from '../../../node/topology/topology.ts';
import { id, table, underlayOf } from './table.ts';

const RETRY_MS = 20_000;
const REDIAL_MS = 10_000;

/** Most are in the first bin, so that it fills. */
const OVERLAYS = [
  ...Array.from({ length: 24 }, (_, i) => id((0x80 + i * 4).toString(16))),
  ...['40', '41', '60', '70', '20', '21', '30', '38'].map(id),
];

const anyPeer = fc.nat({ max: OVERLAYS.length - 1 }).map((i) => OVERLAYS[i] as string);
const step = fc.oneof(
  fc.record({ kind: fc.constant('know' as const), overlay: anyPeer }),
  fc.record({ kind: fc.constant('arrive' as const), overlay: anyPeer }),
  fc.record({ kind: fc.constant('leave' as const), overlay: anyPeer }),
  fc.record({ kind: fc.constant('turn' as const), overlay: anyPeer, home: fc.boolean(), open: fc.boolean() }),
  fc.record({ kind: fc.constant('rate' as const), overlay: anyPeer, healthy: fc.boolean() }),
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1, 5_000, 10_000, 20_000, 120_000, 600_000),
  }),
  fc.record({ kind: fc.constant('radius' as const), radius: fc.nat({ max: 3 }) }),
);

/** About a peer outside of the table. */
interface Truth {
  /** It answers dials. */
  home: boolean;
  /** It answers probes. */
  open: boolean;
  /** Since when, and how often in a row, dials have failed; last successful dial; when it left. */
  failedAt: number;
  failures: number;
  dialledAt: number;
  leftAt: number;
}

property.prop([fc.array(step, { maxLength: 60 })], { numRuns: 60 })(
  'the table is what is connected, and nobody is dialled more often than the rules allow',
  async (steps) => {
    let radius = 1;
    const { kademlia, clock, net, know, connect, disconnect, picks, peers } = table({
      storageRadius: () => radius,
    });
    const truths = new Map(OVERLAYS.map((overlay): [string, Truth] => [overlay, unknown()]));
    const of = (overlay: string) => truths.get(overlay) as Truth;
    const byUnderlay = new Map(OVERLAYS.map((overlay) => [underlayOf(overlay), overlay]));
    net.probe = async (underlay) => {
      if (!of(byUnderlay.get(underlay) as string).open) throw new HostError('DIAL_FAILED', 'a wall');
    };
    net.dial = (underlay) => {
      const overlay = byUnderlay.get(underlay) as string;
      const truth = of(overlay);
      const now = clock.monotonic();
      expect(peers.has(overlay), 'a connected peer is not dialled').toBe(false);
      expect(now - truth.failedAt, 'a failed dial rests').toBeGreaterThanOrEqual(RETRY_MS);
      expect(now - truth.leftAt, 'a lost peer rests').toBeGreaterThanOrEqual(RETRY_MS);
      expect(now - truth.dialledAt, 'a dialled peer rests').toBeGreaterThanOrEqual(REDIAL_MS);
      expect(truth.failures, 'a peer that never answers is given up').toBeLessThan(6);
      if (truth.home) {
        Object.assign(truth, { failures: 0, dialledAt: now });
        return overlay;
      }
      truth.failures++;
      truth.failedAt = now;
      throw new HostError('DIAL_FAILED', 'nobody there');
    };
    await kademlia.start();
    const leave = (overlay: string) => {
      disconnect(overlay);
      of(overlay).leftAt = clock.monotonic();
    };
    for (const now of steps) {
      switch (now.kind) {
        case 'know':
          if (!isKnown(kademlia, now.overlay))
            Object.assign(of(now.overlay), unknown(), { home: of(now.overlay).home });
          await know([now.overlay]);
          break;
        case 'arrive':
          if (peers.has(now.overlay) || !picks(now.overlay)) break;
          Object.assign(of(now.overlay), { failures: 0, failedAt: -Infinity, leftAt: -Infinity });
          connect(now.overlay);
          break;
        case 'leave':
          if (peers.has(now.overlay)) leave(now.overlay);
          break;
        case 'turn':
          of(now.overlay).home = now.home;
          of(now.overlay).open = now.open;
          break;
        case 'rate':
          if (peers.has(now.overlay)) kademlia.rated(now.overlay, { healthy: now.healthy });
          break;
        case 'wait':
          await clock.advance(now.ms);
          break;
        case 'radius':
          ({ radius } = now);
          kademlia.radiusChanged();
      }
      await clock.settle();
      const snapshot = kademlia.snapshot();
      const connected = snapshot.bins.flatMap((bin) => bin.connectedPeers.map(({ address }) => address));
      const known = new Set([
        ...connected,
        ...snapshot.bins.flatMap((bin) => bin.disconnectedPeers.map(({ address }) => address)),
      ]);
      expect(new Set(connected)).toEqual(new Set(peers.keys()));
      expect(snapshot.connected).toBe(connected.length);
      expect(snapshot.population).toBe(known.size);
      expect(new Set(kademlia.peers().map((peer) => peer.overlayHex))).toEqual(new Set(connected));
      expect(kademlia.neighbours().every((peer) => peers.has(peer.overlayHex))).toBe(true);
      for (const overlay of OVERLAYS.slice(0, 4)) {
        const choice = kademlia.closestPeer(fromHex(overlay), { skip: new Set(), includeSelf: false });
        expect(choice === undefined).toBe(peers.size === 0);
        if (choice !== undefined) expect(choice !== 'self' && peers.has(choice.overlayHex)).toBe(true);
      }
      const reachable = (snapshot.bins[0]?.connectedPeers ?? []).filter(
        ({ metrics }) => metrics?.reachability === 'Public',
      );
      expect(picks(id('fe'))).toBe(reachable.length < OVER_SATURATION);
    }
    await kademlia.stop();
  },
);

function unknown(): Truth {
  return {
    home: false,
    open: true,
    failedAt: -Infinity,
    failures: 0,
    dialledAt: -Infinity,
    leftAt: -Infinity,
  };
}

function isKnown(kademlia: Pick<Topology, 'snapshot'>, overlay: string): boolean {
  return kademlia
    .snapshot()
    .bins.some((bin) =>
      [...bin.connectedPeers, ...bin.disconnectedPeers].some(({ address }) => address === overlay),
    );
}
