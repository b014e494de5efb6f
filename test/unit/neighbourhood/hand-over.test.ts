import { expect, test } from 'vitest';
import { stampHash } from '../../../formats/chunk/stamp.ts';
import { StreamError } from '../../../node/p2p/host.ts';
import { PAGE_SIZE } from '../../../node/protocols/pullsync/rules.ts';
import { chunkAt, stamp } from '../store/stores.ts';
import { BINS, counts, never, Remote, setup } from './hand-over-kit.ts';

const PAGE_MS = 5_000;

// ── compare ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('an entry leaves when two peers of its neighbourhood hold it', async () => {
  const { reserve, fill, connect, release, pushes, metric } = await setup();
  const entries = await fill(0, 60);
  const [first, second, third] = [new Remote(0, 4), new Remote(0, 5), new Remote(0, 6)];
  first.holds(entries.slice(0, 40));
  second.holds(entries.slice(20, 60));
  third.holds(entries.slice(0, 10));
  connect(first, second, third);
  expect(await release(60)).toBe(30);
  const isHere = entries.map(({ address, batchId, stampHash }) => reserve.has(address, batchId, stampHash));
  expect(isHere).toEqual(entries.map((_, n) => (n >= 10 && n < 20) || n >= 40));
  expect(pushes.addresses).toEqual([]);
  expect(await metric('handed_over_count\\{how="held"\\}')).toBe(30);
});

test('in a neighbourhood with a single peer, an entry that this peer holds leaves', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 35));
  connect(only);
  expect(await release(40)).toBe(35);
  expect(reserve.size()).toBe(5);
});

test('what the disk did not let go has not left, and leaves once it does', async () => {
  const { reserve, fill, connect, release, metric } = await setup();
  const entries = await fill(0, 40);
  const [first, second] = [new Remote(0, 4), new Remote(0, 5)];
  for (const remote of [first, second]) remote.holds(entries);
  connect(first, second);
  const taken = reserve.release.bind(reserve);
  reserve.release = () => Promise.reject(new Error('EROFS: Read-only file system'));
  expect(await release(40)).toBe(0);
  expect(await metric('handed_over_count\\{how="held"\\}')).toBe(0);
  reserve.release = taken;
  expect(await release(40)).toBe(40);
  expect(reserve.size()).toBe(0);
});

test('without a peer in its neighbourhood an entry stays', async () => {
  const { reserve, fill, connect, release } = await setup({ radius: 2 });
  const entries = await fill(0, 40);
  const [beside, deeper] = [new Remote(1, 4), new Remote(5, 6)];
  for (const remote of [beside, deeper]) remote.holds(entries);
  connect(beside, deeper);
  expect(await release(40)).toBe(0);
  expect([reserve.size(), beside.asked, deeper.asked]).toEqual([40, [], []]);
});

test('a peer counts only for what lies within its own radius, and is asked for nothing else', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries);
  only.radius = 5;
  connect(only);
  expect([await release(40), only.take()]).toEqual([0, []]);
  only.radius = 4;
  expect([await release(40), only.take()]).toEqual([40, ['4:1']]);
  expect(reserve.size()).toBe(0);
});

test('a peer is asked for no bin that is too shallow for the chunks of its neighbourhood', async () => {
  const { fill, connect, release } = await setup({ radius: 3 });
  const entries = await fill(2, 40);
  const only = new Remote(2, 3);
  only.holds([...entries, ...(await fill(0, 1)), ...(await fill(1, 1)), ...(await fill(5, 1))]);
  connect(only);
  await release(100);
  expect(only.take()).toEqual(['3:1']);
});

test('an entry listed in a wrong bin, under another stamp or within the own radius does not leave', async () => {
  const { reserve, fill, connect, release } = await setup({ radius: 2 });
  const [other, beside, own] = [await fill(0, 40), await fill(1, 40), await fill(2, 40)];
  const restamped = beside.map((entry) => ({ ...entry, stampHash: new Uint8Array(32).fill(7) }));
  const only = new Remote(1, 4);
  only.answer = async (bin, start) =>
    bin === 4 && start === 1n
      ? { entries: [...other, ...own, ...restamped, beside[0]!], topmost: 1000n }
      : { entries: [], topmost: 0n };
  only.holds(beside);
  connect(only);
  expect(await release(200)).toBe(1);
  expect(counts(reserve)).toEqual([40, 39, 40]);
});

test('the bin that was left out last time goes first, and the others stay when that is enough', async () => {
  const { reserve, fill, connect, release } = await setup({ radius: 2 });
  const [shallow, deep] = [new Remote(0, 4), new Remote(1, 4)];
  shallow.holds(await fill(0, 40));
  deep.holds(await fill(1, 40));
  connect(shallow, deep);
  expect(await release(30)).toBe(30);
  expect([counts(reserve), shallow.take()]).toEqual([[40, 10, 0], []]);
  expect(await release(30)).toBe(30);
  expect(counts(reserve)).toEqual([10, 10, 0]);
});

test('no further page is requested when enough has left', async () => {
  const { fill, connect, release } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, 3 * PAGE_SIZE));
  connect(only);
  expect([await release(PAGE_SIZE + 1), only.take()]).toEqual([PAGE_SIZE + 1, ['4:1', '4:251']]);
});

test('the slow end of a list is requested when its full pages were not enough', async () => {
  const { fill, connect, release } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, PAGE_SIZE + 40));
  connect(only);
  expect([await release(PAGE_SIZE), only.take()]).toEqual([PAGE_SIZE, ['4:1']]);
  expect([await release(1), only.take()]).toEqual([1, ['4:251']]);
});

