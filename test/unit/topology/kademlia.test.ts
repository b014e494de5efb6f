import { expect, test } from 'vitest';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { TARGET_DIALS } from '../../../node/topology/dial-targets.ts';
import { fillableRecords, memoryRecords } from '../p2p/memory-nodes.ts';
import { everybodyHome, id, table, underlayOf } from './table.ts';

test('peers learnt by gossip are dialled at once and become connected', async () => {
  const { kademlia, net, know, dialled } = table();
  everybodyHome(net);
  await kademlia.start();
  await know([id('80'), id('40')]);
  expect(dialled()).toEqual([underlayOf(id('80')), underlayOf(id('40'))]);
  expect(kademlia.snapshot()).toMatchObject({
    population: 2,
    connected: 2,
    networkAvailability: 'Available',
  });
});

test('a failed dial is repeated after 20 s, and the peer forgotten after the sixth', async () => {
  const { kademlia, clock, know, dialled, addressBook } = table();
  await kademlia.start();
  await know([id('80')]);
  for (let attempt = 1; attempt <= 6; attempt++) {
    expect(dialled()).toHaveLength(1);
    await clock.advance(19_999);
    expect(dialled()).toHaveLength(0);
    await clock.advance(1);
  }
  expect(dialled()).toHaveLength(0);
  expect(kademlia.snapshot().population).toBe(0);
  expect(addressBook.overlays()).toEqual([]);
});

test('a pause of all dials says nothing about a peer: its failures are remembered', async () => {
  const { kademlia, clock, net, know, dialled } = table();
  await kademlia.start();
  await know([id('80')]);
  await clock.advance(20_000);
  // Two dials in vain so far, of six.
  expect(dialled()).toHaveLength(2);
  const { dial } = net;
  net.dial = () => {
    throw new HostError('DIAL_PAUSED', 'all dials pause', { retryAfterMs: 120_000 });
  };
  await clock.advance(20_000);
  expect(dialled()).toHaveLength(1);
  net.dial = dial;
  await clock.advance(600_000);
  expect(dialled()).toHaveLength(4);
  expect(kademlia.snapshot().population).toBe(0);
});

test('a node that is known from the start but not up yet is dialled again soon, and forgotten later', async () => {
  const { kademlia, clock, know, dialled } = table({}, undefined, { isCommon: () => true });
  await kademlia.start();
  await know([id('80')]);
  expect(dialled()).toHaveLength(1);
  const eager = Array.from({ length: 60 }, () => 1000);
  for (const pause of [...eager, ...Array.from({ length: 5 }, () => 20_000)]) {
    await clock.advance(pause - 1);
    expect(dialled()).toHaveLength(0);
    await clock.advance(1);
    expect(dialled()).toHaveLength(1);
  }
  expect(kademlia.snapshot().population).toBe(0);
});

test.each([
  ['known from the start', true, 1000],
  ['learnt by gossip', false, 20_000],
])('a node %s that is lost is dialled again after its pause', async (_name, known, pause) => {
  const { kademlia, clock, net, know, disconnect, dialled } = table({}, undefined, { isCommon: () => known });
  everybodyHome(net);
  await kademlia.start();
  await know([id('80')]);
  await clock.advance(10_000);
  dialled();
  disconnect(id('80'));
  await clock.advance(pause - 1);
  expect(dialled()).toHaveLength(0);
  await clock.advance(1);
  expect(dialled()).toHaveLength(1);
});

test.each([
  ['outbound only', false],
  ['inbound as well', true],
])(
  'a node that ends each connection at once, %s, is dialled every second for a minute only',
  async (_name, calls) => {
    const { kademlia, clock, net, know, connect, disconnect, dialled } = table({}, undefined, {
      isCommon: () => true,
    });
    everybodyHome(net);
    await kademlia.start();
    await know([id('80')]);
    // Each end of a connection counts.
    const eager = Array.from({ length: calls ? 30 : 60 }, () => 1000);
    for (const pause of [...eager, 20_000, 20_000]) {
      expect(dialled()).toHaveLength(1);
      disconnect(id('80'));
      if (calls) {
        connect(id('80'));
        disconnect(id('80'));
      }
      await clock.advance(pause - 1);
      expect(dialled()).toHaveLength(0);
      await clock.advance(1);
    }
  },
);

