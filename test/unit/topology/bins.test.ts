import { expect, test } from 'vitest';
import { Bins } from '../../../node/topology/bins.ts';
import { fakePeer } from './fake-peer.ts';

test('what stays of a peer that has left holds no memory of its message', () => {
  const bins = new Bins(new Uint8Array(32));
  const message = new Uint8Array(10_000).fill(0x80);
  const peer = fakePeer(message.subarray(100, 132));
  bins.connect(peer);
  bins.disconnect(peer);
  const [known, ...others] = bins.known(0);
  expect(others).toEqual([]);
  expect(known).toEqual({ overlayHex: peer.overlayHex, overlay: peer.overlay });
  expect(known?.overlay.buffer.byteLength).toBe(32);
});
