import { expect, test } from 'vitest';
import { HostError } from '../../../node/p2p/host.ts';
import { id, otherPeerId, peerId, table } from './table.ts';

const WANTED = `/ip4/10.0.0.1/tcp/1634/p2p/${peerId}`;
const OTHER = `/ip4/10.0.0.2/tcp/1634/p2p/${otherPeerId}`;

test('a node with fixed peers dials these until they are connected, and no peer that it hears of', async () => {
  const { kademlia, clock, net, dialled, know, connect, disconnect } = table({ onlyPeers: [WANTED] });
  await know([id('80'), id('90')]);
  await kademlia.start();
  await clock.settle();
  expect(dialled()).toEqual([WANTED]);
  await clock.advance(50);
  await clock.advance(100);
  expect(dialled()).toEqual([WANTED, WANTED]);
  net.dial = () => id('80');
  await clock.advance(60_000);
  const answered = dialled();
  expect(answered.at(-1)).toBe(WANTED);
  expect(new Set(answered)).toEqual(new Set([WANTED]));

  disconnect(id('80'));
  await clock.settle();
  expect(dialled()).toEqual([WANTED]);
  connect(id('80'), 'inbound', true, [WANTED]);
  await clock.advance(60_000);
  expect(dialled()).toEqual([]);
});

test('a node that misses one of its fixed peers is cut off, even before it has met any', async () => {
  const { kademlia, clock, net } = table({ onlyPeers: [WANTED] });
  await kademlia.start();
  await clock.settle();
  expect(kademlia.isCutOff()).toBe(true);
  net.dial = () => id('80');
  await clock.advance(60_000);
  expect(kademlia.isCutOff()).toBe(false);
});

test('a fixed light peer is waited for', async () => {
  const { kademlia, clock, net, dialled } = table({ onlyPeers: [WANTED, OTHER] });
  net.dial = (underlay) => {
    if (underlay === OTHER) throw new HostError('PEER_IS_LIGHT', 'target peer is a light node');
    return id('80');
  };
  await kademlia.start();
  await clock.settle();
  expect(dialled()).toEqual([WANTED, OTHER]);
  await clock.advance(60_000);
  expect(dialled()).toEqual([]);
  expect(kademlia.isCutOff()).toBe(false);
});

test('no bin of given peers is ever full', async () => {
  const { kademlia, clock, connect, picks, drops } = table({ onlyPeers: [WANTED] });
  await kademlia.start();
  await clock.settle();
  for (let peer = 0; peer < 40; peer++) {
    const overlay = id((0x80 + peer).toString(16));
    expect(picks(overlay)).toBe(true);
    connect(overlay, 'inbound', true, [WANTED]);
  }
  await clock.settle();
  expect([kademlia.snapshot().connected, drops]).toEqual([40, []]);
});