test('beyond the radius it is forgotten after the fourth', async () => {
  const { kademlia, clock, know, dialled } = table({ storageRadius: () => 1 });
  await kademlia.start();
  await know(Array.from({ length: 16 }, (_, i) => id((0x80 + i * 8).toString(16))));
  for (let attempt = 1; attempt <= 4; attempt++) {
    expect(dialled()).toHaveLength(16);
    await clock.advance(20_000);
  }
  expect(kademlia.snapshot().population).toBe(0);
});

test.each([
  ['blocklisted', 'PEER_BLOCKLISTED', 1, 1],
  ['a light node', 'PEER_IS_LIGHT', 0, 0],
] as const)('a dialled peer that is %s', async (_name, code, population, stored) => {
  const { kademlia, net, know, addressBook } = table();
  net.dial = () => {
    throw new HostError(code, code);
  };
  await kademlia.start();
  await know([id('80')]);
  expect(kademlia.snapshot().population).toBe(population);
  expect(addressBook.overlays()).toHaveLength(stored);
});

test('a disk that takes no writes for a while ends no loop of the table', async () => {
  const disk = { full: false };
  const state = fillableRecords(disk);
  const { kademlia, clock, connect, announced } = table({}, state);
  await kademlia.start();
  for (const prefix of ['80', '40']) connect(id(prefix));
  disk.full = true;
  await clock.advance(300_000);
  expect([...state.entries('peer-')]).toEqual([]);
  disk.full = false;
  announced.length = 0;
  await clock.advance(600_000);
  expect([...state.entries('peer-')]).toHaveLength(2);
  expect(announced).toHaveLength(2);
});

test.each([
  ['a light node', { code: 'PEER_IS_LIGHT', dials: 1 }],
  ['nowhere', { code: 'DIAL_FAILED', dials: 6 }],
] as const)(
  'a peer found to be %s is forgotten even if the disk keeps its record',
  async (_name, { code, dials }) => {
    const disk = { full: false };
    const addressBook = createAddressBook(fillableRecords(disk));
    const { kademlia, clock, net, know, dialled } = table({}, undefined, { addressBook });
    net.dial = () => {
      throw new HostError(code, code);
    };
    await know([id('80')]);
    disk.full = true;
    await kademlia.start();
    await clock.advance(600_000);
    expect(dialled()).toHaveLength(dials);
    expect(kademlia.snapshot().population).toBe(0);
  },
);

test('a machine without a network draws no conclusions about its peers', async () => {
  const { kademlia, net, know, clock } = table();
  net.dial = () => {
    const cause = Object.assign(new Error('no route'), { code: 'ENETUNREACH' });
    throw new HostError('DIAL_FAILED', 'no route', { cause });
  };
  await kademlia.start();
  await know([id('80')]);
  await clock.advance(600_000);
  expect(kademlia.snapshot().population).toBe(1);
});

test('an overlay that answers for another one is dropped, and the other one forgotten', async () => {
  const { kademlia, net, know, drops } = table();
  net.dial = () => id('41');
  await kademlia.start();
  await know([id('80')]);
  expect(drops).toEqual(['41 overlay mismatch']);
  expect(kademlia.snapshot().bins[0]?.population).toBe(0);
});

test('a hundred overlays that claim one address cause only a few dials', async () => {
  const { kademlia, clock, know, dialled } = table();
  await kademlia.start();
  const claiming = Array.from({ length: 100 }, (_, i) => id((i + 0x10).toString(16)));
  await know(claiming, undefined, underlayOf(id('01')));
  expect(dialled()).toHaveLength(TARGET_DIALS.burst);
  await clock.advance(20_000);
  expect(dialled()).toHaveLength(1);
  for (let seconds = 0; seconds < 600; seconds += 20) await clock.advance(20_000);
  expect(dialled().length).toBeLessThanOrEqual(30);
  expect(kademlia.snapshot().population).toBe(0);
});

test('a connected peer stays when another overlay claims its address', async () => {
  const { kademlia, clock, connect, net, know, drops } = table();
  const there = connect(id('80'));
  await kademlia.start();
  await clock.advance(1);
  net.dial = () => there.overlayHex;
  await know([id('40')]);
  expect(drops).toEqual([]);
  expect(kademlia.snapshot()).toMatchObject({ population: 1, connected: 1 });
});

