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
    counters.disconnected(peer.overlayHex);
  }
  await counters.flush();
  return { state, counters, proven: () => new PeerCounters({ clock, state }).proven() };
}

test('total times survive a restart', async () => {
  const { proven } = await stored();
  expect(proven()).toEqual([gone!.overlayHex, kept!.overlayHex]);
});

test('a forgotten peer has no stored record', async () => {
  const { counters, proven } = await stored();
  counters.forget(gone!.overlayHex);
  await counters.flush();
  expect(proven()).toEqual([kept!.overlayHex]);
});

test('a peer that comes back after it was forgotten starts from nothing', async () => {
  const { counters, proven, state } = await stored();
  counters.forget(gone!.overlayHex);
  counters.connected(gone!);
  await clock.advance(1_000);
  counters.disconnected(gone!.overlayHex);
  await counters.flush();
  expect(proven()).toEqual([gone!.overlayHex, kept!.overlayHex]);
  expect(new PeerCounters({ clock, state }).snapshot(gone!.overlayHex)).toMatchObject({
    connectionTotalDuration: 1,
  });
});

test('all but the named peers are forgotten at once', async () => {
  const { counters, proven } = await stored();
  counters.retain((id) => id === kept!.overlayHex);
  await counters.flush();
  expect(counters.proven()).toEqual([kept!.overlayHex]);
  expect(proven()).toEqual([kept!.overlayHex]);
});

test('what a disk without room did not take is written by the next flush', async () => {
  const disk = { full: false };
  const { counters, proven, state } = await stored(disk);
  counters.forget(gone!.overlayHex);
  counters.connected(kept!);
  await clock.advance(4_000);
  counters.disconnected(kept!.overlayHex);
  disk.full = true;
  await expect(counters.flush()).rejects.toThrow('no space');
  expect(proven()).toEqual([gone!.overlayHex, kept!.overlayHex]);
  disk.full = false;
  await counters.flush();
  expect(proven()).toEqual([kept!.overlayHex]);
  expect(new PeerCounters({ clock, state }).snapshot(kept!.overlayHex)).toMatchObject({
    connectionTotalDuration: 6,
  });
});
