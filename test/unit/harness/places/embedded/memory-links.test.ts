import { expect, test } from 'vitest';
import { MemoryLinks } from '../../../../../harness/places/embedded/memory-links.ts';
import type { LinkConditions } from '../../../../../harness/places/links/conditions.ts';
import { linksOf } from '../../../../../harness/places/links/regions.ts';
import type { LastingLinks } from '../../../../../harness/places/links/rules.ts';
import { VirtualTime } from '../../../../../harness/places/simulated/virtual-time.ts';
import type { MemoryFrame } from '../../../../../node/p2p/memory-link.ts';

/** Nodes that send a byte per millisecond each. */
function limited() {
  const time = new VirtualTime();
  const links = new MemoryLinks({
    clock: time.clock,
    nameOf: (peerId) => peerId,
    lasting: linksOf({ bytesPerSecond: 1000 }, '1'),
    pairs: () => [],
  });
  const carry = (from: string, to: string, bytes: number, arrive: () => void) =>
    links.carry(
      { kind: 'data', from, to, protocolId: '', bytes: Buffer.alloc(bytes) },
      arrive,
      () => undefined,
    );
  return { time, links, carry };
}

function towards(to: string) {
  return { between: [[['node-0'], [to]]], oneWay: false, share: 1, seed: '1' } as const;
}

/** Their peer ids are their names. */
function pair(lasting?: LastingLinks) {
  const time = new VirtualTime();
  const arrived: string[] = [];
  let resets = 0;
  const links = new MemoryLinks({
    clock: time.clock,
    nameOf: (peerId) => peerId,
    lasting,
    pairs: () => [{ dialler: 'node-0', dialled: 'node-1', reset: () => void resets++ }],
  });
  const send = (what: string, { kind = 'data', from = 'node-0' }: Partial<MemoryFrame> = {}) => {
    const to = from === 'node-0' ? 'node-1' : 'node-0';
    const frame = { kind, from, to, protocolId: '', bytes: Buffer.from(what) };
    const arrive = () => void arrived.push(`${time.ms} ${what}`);
    if (links.idle) arrive();
    else links.carry(frame, arrive, () => void arrived.push(`${time.ms} refused`));
  };
  const begin = (conditions: LinkConditions, oneWay = false) =>
    links.begin('rule', { between: [[['node-0'], ['node-1']]], oneWay, share: 1, seed: '1', conditions });
  return { time, arrived, links, send, begin, resets: () => resets };
}

test('data between two nodes arrives half a round trip later, in order, on their clock', async () => {
  const { time, arrived, links, send, begin } = pair();
  await begin({ latencyMs: 200 });
  send('a');
  await time.advance(10);
  send('b');
  send('c', { from: 'node-1' });
  await time.advance(89);
  expect(arrived).toEqual([]);
  await time.advance(20);
  expect(arrived.toSorted()).toEqual(['100 a', '110 b', '110 c']);
  expect(await links.effect('rule')).toMatchObject({ 'bytes delayed': 3, 'connections delayed': 1 });
  await links.end('rule');
  expect(links.idle).toBe(true);
  send('d');
  expect(arrived.at(-1)).toBe('119 d');
});

test('opening a link takes a round trip', async () => {
  const { time, arrived, send, begin } = pair();
  await begin({ latencyMs: 200 });
  send('', { kind: 'dial' });
  await time.advance(199);
  expect(arrived).toEqual([]);
  await time.advance(1);
  expect(arrived).toEqual(['200 ']);
});

test('data held back arrives when the fault ends, before anything else', async () => {
  const { time, arrived, links, send, begin } = pair();
  await begin({ stall: true });
  send('a');
  send('', { kind: 'dial' });
  send('b');
  await time.advance(60_000);
  expect(arrived).toEqual([]);
  await links.end('rule');
  send('c');
  expect(arrived).toEqual(['60000 a', '60000 ', '60000 b', '60000 c']);
  expect(await links.effect('rule')).toMatchObject({ 'bytes held back': 2, 'connections held back': 1 });
});

test('swallowed data is lost, and so is the link when the fault ends; the other direction goes on', async () => {
  const { arrived, links, send, begin, resets } = pair();
  await begin({ halfOpen: true }, true);
  send('a');
  send('b', { from: 'node-1' });
  expect(arrived).toEqual(['0 b']);
  expect(resets()).toBe(0);
  await links.end('rule');
  expect(resets()).toBe(1);
  expect(await links.effect('rule')).toMatchObject({ 'bytes swallowed': 1 });
});