test('private addresses from gossip are dialled only where that is allowed', async () => {
  for (const allowPrivateCidrs of [false, true]) {
    const { kademlia, know, dialled } = table({ allowPrivateCidrs });
    await kademlia.start();
    await know([id('80')], '10.0');
    expect(dialled()).toHaveLength(allowPrivateCidrs ? 1 : 0);
    await kademlia.stop();
  }
});

test.each([
  ['dials peers', false],
  ['leaves it to peers to come', true],
])(
  'peers that come and go are forgotten unless they are in the address book, by a node that %s',
  async (_, bootnodeMode) => {
    const state = memoryRecords();
    const { kademlia, clock, connect, disconnect, know, net } = table({ bootnodeMode }, state);
    net.dial = () => {
      throw new HostError('PEER_BLOCKLISTED', 'not now');
    };
    const overlays = Array.from({ length: 200 }, (_, i) => id((0x1000 + i).toString(16)));
    const stored = () => [...state.entries('peer-')].map(([key]) => key.slice('peer-'.length));
    await kademlia.start();
    connect(id('80'));
    connect(id('60'), 'inbound', false);
    for (const overlay of overlays) {
      connect(overlay);
      await clock.advance(10);
      disconnect(overlay);
    }
    await know([overlays[7]!]);
    expect(kademlia.snapshot().population).toBe(201);
    await clock.advance(300_000);
    expect(kademlia.snapshot()).toMatchObject({ population: 2, connected: 1 });
    expect(stored()).toEqual([overlays[7], id('80')]);
    expect(kademlia.snapshot().lightNodes.connected).toBe(1);
  },
);

test('a peer without a record that is heard of again has all its dials', async () => {
  const { kademlia, clock, know, dialled, addressBook } = table();
  await kademlia.start();
  await know([id('80')]);
  for (let attempt = 1; attempt <= 4; attempt++) await clock.advance(20_000);
  await addressBook.remove(id('80'));
  await clock.advance(20_000);
  expect(kademlia.snapshot().population).toBe(0);
  expect(dialled()).toHaveLength(5);
  await know([id('80')]);
  expect(dialled()).toHaveLength(1);
  expect(kademlia.snapshot().population).toBe(1);
});

test('a peer of an earlier run that is not in the address book is not in the table', async () => {
  const state = memoryRecords();
  const earlier = table({}, state);
  await earlier.kademlia.start();
  for (const overlay of [id('80'), id('40')]) earlier.connect(overlay);
  await earlier.clock.advance(1_000);
  await earlier.kademlia.stop();
  // One that does not dial, which would find out.
  const { kademlia, know } = table({ bootnodeMode: true }, state);
  await know([id('40')]);
  await kademlia.start();
  expect(kademlia.snapshot().population).toBe(1);
});

test('blocklisted peers are not dialled', async () => {
  const { kademlia, know, dialled, blocked } = table();
  blocked.push({ overlay: id('80'), fullNode: true, reason: '', durationMs: 0, since: 0 });
  await kademlia.start();
  await know([id('80')]);
  expect(dialled()).toEqual([]);
});

/** Eleven of the first bin in one slot, one in another; one of the second bin. */
const CROWDED = [...Array.from({ length: 11 }, (_, i) => 0x8000 + i), 0xf800, 0x4000].map((n) =>
  id(n.toString(16)),
);

test('a bin below the radius is balanced first, then filled up to eight, with reachable peers', async () => {
  const { kademlia, clock, net, know, dialled } = table({ storageRadius: () => 4 });
  const away = new Set(CROWDED.slice(1, 3).map((overlay) => underlayOf(overlay)));
  everybodyHome(net);
  const home = net.dial;
  net.dial = (underlay) => {
    if (away.has(underlay)) throw new HostError('DIAL_FAILED', 'nobody there');
    return home(underlay);
  };
  await kademlia.start();
  await know(CROWDED);
  await clock.settle();
  const order = [0, 11, 1, 2, 3, 4, 5, 6, 7, 8, 12];
  expect(dialled()).toEqual(order.map((i) => underlayOf(CROWDED[i] as string)));
  await clock.advance(60_000);
  expect(dialled()).toEqual([]);
});

