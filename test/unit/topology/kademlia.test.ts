import { expect, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { TARGET_DIALS } from '../../../node/topology/dial-targets.ts';
import { fillableRecords, memoryRecords } from '../p2p/memory-nodes.ts';
import { everybodyHome, id, otherPeerId, peerId, table, underlayOf } from './table.ts';

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

/** Twelve of the first bin, eleven of them in one slot and the last in another, and one of the second bin. */
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
  // No peer answers, so all are tried.
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
  // This table's chance is always zero: the first one changes places with the last one, then with the last but one.
  expect(dialledAgain()).toEqual(['90', 'c0', '80'].map((peer) => underlayOf(id(peer))));
  await again.stop();
  await kademlia.stop();
  expect(dialled()).toEqual([]);
});

test('nodes that were given the same records are not announced to each other, all others are', async () => {
  const given = new Set(['80', '40'].map(id));
  const { kademlia, clock, connect, announced } = table({}, undefined, {
    isCommon: (peer) => given.has(peer),
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
  // It stays this time.
  expect(dialled()).toEqual([bootnode]);
  await clock.advance(10_000);
  disconnect(id('80'));
  await clock.settle();
  expect(dialled()).toEqual([bootnode]);
  disconnect(id('80'));
  await clock.advance(50);
  expect(dialled()).toEqual([bootnode]);
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
  // From now on it is a known peer like any other.
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

test('a neighbour is announced to all neighbours, and hears of them', async () => {
  const { kademlia, clock, connect, announced } = table();
  await kademlia.start();
  for (const prefix of ['80', '81', '82', '40']) connect(id(prefix));
  await clock.settle();
  announced.length = 0;
  connect(id('20'));
  await clock.settle();
  const others = ['80', '81', '82', '40'].map(id);
  expect(announced).toEqual([
    ...others.map((to) => ({ to, about: [id('20')] })),
    { to: id('20'), about: others },
  ]);
});

test.each([
  [7, 'all', ['80', '81', '82', '83', '84', '85', '86', '40']],
  [8, 'two', ['86', '87', '40']],
])(
  'beyond the radius a bin of %i peers lets %s of them hear of a new one',
  async (count, _some, audience) => {
    const { kademlia, clock, net, connect, announced } = table({ storageRadius: () => 8 });
    await kademlia.start();
    for (let i = 0; i < count; i++) connect(id((0x80 + i).toString(16)));
    connect(id('40'));
    await clock.settle();
    announced.length = 0;
    net.probe = unreachable;
    connect(id('20'));
    await clock.settle();
    expect(announced).toEqual([
      ...audience.map((prefix) => ({ to: id(prefix), about: [id('20')] })),
      { to: id('20'), about: audience.map(id) },
    ]);
  },
);

test('peers that were there before a peer proved reachable hear of it then, and only once', async () => {
  const { kademlia, clock, net, connect, disconnect, announced } = table({ storageRadius: () => 8 });
  const probed = Promise.withResolvers<void>();
  net.probe = () => probed.promise;
  await kademlia.start();
  for (const prefix of ['80', '40']) connect(id(prefix));
  await clock.settle();
  expect(announced).toEqual([]);
  probed.resolve();
  await clock.settle();
  const about80 = { to: id('40'), about: [id('80')] };
  const about40 = { to: id('80'), about: [id('40')] };
  expect(announced).toHaveLength(2);
  expect(announced).toEqual(expect.arrayContaining([about80, about40]));
  // It may have another address now.
  announced.length = 0;
  disconnect(id('40'));
  connect(id('40'));
  await clock.settle();
  expect(announced).toEqual([about40, about80]);
});

test('a peer that failed one probe is announced to others after the next', async () => {
  const { kademlia, clock, net, connect, announced } = table({ storageRadius: () => 8 });
  net.probe = unreachable;
  await kademlia.start();
  for (const prefix of ['80', '40']) connect(id(prefix));
  await clock.settle();
  net.probe = async () => undefined;
  await clock.advance(15_000);
  expect(announced.map(({ to }) => to).sort()).toEqual([id('40'), id('80')]);
});

test('a failed announcement is repeated when the peer proves reachable', async () => {
  const { kademlia, clock, net, connect, announced } = table();
  const probed = Promise.withResolvers<void>();
  net.probe = () => probed.promise;
  net.announce = (to) => {
    if (to === id('80')) throw new Error('no answer');
  };
  await kademlia.start();
  for (const prefix of ['80', '40']) connect(id(prefix));
  await clock.settle();
  expect(announced.splice(0)).toEqual([{ to: id('40'), about: [id('80')] }]);
  net.announce = () => undefined;
  probed.resolve();
  await clock.settle();
  expect(announced).toEqual([{ to: id('80'), about: [id('40')] }]);
});

test('a light peer hears of others, is not announced, and is not in the table', async () => {
  const { kademlia, clock, connect, announced } = table();
  await kademlia.start();
  connect(id('80'));
  connect(id('40'), 'inbound', false);
  await clock.settle();
  expect(announced).toEqual([{ to: id('40'), about: [id('80')] }]);
  expect(kademlia.snapshot()).toMatchObject({ connected: 1, lightNodes: { connected: 1 } });
  connect(id('20'));
  connect(id('10'), 'outbound');
  await clock.settle();
  expect(announced).toContainEqual({ to: id('40'), about: [id('20')] });
  expect(announced).toContainEqual({ to: id('40'), about: [id('10')] });
});

test('the hundred-and-first light peer displaces another one', async () => {
  const { kademlia, connect, drops } = table();
  await kademlia.start();
  for (let i = 0; i <= 100; i++) connect(id(`4${i.toString(16).padStart(3, '0')}`), 'inbound', false);
  expect(drops).toHaveLength(1);
  expect(kademlia.snapshot().lightNodes.connected).toBe(100);
});

test('a newcomer that cannot be told about others is disconnected', async () => {
  const { kademlia, clock, connect, net, drops } = table();
  await kademlia.start();
  connect(id('80'));
  net.announce = (to) => {
    if (to === id('40')) throw new Error('no answer');
  };
  connect(id('40'));
  await clock.settle();
  expect(drops).toEqual(['40 failed broadcasting to peer']);
});

test('a bin of eighteen reachable peers takes no further inbound peer', async () => {
  const { kademlia, clock, connect, picks, drops } = table();
  await kademlia.start();
  for (let i = 0; i < 18; i++) {
    expect(picks(id((0x80 + i).toString(16)))).toBe(true);
    connect(id((0x80 + i).toString(16)));
  }
  await clock.settle();
  expect(picks(id('f0'))).toBe(false);
  expect(picks(id('40'))).toBe(true);
  connect(id('f0'));
  expect(drops).toEqual(['f0 oversaturated']);
  connect(id('f1'), 'outbound');
  expect(kademlia.snapshot().bins[0]?.connected).toBe(19);
});

test('every five minutes bins below the radius give up peers that share a slot', async () => {
  const { kademlia, clock, connect, drops } = table({ storageRadius: () => 1 });
  await kademlia.start();
  for (let i = 0; i < 20; i++) connect(id((0x80 + i).toString(16)), 'outbound');
  await clock.advance(300_000);
  expect(drops).toEqual(['80 pruned from oversaturated bin', '88 pruned from oversaturated bin']);
  expect(kademlia.snapshot().bins[0]?.connected).toBe(18);
});

test('the closest peer is the one at the smallest distance that is not skipped, or the node itself', async () => {
  const { kademlia, connect } = table();
  await kademlia.start();
  for (const prefix of ['80', 'c0', '40']) connect(id(prefix));
  const closest = (prefix: string, skip: string[] = [], includeSelf = false) => {
    const choice = kademlia.closestPeer(fromHex(id(prefix)), { skip: new Set(skip.map(id)), includeSelf });
    return choice === 'self' || choice === undefined ? choice : choice.overlayHex.slice(0, 2);
  };
  expect(closest('ff')).toBe('c0');
  expect(closest('ff', ['c0'])).toBe('80');
  expect(closest('01')).toBe('40');
  expect(closest('01', [], true)).toBe('self');
  expect(closest('41', [], true)).toBe('40');
  expect(closest('ff', ['80', 'c0', '40'])).toBeUndefined();
  expect(closest('ff', ['80', 'c0', '40'], true)).toBe('self');
});

test('neighbours are the peers within the storage radius', async () => {
  let radius = 1;
  const { kademlia, connect } = table({ storageRadius: () => radius });
  await kademlia.start();
  for (const prefix of ['80', '40', '20']) connect(id(prefix));
  expect(kademlia.neighbours().map((peer) => peer.overlayHex.slice(0, 2))).toEqual(['40', '20']);
  radius = 2;
  expect(kademlia.neighbours().map((peer) => peer.overlayHex.slice(0, 2))).toEqual(['20']);
  expect(kademlia.snapshot().depth).toBe(2);
});

test('a changed radius takes effect at once: a bin that is now below it is balanced', async () => {
  let radius = 0;
  const { kademlia, net, know, dialled, clock } = table({ storageRadius: () => radius });
  everybodyHome(net);
  await kademlia.start();
  const spread = Array.from({ length: 13 }, (_, i) => id((0x80 + i * 8).toString(16)));
  await know(spread);
  expect(dialled()).toHaveLength(4);
  let changes = 0;
  kademlia.onChange(() => changes++);
  radius = 4;
  kademlia.radiusChanged();
  expect(changes).toBe(1);
  await clock.settle();
  expect(dialled()).toEqual(spread.slice(4).map((overlay) => underlayOf(overlay)));
});

test('a snapshot shows how long a peer has been connected, even across restarts', async () => {
  const state = memoryRecords();
  const { kademlia, clock, connect, disconnect } = table({}, state);
  await kademlia.start();
  connect(id('80'));
  kademlia.measured(id('80'), 10.4);
  kademlia.measured(id('80'), 20.9);
  await clock.advance(5_900);
  // Whole numbers: clients decode integers.
  expect(kademlia.snapshot().bins[0]?.connectedPeers).toMatchObject([
    {
      address: id('80'),
      metrics: {
        sessionConnectionDuration: 5,
        connectionTotalDuration: 5,
        sessionConnectionDirection: 'inbound',
        latencyEWMA: 11,
        reachability: 'Public',
      },
    },
  ]);
  disconnect(id('80'));
  await kademlia.stop();
  const again = table({}, state);
  await again.kademlia.start();
  await again.clock.settle();
  expect(again.kademlia.snapshot().population).toBe(0);
  again.connect(id('80'));
  expect(again.kademlia.snapshot().bins[0]?.connectedPeers[0]?.metrics?.connectionTotalDuration).toBe(5);
});

test('a stopped table has no timer left', async () => {
  const { kademlia, clock, connect } = table({ bootnodes: [`/ip4/10.0.0.1/tcp/1/p2p/${peerId}`] });
  await kademlia.start();
  await clock.settle();
  connect(id('80'));
  await kademlia.stop();
  const before = kademlia.snapshot();
  await clock.advance(1_000_000);
  expect({ ...kademlia.snapshot(), bins: [] }).toEqual({ ...before, bins: [] });
});

const unreachable = async () => {
  throw new HostError('DIAL_FAILED', 'nobody there');
};

test('unreached peers do not fill a bin', async () => {
  const { kademlia, clock, net, connect, picks } = table();
  net.probe = unreachable;
  await kademlia.start();
  for (let i = 0; i < 30; i++) connect(id((0x80 + i).toString(16)));
  await clock.settle();
  expect(picks(id('f0'))).toBe(true);
  expect(kademlia.snapshot().bins[0]?.connectedPeers[0]?.metrics?.reachability).toBe('Private');
});

test('an overfull bin gives up an unhealthy peer first, then the last unreached one', async () => {
  const { kademlia, clock, net, connect, drops } = table({ storageRadius: () => 1 });
  await kademlia.start();
  // Slots 0 to 3, two peers too many of which can be reached.
  const overlays = Array.from({ length: 24 }, (_, i) => id((0x80 + i).toString(16)));
  const walled = ['90', '92'].map((prefix) => underlayOf(id(prefix)));
  net.probe = async (underlay) => {
    if (walled.includes(underlay)) await unreachable();
  };
  for (const overlay of overlays) {
    connect(overlay, walled.includes(underlayOf(overlay)) ? 'inbound' : 'outbound');
    await clock.settle();
    kademlia.rated(overlay, { healthy: overlay !== id('83') });
  }
  await clock.advance(300_000);
  expect(drops).toEqual(['83', '88', '92'].map((prefix) => `${prefix} pruned from oversaturated bin`));
});

test('beyond the radius only peers that others can reach are named', async () => {
  const { kademlia, clock, net, connect, announced } = table({ storageRadius: () => 8 });
  await kademlia.start();
  connect(id('80'));
  await clock.settle();
  net.probe = unreachable;
  connect(id('81'));
  await clock.settle();
  announced.length = 0;
  connect(id('40'));
  await clock.settle();
  expect(announced).toEqual([
    { to: id('80'), about: [id('40')] },
    { to: id('40'), about: [id('80')] },
  ]);
});

test('neighbours hear of each other whether or not they are reachable, and again every quarter of an hour', async () => {
  const { kademlia, clock, net, connect, announced } = table();
  net.probe = unreachable;
  await kademlia.start();
  connect(id('80'));
  connect(id('40'));
  await clock.settle();
  const news = [
    { to: id('80'), about: [id('40')] },
    { to: id('40'), about: [id('80')] },
  ];
  expect(announced.splice(0)).toEqual(news);
  await clock.advance(900_000);
  expect(announced).toEqual(news);
});

test('a newly connected peer is used at once, a healthy reachable one is preferred', async () => {
  const { kademlia, clock, net, connect } = table();
  const probe = Promise.withResolvers<void>();
  net.probe = () => probe.promise;
  await kademlia.start();
  connect(id('80'));
  connect(id('c0'));
  const closest = () => {
    const choice = kademlia.closestPeer(fromHex(id('ff')), { skip: new Set(), includeSelf: false });
    return choice === 'self' ? choice : choice?.overlayHex;
  };
  expect(closest()).toBe(id('c0'));
  kademlia.rated(id('80'), { healthy: true, latencyMs: 4 });
  expect(closest()).toBe(id('c0'));
  probe.resolve();
  await clock.settle();
  expect(closest()).toBe(id('80'));
  expect(kademlia.snapshot().bins[0]?.connectedPeers[0]?.metrics).toMatchObject({
    reachability: 'Public',
    healthy: true,
    latencyEWMA: 4,
  });
  kademlia.rated(id('c0'), { healthy: true });
  expect(closest()).toBe(id('c0'));
  kademlia.rated(id('c0'), { healthy: false });
  expect(closest()).toBe(id('80'));
});

test('a peer in the neighbourhood of a chunk comes before a healthy one, by the current storage radius', async () => {
  let radius = 1;
  const { kademlia, clock, connect } = table({ storageRadius: () => radius });
  await kademlia.start();
  for (const prefix of ['80', 'c0']) connect(id(prefix));
  kademlia.rated(id('80'), { healthy: true });
  await clock.settle();
  const closest = () => kademlia.closestPeer(fromHex(id('ff')), { skip: new Set(), includeSelf: false });
  expect(closest()).toMatchObject({ overlayHex: id('80') });
  radius = 2;
  expect(closest()).toMatchObject({ overlayHex: id('c0') });
  radius = 3;
  expect(closest()).toMatchObject({ overlayHex: id('80') });
});

test('a node that others cannot reach is never the closest', async () => {
  const { kademlia, connect } = table({ reachable: false });
  await kademlia.start();
  const own = { skip: new Set<string>(), includeSelf: true };
  expect(kademlia.closestPeer(fromHex(id('00')), own)).toBeUndefined();
  connect(id('80'));
  expect(kademlia.closestPeer(fromHex(id('00')), own)).toMatchObject({ overlayHex: id('80') });
  expect(kademlia.snapshot().reachability).toBe('Private');
});

/** The address of a bootnode whose overlay is `overlayHex`. */
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
  // No more than four dials start within a second.
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
