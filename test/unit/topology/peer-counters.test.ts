import { expect, test } from 'vitest';
import { PeerCounters } from '../../../node/topology/peer-counters.ts';
import { fillableRecords } from '../p2p/memory-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer } from './fake-peer.ts';

const clock = new ManualClock();
const [gone, kept] = [1, 2].map((byte) => fakePeer(new Uint8Array(32).fill(byte)));

async function stored(disk = { full: false }) {
  const state = fillableRecords(disk);
  const counters = new PeerCounters({ clock, state });
  for (const peer of [gone!, kept!]) {
    counters.connected(peer);
    await clock.advance(2_000);
    counters.disconnected(peer.id);
  }
  await counters.flush();
  return { state, counters, proven: () => new PeerCounters({ clock, state }).proven() };
}

test('total times survive a restart', async () => {
  const { proven } = await stored();
  expect(proven()).toEqual([gone!.id, kept!.id]);
});

test('a forgotten peer has no stored record', async () => {
  const { counters, proven } = await stored();
  counters.forget(gone!.id);
  await counters.flush();
  expect(proven()).toEqual([kept!.id]);
});

test('a peer that comes back after it was forgotten starts from nothing', async () => {
  const { counters, proven, state } = await stored();
  counters.forget(gone!.id);
  counters.connected(gone!);
  await clock.advance(1_000);
  counters.disconnected(gone!.id);
  await counters.flush();
  expect(proven()).toEqual([gone!.id, kept!.id]);
  expect(new PeerCounters({ clock, state }).snapshot(gone!.id)).toMatchObject({ connectionTotalDuration: 1 });
});

test('all but the named peers are forgotten at once', async () => {
  const { counters, proven } = await stored();
  counters.retain((id) => id === kept!.id);
  await counters.flush();
  expect(counters.proven()).toEqual([kept!.id]);
  expect(proven()).toEqual([kept!.id]);
});

test('what a disk without room did not take is written by the next flush', async () => {
  const disk = { full: false };
  const { counters, proven, state } = await stored(disk);
  counters.forget(gone!.id);
  counters.connected(kept!);
  await clock.advance(4_000);
  counters.disconnected(kept!.id);
  disk.full = true;
  await expect(counters.flush()).rejects.toThrow('no space');
  expect(proven()).toEqual([gone!.id, kept!.id]);
  disk.full = false;
  await counters.flush();
  expect(proven()).toEqual([kept!.id]);
  expect(new PeerCounters({ clock, state }).snapshot(kept!.id)).toMatchObject({ connectionTotalDuration: 6 });
});