test('at radius 0 a bin is dialled until four are connected, starting with those that spread over it', async () => {
  const { kademlia, know, dialled } = table();
  await kademlia.start();
  await know(CROWDED);
  expect(dialled()).toHaveLength(CROWDED.length);
  await kademlia.stop();
  const other = table();
  everybodyHome(other.net);
  await other.kademlia.start();
  other.connect(id('8100'));
  await other.know(CROWDED);
  const order = [11, 0, 1, 12];
  expect(other.dialled()).toEqual(order.map((i) => underlayOf(CROWDED[i] as string)));
});

test('at radius 0 a bin is filled as usual while only a few nodes are known', async () => {
  const { kademlia, net, know, dialled } = table();
  everybodyHome(net);
  await kademlia.start();
  await know(CROWDED.slice(0, 12));
  expect(dialled()).toHaveLength(8);
});

test('four dials run at once, and more when these take long', async () => {
  const { kademlia, clock, net, know, dialled } = table();
  const waiting: ((overlayHex: string) => void)[] = [];
  net.dial = () => new Promise((resolve) => waiting.push(resolve));
  await kademlia.start();
  const peers = [0x80, 0x90, 0xa0, 0xb0, 0xc0, 0x40].map((n) => id(n.toString(16)));
  await know(peers);
  expect(dialled()).toEqual(peers.slice(0, 4).map((peer) => underlayOf(peer)));
  waiting[0]?.(id('80'));
  await clock.settle();
  expect(dialled()).toEqual([underlayOf(id('c0'))]);
  await clock.advance(999);
  expect(dialled()).toEqual([]);
  await clock.advance(1);
  expect(dialled()).toEqual([underlayOf(id('40'))]);
  for (const [at, answer] of waiting.entries()) answer(peers[at] as string);
});

test('stored addresses are dialled in random order', async () => {
  const { kademlia, addressBook, know, dialled } = table();
  await know(['80', '90', 'c0'].map(id));
  expect(addressBook.overlays()).toHaveLength(3);
  const { kademlia: again, dialled: dialledAgain } = table({}, undefined, { addressBook });
  await again.start();
  // The chance is always zero: the first changes places with the last, then with the last but one.
  expect(dialledAgain()).toEqual(['90', 'c0', '80'].map((peer) => underlayOf(id(peer))));
  await again.stop();
  await kademlia.stop();
  expect(dialled()).toEqual([]);
});

test('nodes that were given the same records are not announced to each other, all others are', async () => {
  const given = new Set(['80', '40'].map(id));
  const { kademlia, clock, connect, announced } = table({}, undefined, {
    knows: (peer, other) => given.has(peer) && given.has(other),
  });
  await kademlia.start();
  for (const peer of ['80', '40']) connect(id(peer));
  await clock.settle();
  expect(announced).toEqual([]);
  connect(id('c0'));
  await clock.settle();
  const told = announced.map(
    ({ to, about }) => `${to.slice(0, 2)}: ${about.map((peer) => peer.slice(0, 2)).join()}`,
  );
  expect(told.toSorted()).toEqual(['40: c0', '80: c0', 'c0: 80,40']);
});

test('a node is told of those that joined after it, and they need not be told of it', async () => {
  const [early, late] = [id('80'), id('40')];
  const { kademlia, clock, connect, announced } = table({}, undefined, {
    knows: (peer, other) => peer === late && other === early,
  });
  await kademlia.start();
  for (const peer of [early, late]) connect(peer);
  await clock.settle();
  expect(announced).toEqual([{ to: early, about: [late] }]);
});

test('a lost peer is dialled again after 20 s', async () => {
  const { kademlia, clock, net, know, dialled, disconnect } = table();
  everybodyHome(net);
  await kademlia.start();
  await know([id('80')]);
  dialled();
  disconnect(id('80'));
  expect(kademlia.snapshot()).toMatchObject({ population: 1, connected: 0 });
  await clock.advance(19_999);
  expect(dialled()).toEqual([]);
  await clock.advance(1);
  expect(dialled()).toEqual([underlayOf(id('80'))]);
});
