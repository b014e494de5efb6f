import { expect, onTestFinished, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createSalud } from '../../../node/neighbourhood/salud.ts';
import { faultOf, normsOf, type PeerReport } from '../../../node/neighbourhood/salud-rules.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer } from '../topology/fake-peer.ts';

const USUAL: PeerReport = {
  committedDepth: 4,
  connectedPeers: 10n,
  batchCommitment: 100n,
  reserveSizeWithinRadius: 1000n,
  durationMs: 20,
  neighbour: false,
};
const reports = (...changes: Partial<PeerReport>[]) => changes.map((change) => ({ ...USUAL, ...change }));

test('the network radius is the most frequent depth, on a tie the lowest', () => {
  const radius = (...depths: number[]) =>
    normsOf(reports(...depths.map((committedDepth) => ({ committedDepth })))).networkRadius;
  expect(radius(5, 4, 5, 3)).toBe(5);
  expect(radius(5, 4, 5, 4)).toBe(4);
  expect(radius(200, 200, 3)).toBe(3);
  expect(radius(200)).toBe(0);
});

test('the radius of the neighbourhood is that of the neighbours', () => {
  const norms = normsOf(
    reports(
      { committedDepth: 4 },
      { committedDepth: 4 },
      { committedDepth: 6, neighbour: true },
      { committedDepth: 6, neighbour: true },
      { committedDepth: 4 },
    ),
  );
  expect(norms).toMatchObject({ networkRadius: 4, neighbourhoodRadius: 6 });
});

test('of ten peers the fifth fastest sets the norm for time, the ninth best connected that for connections', () => {
  const norms = normsOf(
    reports(
      ...Array.from({ length: 10 }, (_, i) => ({ durationMs: (i + 1) * 100, connectedPeers: BigInt(i + 1) })),
    ),
  );
  expect(norms).toMatchObject({ durationMsMax: 500, connectedPeersMin: 2n });
});

test.each([
  [{}, undefined],
  [{ committedDepth: 2 }, undefined],
  [{ committedDepth: 1 }, 'radius'],
  [{ durationMs: 30 }, undefined],
  [{ durationMs: 31 }, 'slow'],
  [{ connectedPeers: 9n }, 'few connections'],
  [{ connectedPeers: 11n }, undefined],
  [{ batchCommitment: 99n }, 'batch commitment'],
] as const)('a peer that differs from the norm by %o: %s', (change, fault) => {
  const norms = normsOf([USUAL]);
  expect(faultOf({ ...USUAL, ...change }, norms)).toBe(fault);
});

test.each([0, 1, 2])('at network radius %d no peer lies too low', (committedDepth) => {
  const norms = normsOf(reports({ committedDepth }));
  expect(faultOf({ ...USUAL, committedDepth: 0 }, norms)).toBeUndefined();
});

const SNAPSHOT: StatusSnapshot = {
  reserveSize: 0n,
  pullsyncRate: 0,
  storageRadius: 4,
  connectedPeers: 10n,
  neighborhoodSize: 1n,
  beeMode: 'full',
  batchCommitment: 100n,
  isReachable: true,
  reserveSizeWithinRadius: 0n,
  lastSyncedBlock: 1n,
  committedDepth: 4,
  metrics: new Map(),
};

function salud() {
  const clock = new ManualClock();
  const peers: Peer[] = [];
  const answers = new Map<string, () => Promise<Partial<StatusSnapshot>>>();
  const asked: string[] = [];
  const ratings: string[] = [];
  let connected: (peer: Peer) => void = () => undefined;
  const health = createSalud(
    { pauseMs: 10_000 },
    {
      clock,
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
      committedDepth: () => 4,
      reserveSize: () => 1000,
      host: {
        onConnected: (listener) => {
          connected = listener;
        },
      },
      topology: {
        peers: () => peers,
        neighbours: () => [],
        rated: (id, { healthy }) => ratings.push(`${id.slice(0, 2)} ${healthy ? 'healthy' : 'unhealthy'}`),
      },
      status: {
        async request(peer) {
          asked.push(peer.overlayHex.slice(0, 2));
          return { ...SNAPSHOT, ...(await answers.get(peer.overlayHex)?.()) };
        },
      },
    },
  );
  onTestFinished(() => health.stop());
  const radii: number[] = [];
  health.onNetworkRadius((radius) => radii.push(radius));
  const join = (prefix: string, answer: () => Promise<Partial<StatusSnapshot>> = async () => ({})) => {
    const peer = fakePeer(fromHex(prefix.padEnd(64, '0')));
    answers.set(peer.overlayHex, answer);
    peers.push(peer);
    connected(peer);
  };
  return { health, clock, join, radii, asked: () => asked.splice(0), ratings: () => ratings.splice(0) };
}

