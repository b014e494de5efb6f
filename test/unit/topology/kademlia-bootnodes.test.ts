import { expect, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { type Logger, silentLogger } from '../../../node/env/logger.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { everybodyHome, id, otherPeerId, peerId, table, underlayOf } from './table.ts';

test('without a peer the bootnodes are dialled again, quickly at first', async () => {
  const bootnode = `/ip4/10.0.0.1/tcp/1634/p2p/${peerId}`;
  const { kademlia, clock, net, dialled } = table({ bootnodes: [bootnode] });
  await kademlia.start();
  await clock.settle();
  expect(dialled()).toEqual([bootnode]);
  await clock.advance(50);
  expect(dialled()).toEqual([bootnode]);
  await clock.advance(99);
  expect(dialled()).toEqual([]);
  net.dial = () => id('80');
  await clock.advance(1);
  expect(dialled()).toEqual([bootnode]);
  await clock.advance(60_000);
  expect(dialled()).toEqual([]);
  expect(kademlia.closestPeer(fromHex(id('ff')), { skip: new Set(), includeSelf: false })).toMatchObject({
    overlayHex: id('80'),
  });
});

test('bootnodes whose names do not resolve yet are dialled again within a second of when they do', async () => {
  const bootnode = `/dns4/node-0/tcp/1634/p2p/${peerId}`;
  const { kademlia, clock, net, dialled } = table({ bootnodes: [bootnode] });
  net.dial = () => {
    throw new HostError('DIAL_FAILED', 'getaddrinfo ENOTFOUND node-0');
  };
  await kademlia.start();
  await clock.advance(50_000);
  expect(dialled().length).toBeGreaterThan(50);
  net.dial = () => id('80');
  await clock.advance(1_000);
  expect(dialled()).toEqual([bootnode]);
  expect(kademlia.connectedCount()).toBe(1);
});

test('bootnodes that stay silent for a minute are dialled every 20 s', async () => {
  const { kademlia, clock, net, dialled } = table({ bootnodes: [bootnodeOf(id('80'))] });
  net.dial = () => {
    throw new HostError('DIAL_FAILED', 'nobody there');
  };
  await kademlia.start();
  await clock.advance(90_000);
  dialled();
  await clock.advance(60_000);
  expect(dialled()).toHaveLength(3);
});

test('a bootnode that refuses connections after a silence is dialled again after longer and longer pauses', async () => {
  const bootnode = bootnodeOf(id('80'));
  const { kademlia, clock, net, dialled } = table({ bootnodes: [bootnode] });
  net.dial = () => {
    throw new HostError('DIAL_FAILED', 'nobody there');
  };
  await kademlia.start();
  await clock.advance(20_000);
  dialled();
  net.dial = () => {
    throw new HostError('HANDSHAKE_FAILED', 'refused');
  };
  await clock.advance(1000);
  expect(dialled()).not.toEqual([]);
  await clock.advance(20_000);
  const passes = dialled().length;
  expect(passes).toBeGreaterThan(3);
  expect(passes).toBeLessThan(10);
});

test('a bootnode that ends each connection at once is dialled again after longer and longer pauses', async () => {
  const bootnode = bootnodeOf(id('80'));
  const { kademlia, clock, net, dialled, disconnect } = table({ bootnodes: [bootnode] });
  everybodyHome(net);
  await kademlia.start();
  await clock.settle();
  for (const pause of [50, 100, 200, 400]) {
    expect(dialled()).toEqual([bootnode]);
    disconnect(id('80'));
    await clock.advance(pause - 1);
    expect(dialled()).toEqual([]);
    await clock.advance(1);
  }
  expect(dialled()).toEqual([bootnode]);
  await clock.advance(10_000);
  disconnect(id('80'));
  await clock.settle();
  expect(dialled()).toEqual([bootnode]);
  disconnect(id('80'));
  await clock.advance(50);
  expect(dialled()).toEqual([bootnode]);
});

test('a node that no bootnode keeps says so every sixth time, with what came of each', async () => {
  const [full, down] = [bootnodeOf(id('80')), bootnodeOf(id('40'))];
  const told: unknown[] = [];
  const log: Logger = { ...silentLogger(), info: (...line: readonly unknown[]) => void told.push(line) };
  const { kademlia, clock, net, disconnect } = table({ bootnodes: [full, down] }, memoryRecords(), { log });
  net.dial = (underlay) => {
    if (underlay === down) throw new HostError('DIAL_FAILED', 'nobody there');
    return id('80');
  };
  await kademlia.start();
  const passes = async (from: number) => {
    const before = told.length;
    for (let pass = from; pass < from + 6; pass++) {
      await clock.settle();
      expect(told).toHaveLength(before);
      disconnect(id('80'));
      await clock.advance(Math.min(50 * 2 ** (pass - 1), 20_000));
    }
  };
  await passes(1);
  const bootnodes = { [full]: 'connected, then ended by it: its log may say why', [down]: 'nobody there' };
  expect(told).toEqual([[{ bootnodes }, 'no bootnode keeps a connection to this node']]);
  await passes(7);
  expect(told).toHaveLength(2);
});

test('a bootnode that is in the address book is dialled once at the start', async () => {
  const bootnode = bootnodeOf(id('80'));
  const answer = Promise.withResolvers<string>();
  const { kademlia, clock, net, know, dialled } = table({ bootnodes: [bootnode] });
  net.dial = () => answer.promise;
  await know([id('80')]);
  await kademlia.start();
  await clock.settle();
  expect(dialled()).toEqual([bootnode]);
  answer.reject(new HostError('DIAL_FAILED', 'nobody there'));
  await clock.settle();
  expect(dialled()).toEqual([underlayOf(id('80'))]);
});

test('when the last peer leaves during a pass over the bootnodes, the next one follows after the shortest pause', async () => {
  const bootnode = bootnodeOf(id('80'));
  const answer = Promise.withResolvers<string>();
  const { kademlia, clock, net, connect, disconnect, dialled } = table({ bootnodes: [bootnode] });
  net.dial = () => answer.promise;
  await kademlia.start();
  connect(id('40'));
  await clock.advance(10_000);
  disconnect(id('40'));
  await clock.settle();
  answer.reject(new HostError('DIAL_FAILED', 'nobody there'));
  await clock.settle();
  expect(dialled()).toEqual([bootnode]);
  await clock.advance(49);
  expect(dialled()).toEqual([]);
  await clock.advance(1);
  expect(dialled()).toEqual([bootnode]);
});

test('known peers are dialled while a bootnode does not answer', async () => {
  const bootnode = bootnodeOf(id('80'), otherPeerId);
  const answer = Promise.withResolvers<string>();
  const { kademlia, clock, net, know, dialled } = table({ bootnodes: [bootnode] });
  everybodyHome(net);
  const home = net.dial;
  net.dial = (underlay) => (underlay === bootnode ? answer.promise : home(underlay));
  await know([id('40')]);
  await kademlia.start();
  await clock.settle();
  expect(dialled()).toEqual([bootnode, underlayOf(id('40'))]);
  expect(kademlia.peers().map((peer) => peer.overlayHex)).toEqual([id('40')]);
  answer.resolve(id('80'));
});

const bootnodeOf = (overlayHex: string, identity = peerId) =>
  underlayOf(overlayHex).replace(/[^/]+$/, identity ?? '');

test('a configured bootnode is used like any other peer', async () => {
  const { kademlia, clock, net } = table({ bootnodes: [bootnodeOf(id('80'))] });
  everybodyHome(net);
  await kademlia.start();
  await clock.settle();
  expect(kademlia.peers().map((peer) => peer.overlayHex)).toEqual([id('80')]);
});

test('a dedicated bootnode introduces peers and does nothing else', async () => {
  const { kademlia, clock, net, connect, announced } = table({
    bootnodes: [bootnodeOf(id('80'))],
    dedicatedBootnodes: true,
    storageRadius: () => 0,
  });
  everybodyHome(net);
  await kademlia.start();
  await clock.settle();
  expect(kademlia.snapshot()).toMatchObject({ connected: 1 });
  expect(kademlia.connectedCount()).toBe(1);
  expect(kademlia.peers()).toEqual([]);
  expect(kademlia.neighbours()).toEqual([]);
  expect(kademlia.isCutOff()).toBe(false);
  const any = { skip: new Set<string>(), includeSelf: false };
  expect(kademlia.closestPeer(fromHex(id('80')), any)).toBeUndefined();
  connect(id('40'), 'inbound', true, [`/ip4/8.8.4.4/tcp/1634/p2p/${otherPeerId}`]);
  await clock.settle();
  expect(announced).toEqual([]);
  expect(kademlia.closestPeer(fromHex(id('80')), any)).toMatchObject({ overlayHex: id('40') });
});

test.each([
  ['few', 9, 5],
  ['many', 10, 1],
])('a dedicated bootnode takes no place in a bin where %s nodes are known', async (_name, others, places) => {
  const { kademlia, clock, net, connect, know, dialled } = table({
    bootnodes: [bootnodeOf(id('f0'))],
    dedicatedBootnodes: true,
    storageRadius: () => 0,
  });
  everybodyHome(net);
  await kademlia.start();
  await clock.settle();
  for (const prefix of ['e0', 'e1', 'e2']) {
    connect(id(prefix), 'inbound', true, [`/ip4/8.8.4.4/tcp/1634/p2p/${otherPeerId}`]);
  }
  dialled();
  const answer = Promise.withResolvers<string>();
  net.dial = () => answer.promise;
  await know(Array.from({ length: others }, (_, i) => id((0x80 + i).toString(16))));
  // At most four dials start within a second.
  await clock.advance(5_000);
  expect(dialled()).toHaveLength(places);
  answer.reject(new HostError('HOST_CLOSED', 'the test is over'));
});

test('a node is cut off when it knows peers and none is connected', async () => {
  const { kademlia, clock, net, know } = table();
  await kademlia.start();
  expect(kademlia.isCutOff()).toBe(false);
  await know([id('80')]);
  expect(kademlia.isCutOff()).toBe(true);
  everybodyHome(net);
  await clock.advance(20_000);
  expect(kademlia.isCutOff()).toBe(false);
});

test('in bootnode mode only bootnodes are dialled', async () => {
  const bootnode = bootnodeOf(id('80'));
  const { kademlia, clock, net, know, dialled } = table({ bootnodeMode: true, bootnodes: [bootnode] });
  everybodyHome(net);
  await kademlia.start();
  await clock.settle();
  expect(dialled()).toEqual([bootnode]);
  await know(['40', '20'].map(id));
  await clock.advance(60_000);
  expect(dialled()).toEqual([]);
});

test('in bootnode mode a bin of twenty makes room for any newcomer', async () => {
  const { kademlia, clock, connect, picks, drops } = table({ bootnodeMode: true });
  await kademlia.start();
  const overlays = Array.from({ length: 21 }, (_, i) => id((0x80 + i).toString(16)));
  for (const overlay of overlays.slice(0, 20)) connect(overlay);
  await clock.settle();
  expect(picks(id('94'))).toBe(true);
  connect(id('94'));
  expect(drops).toEqual(['80 kicking out random peer to accommodate node']);
  expect(kademlia.snapshot().bins[0]?.connectedPeers.map(({ address }) => address)).toEqual(
    overlays.slice(1),
  );
});
