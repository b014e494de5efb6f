import { expect, test } from 'vitest';
import { PeerCounters } from '../../../node/topology/peer-counters.ts';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer } from './fake-peer.ts';

const clock = new ManualClock();
const [gone, kept] = [1, 2].map((byte) => fakePeer(new Uint8Array(32).fill(byte)));

async function stored() {
  const state = memoryRecords();
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
