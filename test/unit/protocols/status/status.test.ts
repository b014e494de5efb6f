import { expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createStatus, type StatusSnapshot } from '../../../../node/protocols/status/status.ts';
import { Get, Snapshot, STATUS } from '../../../../node/protocols/status/wire.ts';
import { type MemoryNode, startedNodes } from '../../p2p/memory-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const never = new AbortController().signal;

const SNAPSHOT: StatusSnapshot = {
  reserveSize: 5n,
  pullsyncRate: 0.25,
  storageRadius: 3,
  connectedPeers: 4n,
  neighborhoodSize: 2n,
  beeMode: 'full',
  batchCommitment: 2n ** 33n,
  isReachable: true,
  reserveSizeWithinRadius: 4n,
  lastSyncedBlock: 123n,
  committedDepth: 3,
  metrics: new Map([['pushsync_total_sent', '# TYPE x counter\nx 1\n']]),
};

async function nodes() {
  const clock = new ManualClock();
  const [a, b] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  const [ours] = [a, b].map(({ host }) =>
    createStatus({ host, clock, log: silentLogger(), snapshot: () => SNAPSHOT }),
  );
  return { a, b, clock, ours, peer: await a.host.connect([b.underlay()], never) };
}

test('a peer answers with its snapshot', async () => {
  const { ours, peer } = await nodes();
  expect(await ours?.request(peer, never)).toEqual(SNAPSHOT);
});

test('peers that speak status 1.1.2 are answered, too', async () => {
  const { a, peer } = await nodes();
  const stream = await a.host.open(peer, '/swarm/status/1.1.2/status', { signal: never });
  await stream.write(Get, {});
  expect(await stream.read(Snapshot)).toEqual(SNAPSHOT);
  await stream.close();
});

test('a peer that does not answer within ten seconds has no status', async () => {
  const clock = new ManualClock();
  const [a, b] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  const stuck = Promise.withResolvers<void>();
  b.host.handle(STATUS, () => stuck.promise);
  const ours = createStatus({ host: a.host, clock, log: silentLogger(), snapshot: () => SNAPSHOT });
  const peer = await a.host.connect([b.underlay()], never);
  const request = expect(ours.request(peer, never)).rejects.toMatchObject({
    code: 'TIMEOUT',
    afterMs: 10_000,
  });
  await clock.advance(10_000);
  await request;
  stuck.resolve();
});

test('a request ends when its peer leaves, and by then the peer is known to have left', async () => {
  const [a, b] = (await startedNodes(2)) as [MemoryNode, MemoryNode];
  const asked = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<void>();
  b.host.handle(STATUS, () => {
    asked.resolve();
    return stuck.promise;
  });
  const ours = createStatus({
    host: a.host,
    clock: new ManualClock(),
    log: silentLogger(),
    snapshot: () => SNAPSHOT,
  });
  const peer = await a.host.connect([b.underlay()], never);
  const hasLeft = ours.request(peer, never).catch(() => peer.closed.aborted);
  await asked.promise;
  await b.host.stop();
  expect(await hasLeft).toBe(true);
  stuck.resolve();
});

test('a peer that asks nothing for ten seconds is not waited for', async () => {
  const { a, clock, peer } = await nodes();
  const stream = await a.host.open(peer, STATUS.id, { signal: never });
  const ended = expect(stream.read(Snapshot)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await clock.advance(10_000);
  await ended;
});