test('peers are asked after the warm-up, then after 10, 20, 40 s and so on up to every five minutes', async () => {
  const { health, clock, join, asked } = salud();
  join('80');
  await clock.settle();
  expect(asked()).toEqual([]);
  health.start();
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    await clock.settle();
    expect(asked()).toEqual(['80']);
    await clock.advance(seconds * 1000 - 1);
    expect(asked()).toEqual([]);
    await clock.advance(1);
  }
});

test('a peer that does not answer is unhealthy, a light peer is not rated', async () => {
  const { health, clock, join, ratings } = salud();
  join('80');
  join('40', async () => {
    throw new Error('no answer');
  });
  join('20', async () => ({ beeMode: 'light', committedDepth: 0 }));
  health.start();
  await clock.settle();
  expect(ratings()).toEqual(['40 unhealthy', '80 healthy']);
});

test('the network radius is reported when it is first known, and when it changes', async () => {
  const { health, clock, join, radii } = salud();
  let committedDepth = 4;
  join('80', async () => ({ committedDepth }));
  expect(health.networkRadius()).toBeUndefined();
  health.start();
  await clock.advance(30_000);
  expect(radii).toEqual([4]);
  committedDepth = 5;
  await clock.advance(40_000);
  expect(radii).toEqual([4, 5]);
  expect(health.networkRadius()).toBe(5);
});

test('the network radius stays unknown until a full peer answers; the first newcomer determines it', async () => {
  const { health, clock, join, radii } = salud();
  join('80', async () => ({ beeMode: 'light' }));
  health.start();
  await clock.advance(5_000);
  expect(health.networkRadius()).toBeUndefined();
  join('40');
  await clock.settle();
  expect(radii).toEqual([4]);
});

test('a peer that connects between two rounds is rated at once, by the norms of the last round', async () => {
  const { health, clock, join, asked, ratings } = salud();
  join('80');
  health.start();
  await clock.settle();
  asked();
  ratings();
  join('40', async () => ({ batchCommitment: 99n }));
  join('20');
  await clock.settle();
  expect(asked()).toEqual(['40', '20']);
  expect(ratings()).toEqual(['40 unhealthy', '20 healthy']);
});

test('a peer that connects while a round runs is rated afterwards', async () => {
  const { health, clock, join, ratings } = salud();
  const slow = Promise.withResolvers<Partial<StatusSnapshot>>();
  join('80', () => slow.promise);
  health.start();
  await clock.settle();
  join('40');
  await clock.settle();
  expect(ratings()).toEqual([]);
  slow.resolve({});
  await clock.settle();
  expect(ratings()).toEqual(['80 healthy', '40 healthy']);
});

test('a round waits until no peer has arrived for five pauses, at most thirty', async () => {
  const { health, clock, join, asked } = salud();
  join('80');
  health.start();
  await clock.settle();
  asked();
  for (const [ms, prefix] of [
    [8_000, '41'],
    [45_000, '42'],
    [45_000, '43'],
  ] as const) {
    await clock.advance(ms);
    join(prefix);
    await clock.settle();
    expect(asked()).toEqual([prefix]);
  }
  await clock.advance(49_999);
  expect(asked()).toEqual([]);
  await clock.advance(1);
  expect(asked()).toEqual(['80', '41', '42', '43']);

  // The next one is due after 20 s; from then on its patience counts.
  const rounds: number[] = [];
  for (let second = 10; second <= 340; second += 10) {
    await clock.advance(10_000);
    join('20');
    await clock.settle();
    if (asked().length > 1) rounds.push(second);
  }
  expect(rounds).toEqual([320]);
});

/** Seconds at which rounds take place, counted in tens. */
async function roundsIn({ clock, asked }: ReturnType<typeof salud>, seconds: number): Promise<number[]> {
  const rounds: number[] = [];
  for (let second = 10; second <= seconds; second += 10) {
    await clock.advance(10_000);
    if (asked().length > 0) rounds.push(second);
  }
  return rounds;
}

test('the pause doubles up to five minutes, and starts small again when a radius changes', async () => {
  const own = salud();
  let committedDepth = 4;
  own.join('80', async () => ({ committedDepth }));
  own.health.start();
  await own.clock.settle();
  own.asked();
  expect(await roundsIn(own, 1520)).toEqual([10, 30, 70, 150, 310, 610, 910, 1210, 1510]);
  own.health.radiusChanged();
  await own.clock.settle();
  expect(own.asked()).toEqual(['80']);
  expect(await roundsIn(own, 80)).toEqual([10, 30, 70]);
  committedDepth = 5;
  expect(await roundsIn(own, 150)).toEqual([70, 80, 100, 140]);
});

test('no peer is asked after the stop', async () => {
  const { health, clock, join, asked } = salud();
  join('80');
  health.start();
  await clock.settle();
  await health.stop();
  asked();
  join('40');
  await clock.advance(1_000_000);
  expect(asked()).toEqual([]);
});
