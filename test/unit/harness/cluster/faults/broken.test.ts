import { expect, test } from 'vitest';
import { Broken } from '../../../../../harness/cluster/faults/broken.ts';
import type { Fault } from '../../../../../harness/cluster/faults/fault.ts';

let nowMs = 0;
const clock = { now: () => nowMs };

const fault: Fault = {
  id: 'f1',
  kind: 'kill',
  request: { kind: 'kill' },
  text: 'kills node-0',
  targets: ['node-0'],
  at: 15,
  effect: {},
};

function at(ms: number, broken: () => void): void {
  nowMs = ms;
  broken();
}

test('what is broken lasts until it is mended, and the same thing broken twice was mended in between', () => {
  const broken = new Broken(clock);
  at(10, () => broken.broke('chain', 'the chain was paused', 'blocks'));
  at(20, () => broken.broke('chain', 'blocks were replaced'));
  at(30, () => broken.broke('node-0', 'node-0 was paused', 'state'));
  at(40, () => broken.mended('chain', 'blocks'));
  at(50, () => broken.mended('chain', 'nothing'));
  at(60, () => broken.broke('node-0', 'node-0 was killed', 'state'));
  expect(broken.list).toEqual([
    { at: 10, endAt: 40, targets: ['chain'], text: 'the chain was paused' },
    { at: 20, targets: ['chain'], text: 'blocks were replaced' },
    { at: 30, endAt: 60, targets: ['node-0'], text: 'node-0 was paused' },
    { at: 60, targets: ['node-0'], text: 'node-0 was killed' },
  ]);
});

test('what a fault breaks names it, however long it takes, and what others break meanwhile does not', async () => {
  const broken = new Broken(clock);
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = broken.during(fault, async () => {
    await promise;
    broken.broke('node-0', 'node-0 was killed', 'state');
  });
  broken.broke('node-0', 'node-0 was paused', 'state');
  resolve();
  await work;
  expect(broken.list.map(({ text, cause }) => [text, cause?.id])).toEqual([
    ['node-0 was paused', undefined],
    ['node-0 was killed', 'f1'],
  ]);
});

test('a fault is listed once, where it began, as it was seen last', () => {
  const broken = new Broken(clock);
  at(20, () => broken.broke('node-1', 'node-1 was stopped', 'state'));
  broken.note(fault);
  broken.note({ ...fault, endAt: 30, effect: { 'nodes killed': 1 } });
  // An id is free again once its fault has ended.
  broken.note({ ...fault, at: 40 });
  expect(broken.faults.map(({ at: began, endAt }) => [began, endAt])).toEqual([
    [15, 30],
    [40, undefined],
  ]);
  expect(broken.list.map(({ text }) => text)).toEqual(['kills node-0', 'node-1 was stopped', 'kills node-0']);
  expect(broken.list[0]).toMatchObject({ at: 15, endAt: 30, targets: ['node-0'] });
});

test('of more than can be listed the oldest are dropped, but no fault that lasts', () => {
  const broken = new Broken(clock);
  broken.note(fault);
  broken.note({ ...fault, id: 'f2', endAt: 16 });
  at(20, () => broken.broke('chain', 'the chain was paused', 'blocks'));
  at(21, () => {
    for (let i = 0; i < 10_000; i++) broken.broke('node-1', `node-1, ${i}`);
  });
  expect(broken.list).toHaveLength(10_000);
  expect(broken.faults.map(({ id }) => id)).toEqual(['f1']);
  expect(broken.list.slice(0, 2).map(({ text }) => text)).toEqual(['kills node-0', 'node-1, 1']);
});
