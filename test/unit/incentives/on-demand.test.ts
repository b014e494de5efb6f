import { expect, test } from 'vitest';
import { SAMPLES_ON_DEMAND_MAX, samplesOnDemand } from '../../../node/incentives/on-demand.ts';
import type { MadeSample, SampleRequest } from '../../../node/incentives/sampler.ts';

const never = new AbortController().signal;
const BUSY = { code: 'SAMPLING_BUSY' };

function bench() {
  const walks: { readonly anchor: number; end: () => void }[] = [];
  let running = 0;
  let runningMax = 0;
  const sampler = samplesOnDemand(async ({ anchor }: SampleRequest, signal) => {
    runningMax = Math.max(runningMax, ++running);
    const { promise, resolve, reject } = Promise.withResolvers<MadeSample>();
    walks.push({ anchor: anchor[0]!, end: () => resolve({ items: [], hash: anchor }) });
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    return promise.finally(() => running--);
  });
  const ask = (anchor: number, signal = never) =>
    sampler({ anchor: Uint8Array.of(anchor), depth: 0, round: 1 }, signal);
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return { walks, ask, settle, runningMax: () => runningMax };
}

test('samples are made one after the other, in the order of the requests', async () => {
  const { walks, ask, settle, runningMax } = bench();
  const asked = [1, 2, 3].map((anchor) => ask(anchor));
  for (let walk = 0; walk < 3; walk++) {
    await settle();
    expect(walks.map(({ anchor }) => anchor)).toEqual([1, 2, 3].slice(0, walk + 1));
    walks[walk]!.end();
  }
  expect((await Promise.all(asked)).map(({ hash }) => hash[0])).toEqual([1, 2, 3]);
  expect(runningMax()).toBe(1);
});

test('a request beyond the queue limit is refused at once, unless its sample is under way', async () => {
  const { walks, ask, settle } = bench();
  const anchors = Array.from({ length: SAMPLES_ON_DEMAND_MAX }, (_, n) => n);
  const asked = anchors.map((anchor) => ask(anchor));
  await expect(ask(100)).rejects.toMatchObject(BUSY);
  const last = ask(SAMPLES_ON_DEMAND_MAX - 1);
  for (const anchor of anchors) {
    await settle();
    walks[anchor]!.end();
  }
  await Promise.all(asked);
  expect((await last).hash[0]).toBe(SAMPLES_ON_DEMAND_MAX - 1);
  expect(walks).toHaveLength(SAMPLES_ON_DEMAND_MAX);
});

test('a request that is given up frees its place, whether its sample is being made or waits', async () => {
  const { walks, ask, settle } = bench();
  const leaving = Array.from({ length: SAMPLES_ON_DEMAND_MAX }, () => new AbortController());
  const asked = leaving.map(({ signal }, anchor) => ask(anchor, signal));
  await settle();
  for (const [anchor, controller] of [...leaving.entries()].reverse()) {
    controller.abort(new Error('the client is gone'));
    await expect(asked[anchor]).rejects.toThrow('the client is gone');
  }
  const next = Array.from({ length: SAMPLES_ON_DEMAND_MAX }, (_, n) => ask(100 + n));
  await expect(ask(99)).rejects.toMatchObject(BUSY);
  for (let n = 0; n < SAMPLES_ON_DEMAND_MAX; n++) {
    await settle();
    walks[n + 1]!.end();
  }
  await Promise.all(next);
  // Those that waited were never begun.
  expect(walks.map(({ anchor }) => anchor)).toEqual([0, ...next.map((_, n) => 100 + n)]);
});

test('a failing sample frees its place', async () => {
  let failing = true;
  const sampler = samplesOnDemand(async ({ anchor }) => {
    if (failing) throw new Error('no such block');
    return { items: [], hash: anchor };
  });
  const ask = (anchor: number) => sampler({ anchor: Uint8Array.of(anchor), depth: 0, round: 1 }, never);
  for (let n = 0; n < 2 * SAMPLES_ON_DEMAND_MAX; n++) await expect(ask(n)).rejects.toThrow('no such block');
  failing = false;
  expect((await ask(1)).hash[0]).toBe(1);
});
