import { expect, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { everybodyHome, id, peerId, table, underlayOf } from './table.ts';

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

test('while a peer is told of another, it is told of all that come then in one message, afterwards', async () => {
  const { kademlia, clock, net, connect, announced } = table();
  await kademlia.start();
  connect(id('80'));
  await clock.settle();
  const underWay = Promise.withResolvers<void>();
  let messages = 0;
  net.announce = (to) => {
    if (to !== id('80')) return;
    messages++;
    return underWay.promise;
  };
  for (const other of ['40', '20', '10']) {
    connect(id(other));
    await clock.settle();
  }
  expect(messages).toBe(1);
  underWay.resolve();
  await clock.settle();
  expect(announced.filter(({ to }) => to === id('80'))).toEqual([
    { to: id('80'), about: [id('40')] },
    { to: id('80'), about: [id('20'), id('10')] },
  ]);
});

test('a peer that waits to be told of another when all neighbours are told again hears of it once', async () => {
  const { kademlia, clock, net, connect, announced } = table();
  await kademlia.start();
  connect(id('80'));
  await clock.advance(899_000);
  const underWay = Promise.withResolvers<void>();
  net.announce = (to) => (to === id('80') ? underWay.promise : undefined);
  for (const other of ['40', '20']) {
    connect(id(other));
    await clock.settle();
  }
  await clock.advance(2000);
  underWay.resolve();
  await clock.settle();
  expect(announced.filter(({ to }) => to === id('80'))).toEqual([
    { to: id('80'), about: [id('40')] },
    { to: id('80'), about: [id('20'), id('40')] },
  ]);
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
  // Slots 0 to 3; two peers too many can be reached.
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
