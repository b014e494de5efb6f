import { expect, test } from 'vitest';
import { readSnapshots } from '../../../../harness/metrics/snapshots.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

test('nodes that hang take no time from those that are asked after them', async () => {
  const hung = Array.from({ length: 8 }, (_, i) => ({
    name: `hung-${i}`,
    client: {
      metrics: (signal?: AbortSignal) =>
        new Promise<string>((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('no answer')));
        }),
    },
  }));
  const well = {
    name: 'well',
    client: {
      metrics: (signal?: AbortSignal) => {
        signal?.throwIfAborted();
        return Promise.resolve('svc_up 1\n');
      },
    },
  };
  const clock = new ManualClock();
  const reading = readSnapshots([...hung, well], {
    clock,
    signal: new AbortController().signal,
    limitMs: 20,
  });
  await clock.advance(20);
  const { snapshots, silent } = await reading;
  expect(snapshots.map(({ node }) => node)).toEqual(['well']);
  expect(silent).toEqual(Object.fromEntries(hung.map(({ name }) => [name, 'no answer'])));
});

test('what a node has answered is as old as its answer, however long another one hangs', async () => {
  const hung = {
    name: 'hung',
    client: {
      metrics: (signal?: AbortSignal) =>
        new Promise<string>((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('no answer')));
        }),
    },
  };
  const well = { name: 'well', client: { metrics: () => Promise.resolve('svc_up 1\n') } };
  const clock = new ManualClock();
  await clock.advance(7);
  const reading = readSnapshots([hung, well], { clock, signal: new AbortController().signal, limitMs: 20 });
  await clock.advance(20);
  const [read] = (await reading).snapshots;
  expect(read?.atMs).toBe(7);
});