test('links are reset, refused and cut', async () => {
  const { arrived, links, send, begin, resets } = pair();
  await begin({ reset: true, refuse: true });
  expect(resets()).toBe(1);
  send('', { kind: 'dial' });
  expect(arrived).toEqual(['0 refused']);
  expect(await links.effect('rule')).toMatchObject({ 'connections reset': 1, 'connections refused': 1 });
  await links.end('rule');
  await links.begin('cut', {
    between: [[['node-0'], ['node-1']]],
    oneWay: false,
    share: 1,
    seed: '1',
    conditions: { cutAfterBytes: 10 },
  });
  send('12345');
  send('12345', { from: 'node-1' });
  expect(resets()).toBe(1);
  send('1');
  expect(resets()).toBe(2);
  expect(await links.effect('cut')).toMatchObject({ 'connections cut': 1 });
});

test('writers wait while four megabytes are in flight, and no longer', async () => {
  const { links, send, begin } = pair();
  await begin({ stall: true });
  send('a'.repeat(2 ** 22 - 256));
  expect(links.room('node-0', 'node-1')).toBeUndefined();
  send('b');
  expect(links.room('node-1', 'node-0')).toBeUndefined();
  const room = links.room('node-0', 'node-1');
  expect(room).toBeInstanceOf(Promise);
  await links.end('rule');
  await room;
  expect(links.room('node-0', 'node-1')).toBeUndefined();
});

test('a link that holds back too much breaks and loses its data: memory stays bounded', async () => {
  const { arrived, links, send, begin, resets } = pair();
  await begin({ stall: true }, true);
  send('a'.repeat(2 ** 23));
  expect(resets()).toBe(0);
  send('b'.repeat(2 ** 23));
  expect(resets()).toBe(1);
  // Frames without bytes take room too.
  for (let i = 0; i < 2 ** 16; i++) send('', { kind: 'reset' });
  expect(resets()).toBe(1);
  send('', { kind: 'reset' });
  expect(resets()).toBe(2);
  send('c');
  await links.end('rule');
  expect(arrived).toEqual(['0 c']);
  expect(await links.effect('rule')).toMatchObject({ 'connections reset': 2 });
});

test('an ended fault delays nothing any more, even while another one meets the link', async () => {
  const { time, arrived, links, send, begin } = pair();
  await begin({ latencyMs: 20 });
  const between: [string[], string[]][] = [[['node-0'], ['node-1']]];
  const conditions: LinkConditions = { bytesPerSecond: 1000, slowCloseMs: 10_000 };
  await links.begin('slow', { between, oneWay: false, share: 1, seed: '1', conditions });
  send('a'.repeat(64_000));
  send('', { kind: 'close' });
  await time.advance(1000);
  await links.end('slow');
  send('b');
  await time.advance(10);
  expect(arrived.map((one) => one.slice(0, 6))).toEqual(['1010 a', '1010 ', '1010 b']);
});

test('a link that is being opened waits no longer once its way back is good again', async () => {
  const { time, arrived, links, send } = pair();
  const between: [string[], string[]][] = [[['node-1'], ['node-0']]];
  await links.begin('slow', {
    between,
    oneWay: true,
    share: 1,
    seed: '1',
    conditions: { latencyMs: 60_000 },
  });
  // The way there is met by a rule, so that it carries the link at all.
  await links.begin('there', {
    between: [[['node-0'], ['node-1']]],
    oneWay: true,
    share: 1,
    seed: '1',
    conditions: { latencyMs: 5 },
  });
  send('', { kind: 'dial' });
  await time.advance(1000);
  expect(arrived).toEqual([]);
  await links.end('slow');
  // It got there long ago.
  expect(arrived).toEqual(['1000 ']);
});

test('a rule on the way back delays nothing that is on its way there', async () => {
  const { time, arrived, links, send, begin } = pair();
  await begin({ latencyMs: 2000, bytesPerSecond: 1000 });
  send('c', { from: 'node-1' });
  for (let n = 0; n < 10; n++) send('a'.repeat(100));
  await time.advance(1000);
  const between: [string[], string[]][] = [[['node-1'], ['node-0']]];
  await links.begin('back', { between, oneWay: true, share: 1, seed: '2', conditions: { latencyMs: 5 } });
  send('b'.repeat(100));
  await time.advance(1100);
  expect(arrived.at(-1)?.slice(0, 6)).toBe('2100 b');
});