test('a list that was compared is not requested again, only what has been added since', async () => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 100);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 60));
  connect(only);
  expect([await release(100), only.take()]).toEqual([60, ['4:1']]);
  expect([await release(100), only.take()]).toEqual([0, []]);
  only.holds(entries.slice(60, 70));
  expect([await release(100), only.take()]).toEqual([10, ['4:61']]);
});

test('a second holder counts even when it is seen later than the first', async () => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const [early, late] = [new Remote(0, 4), new Remote(0, 5)];
  early.holds(entries);
  connect(early, late);
  expect(await release(40)).toBe(0);
  late.holds(entries);
  expect(await release(40)).toBe(40);
});

test('a peer that lists an entry twice counts as one holder', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const [twice, other] = [new Remote(0, 4), new Remote(0, 5)];
  twice.holds([...entries, ...entries]);
  connect(twice, other);
  expect(await release(40)).toBe(0);
  twice.holds(entries);
  expect([await release(40), reserve.size()]).toEqual([0, 40]);
});

test('a list that names an entry twice does not affect other stamps of its chunk', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const { address, batchId } = entries[0]!;
  const other = stamp({ index: 900 });
  await reserve.put(chunkAt(address), other);
  const only = new Remote(0, 4);
  only.holds([entries[0]!, entries[0]!, entries[0]!]);
  connect(only);
  expect([await release(40), reserve.size()]).toEqual([1, 40]);
  expect(reserve.load(address, batchId, stampHash(other))?.chunk.address).toEqual(address);
});

test('a peer whose bin ids have restarted is compared from the beginning', async () => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 60);
  const only = new Remote(0, 4);
  only.holds(entries.slice(0, 20));
  connect(only);
  expect([await release(60), only.take()]).toEqual([20, ['4:1']]);
  only.forget();
  only.epoch = 2n;
  only.holds(entries.slice(0, 40));
  expect([await release(60), only.take()]).toEqual([20, ['4:1']]);
});

test('after a change of radius lists are compared from the beginning', async () => {
  const { reserve, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries);
  connect(only);
  expect(await release(40)).toBe(40);
  // They come once more, within the radius.
  await reserve.setRadius(0);
  for (const [index, { address }] of entries.entries()) await reserve.put(chunkAt(address), stamp({ index }));
  await reserve.setRadius(1);
  only.take();
  expect([await release(40), only.take()]).toEqual([40, ['4:1']]);
});

test('a page that takes longer than five seconds is left for the next time, together with its bin', async () => {
  const { clock, fill, connect, release } = await setup();
  const entries = await fill(0, 2 * PAGE_SIZE);
  const only = new Remote(0, 4);
  only.holds(entries);
  only.answer = (_bin, start, signal) => (start > 1n ? never(signal) : undefined);
  connect(only);
  let released: number | undefined;
  const releasing = release(1000).then((count) => {
    released = count;
    return undefined;
  });
  await clock.advance(2 * PAGE_MS - 1);
  expect(released).toBeUndefined();
  await clock.advance(1);
  await releasing;
  // Once for the full pages, once for the end of the list.
  expect([released, only.take()]).toEqual([PAGE_SIZE, ['4:1', '4:251', '4:251']]);
  only.answer = undefined;
  expect([await release(1000), only.take()]).toEqual([PAGE_SIZE, ['4:251']]);
  expect(clock.running).toBe(0);
});

test.each([
  ['does not tell its radius', (remote: Remote) => void (remote.greet = () => Promise.reject(gone()))],
  ['breaks off', (remote: Remote) => void (remote.answer = () => Promise.reject(gone()))],
])('a peer that %s does not keep others from being compared', async (_, spoil) => {
  const { fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const [bad, good, better] = [new Remote(0, 4), new Remote(0, 5), new Remote(0, 6)];
  for (const remote of [bad, good, better]) remote.holds(entries);
  spoil(bad);
  connect(bad, good, better);
  expect(await release(40)).toBe(40);
});

function gone(): Error {
  return new StreamError('STREAM_RESET', 'gone');
}

test('a peer whose list never ends does not keep the hand-over from ending', async () => {
  const { clock, fill, connect, release } = await setup();
  const entries = await fill(0, 40);
  const endless = new Remote(0, 4);
  endless.cursors = () => ({ cursors: Array.from({ length: BINS }, () => 2n ** 64n - 1n), epoch: 1n });
  endless.answer = async (_bin, start, signal) => {
    await clock.sleep(1_000, signal);
    return { entries: [{ ...entries[0]!, stampHash: new Uint8Array(32) }], topmost: start };
  };
  connect(endless);
  let isOver = false;
  const ending = new AbortController();
  const releasing = release(40, ending.signal).finally(() => {
    isOver = true;
  });
  await clock.advance(300_000);
  const wasOver = isOver;
  ending.abort();
  await releasing;
  expect(wasOver, 'over after five minutes').toBe(true);
});

test('the signal ends a comparison at once', async () => {
  const { clock, reserve, fill, connect, release, pushes } = await setup();
  const entries = await fill(0, 40);
  const only = new Remote(0, 4);
  only.holds(entries);
  only.answer = (_bin, _start, signal) => never(signal);
  connect(only);
  const ending = new AbortController();
  const releasing = release(40, ending.signal);
  await clock.settle();
  ending.abort();
  expect(await releasing).toBe(0);
  expect([reserve.size(), pushes.addresses, clock.running]).toEqual([40, [], 0]);
});

test('no peer is asked after the signal', async () => {
  const { fill, connect, release, pushes } = await setup();
  const only = new Remote(0, 4);
  only.holds(await fill(0, 40));
  connect(only);
  expect([await release(40, AbortSignal.abort()), only.take(), pushes.addresses]).toEqual([0, [], []]);
});
