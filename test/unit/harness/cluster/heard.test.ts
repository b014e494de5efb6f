import { expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { ownProcess } from '../../../../harness/base/machine/processes.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { type TapOptions, tapped } from '../../../../harness/cluster/heard.ts';
import type { ToSee } from '../../../../harness/cluster/seen.ts';
import { type ClusterRecord, writeRecord } from '../../../../harness/cluster/state/state.ts';
import { type TapEvent, TapRing } from '../../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import '../../../../harness/vitest.ts';

const event = (stream: string, at = 0): TapEvent => ({
  at,
  from: 'node-0',
  to: 'node-1',
  stream,
  protocol: 'pingpong',
  id: '/pingpong',
  kind: 'message',
  name: 'ping',
  fields: {},
  bytes: 1,
});

const stateDir = temporaryFolder('svcnet-heard');

function writeToken(token: string): void {
  const definition = { nodes: [{ flavour: 'svc', count: 1 }] };
  const owner = ownProcess();
  const record = { version: 3, name: 'net', token, seed: '1', driver: 'process', ephemeral: true, owner };
  writeRecord(stateDir, { ...record, definition } as unknown as ClusterRecord);
}

function heard(read: TapRing['tapped'], options: TapOptions, clock = new ManualClock()) {
  const cluster = {
    clock,
    stateDir,
    record: { name: 'net', token: 'one' },
    driver: { name: 'process', can: { tap: { tap: () => ({ tapped: read }) } } },
  };
  return tapped(cluster as unknown as Parameters<typeof tapped>[0], options);
}

/** Its tap takes a second for each answer. */
function slow(ring: TapRing): { readonly net: Cluster; readonly clock: ManualClock } {
  const clock = new ManualClock();
  const read = async (after: number) => {
    await clock.sleep(1000);
    return ring.tapped(after);
  };
  const net = Object.create(Cluster.prototype, {
    clock: { value: clock },
    tap: { value: (options: TapOptions) => heard(read, options, clock) },
  }) as Cluster;
  return { net, clock };
}

/** @returns what the work ends with, while time passes */
async function timed<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const over = () => void (state.isOver = true);
  work.then(over, over);
  while (!state.isOver) await clock.advance(1000);
  return work;
}

const PING: ToSee = { protocol: 'pingpong', message: 'ping' };
const PONG: ToSee = { protocol: 'pingpong', message: 'pong' };

test('what is kept ends, though they go on', async () => {
  const ring = new TapRing();
  for (let n = 0; n < 2500; n++) ring.add(event(`s${n}`));
  const streams: string[] = [];
  const read = async (after: number) => {
    const batch = await ring.tapped(after);
    ring.add(event('later'));
    return batch;
  };
  for await (const { stream } of heard(read, { kept: true })) {
    streams.push(stream);
    if (streams.length > 5000) break;
  }
  expect(streams.slice(0, 2500)).toEqual(Array.from({ length: 2500 }, (_, n) => `s${n}`));
  expect(streams.length).toBeLessThan(2600);
});

test('what is said has its bytes from the moment at which they are asked for', async () => {
  const ring = new TapRing();
  const said = Buffer.from([7]);
  ring.add(event('before'), said);
  const events = heard((after, raw) => ring.tapped(after, raw), { kept: 'first', raw: true });
  const first = await events.next();
  ring.add(event('after'), said);
  const second = await events.next();
  expect([first.value?.raw, second.value?.raw]).toEqual([undefined, '07']);
  const later = heard((after, raw) => ring.tapped(after, raw), { raw: true }).next();
  ring.add(event('at once'), said);
  expect((await later).value).toEqual({ ...event('at once'), raw: '07' });
});

test.each([
  ['is kept', undefined],
  ['is said before the time is over', 500],
])('what %s is seen, however late the tap answers', async (_when, saidAfterMs) => {
  for (const isNot of [false, true]) {
    const ring = new TapRing();
    const { net, clock } = slow(ring);
    const say = () => ring.add(event('s1'));
    if (saidAfterMs === undefined) say();
    else clock.timer(saidAfterMs, say);
    const wanted = { ...PING, within: saidAfterMs ?? 0 };
    if (!isNot) await timed(clock, expect(net).toSee(wanted));
    else
      await expect(timed(clock, expect(net).not.toSee(wanted))).rejects.toThrow(
        'expected another state than this: pingpong ping is seen',
      );
  }
});

test('a time that is left undefined is the default', async () => {
  const { net, clock } = slow(new TapRing());
  await timed(clock, expect(net).not.toSee({ ...PING, within: undefined }));
  expect(clock.monotonic()).toBeLessThan(9000);
});

test('what was not kept is neither seen nor unseen', async () => {
  const ring = new TapRing();
  for (let n = 0; n < 20_007; n++) ring.add(event(`s${n}`));
  const missed = 'events that were not kept long enough to be looked at: 7';
  const { net, clock } = slow(ring);
  await expect(timed(clock, expect(net).toSee({ ...PONG, within: 0 }))).rejects.toThrow(missed);
  await expect(timed(clock, expect(net).not.toSee({ ...PONG, within: 0 }))).rejects.toThrow(missed);
  await timed(clock, expect(net).toSee({ ...PING, within: 0 }));
});

test('what was said before a given time is not looked at, kept or not', async () => {
  const ring = new TapRing();
  const { net, clock } = slow(ring);
  ring.add(event('s1', clock.now()));
  await clock.advance(1000);
  const since = clock.now();
  await timed(clock, expect(net).not.toSee({ ...PING, since, within: 0 }));
  // What is not kept is known to be older.
  for (let n = 0; n < 20_007; n++) ring.add(event(`s${n}`, since - 1));
  await timed(clock, expect(net).not.toSee({ ...PING, since, within: 0 }));
  // Others may have been said in that very millisecond.
  for (let n = 0; n < 20_007; n++) ring.add(event(`s${n}`, since));
  await expect(timed(clock, expect(net).not.toSee({ ...PONG, since, within: 0 }))).rejects.toThrow(
    'events that were not kept long enough to be looked at',
  );
  await timed(clock, expect(net).toSee({ ...PING, since, within: 0 }));
  const later = clock.now() + 1;
  for (const wrong of [later, Number.NaN]) {
    await expect(expect(net).toSee({ ...PING, since: wrong })).rejects.toThrow(
      `since: got ${wrong}, expected`,
    );
  }
});

test('a tap that stops answering is an error, not something unseen', async () => {
  writeToken('one');
  const ring = new TapRing();
  const { net, clock } = slow(ring);
  clock.timer(2500, () => {
    ring.tapped = () => Promise.reject(new HarnessError('FAULT_REFUSED', 'the link proxy does not answer'));
  });
  const wanted = { ...PING, within: 3000 };
  await expect(timed(clock, expect(net).not.toSee(wanted))).rejects.toThrow('the link proxy does not answer');
});

test('a tap that does not answer has ended with its cluster, if that is removed soon after, or by itself', async () => {
  const clock = new ManualClock();
  const unanswered = new HarnessError('FAULT_REFUSED', 'the link proxy does not answer');
  const events = () => heard(() => Promise.reject(unanswered), {}, clock).next();
  writeToken('one');
  await expect(timed(clock, events())).rejects.toBe(unanswered);
  const removed = events();
  await clock.advance(1000);
  // Another cluster has the name by then.
  writeToken('two');
  await expect(timed(clock, removed)).rejects.toMatchObject({
    code: 'CLUSTER_GONE',
    message: "cluster 'net' has been removed",
  });
});