test('links that are slow by themselves delay all, and a fault adds to them until it ends', async () => {
  const { time, arrived, links, send, begin } = pair(linksOf({ latencyMs: 36 }, '1'));
  expect(links.idle).toBe(false);
  send('', { kind: 'dial' });
  await time.advance(36);
  send('a');
  send('b', { from: 'node-1' });
  await time.advance(20);
  expect(arrived).toEqual(['36 ', '54 a', '54 b']);
  await begin({ latencyMs: 100 });
  send('c');
  await time.advance(100);
  expect(arrived.at(-1)).toBe('124 c');
  await links.end('rule');
  expect(await links.effect('rule')).toMatchObject({ 'bytes delayed': 1, 'connections delayed': 1 });
  send('d');
  await time.advance(20);
  expect(arrived.at(-1)).toBe('174 d');
});

test('what is held back or lost by a fault is so on a slow link, too', async () => {
  const { time, arrived, links, send, begin, resets } = pair(linksOf({ latencyMs: 20 }, '1'));
  await begin({ stall: true });
  send('a');
  await time.advance(1000);
  expect(arrived).toEqual([]);
  await links.end('rule');
  await links.begin('other', {
    between: [[['node-0'], ['node-1']]],
    oneWay: false,
    share: 1,
    seed: '1',
    conditions: { halfOpen: true },
  });
  await time.advance(10);
  send('b');
  await time.advance(1000);
  expect(arrived).toEqual(['1000 a']);
  await links.end('other');
  expect(resets()).toBe(1);
});

test('what a node sends over all its links takes its turn, faults or not', async () => {
  const time = new VirtualTime();
  const arrived: string[] = [];
  const links = new MemoryLinks({
    clock: time.clock,
    nameOf: (peerId) => peerId,
    lasting: linksOf({ latencyMs: 20, bytesPerSecond: 1000 }, '1'),
    pairs: () => [],
  });
  const send = (from: string, to: string, bytes: number) =>
    links.carry(
      { kind: 'data', from, to, protocolId: '', bytes: Buffer.alloc(bytes) },
      () => void arrived.push(`${time.ms} ${from}-${to}`),
      () => undefined,
    );
  send('node-0', 'node-1', 100);
  send('node-0', 'node-2', 50);
  send('node-1', 'node-0', 30);
  await time.advance(200);
  expect(arrived).toEqual(['40 node-1-node-0', '110 node-0-node-1', '160 node-0-node-2']);
  send('node-0', 'node-1', 100);
  send('node-0', 'node-2', 50);
  await links.begin('rule', {
    between: [[['node-0'], ['node-2']]],
    oneWay: false,
    share: 1,
    seed: '1',
    conditions: { latencyMs: 100 },
  });
  await links.end('rule');
  await time.advance(200);
  expect(arrived.slice(3)).toEqual(['310 node-0-node-1', '360 node-0-node-2']);
});

test('what a stalled peer does not get keeps nothing from the others', async () => {
  const { time, links, carry } = limited();
  const arrived: string[] = [];
  await links.begin('rule', { ...towards('node-1'), conditions: { stall: true } });
  for (let i = 0; i < 20; i++) carry('node-0', 'node-1', 1000, () => void arrived.push('stalled'));
  carry('node-0', 'node-2', 100, () => void arrived.push(`${time.ms}`));
  await time.advance(200);
  expect(arrived).toEqual(['100']);
  await links.end('rule');
  await time.advance(999);
  expect(arrived).toEqual(['100']);
  await time.advance(1);
  expect(arrived).toEqual(['100', 'stalled']);
});

test('writers wait until little of what their node has written is left to send', async () => {
  const { time, links, carry } = limited();
  expect(links.room('node-0', 'node-1')).toBeUndefined();
  carry('node-0', 'node-1', 1000, () => undefined);
  let wasRoom = '';
  void links.room('node-0', 'node-2')?.then(() => (wasRoom = `${time.ms}`));
  expect(links.room('node-1', 'node-0')).toBeUndefined();
  await time.advance(1000);
  expect(wasRoom).toBe('500');
  expect(links.room('node-0', 'node-2')).toBeUndefined();
});

test('jitter follows from the seed, and never changes the order', async () => {
  const times = async (seed: string) => {
    const { time, arrived, send } = pair(linksOf({ latencyMs: 100, jitterMs: 40 }, seed));
    for (let i = 0; i < 50; i++) send(String(i));
    await time.advance(200);
    expect(arrived.map((line) => line.split(' ')[1])).toEqual(
      Array.from({ length: 50 }, (_, i) => String(i)),
    );
    return arrived;
  };
  const first = await times('1');
  expect(await times('1')).toEqual(first);
  expect(await times('2')).not.toEqual(first);
});
