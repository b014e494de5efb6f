import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Fault } from '../../../../harness/cluster/faults/fault.ts';
import { FAULTS_FILE } from '../../../../harness/report/folder.ts';
import { eventsOf, mend } from '../../../../harness/run/fault-events.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

/** A fault as reported by `Faults`. */
function fault(id: string, more: Partial<Fault> = {}): Fault {
  const about = { kind: 'link', request: { kind: 'link' }, text: `slows ${id}`, targets: ['node-0'] };
  return { id, ...about, at: 10, endAt: 20, effect: { 'bytes delayed': 5 }, ...more };
}

describe('when a scenario has ended', () => {
  let folder = '';
  beforeEach(() => void (folder = temporaryFolder('faults')));

  const lines = () =>
    readFileSync(join(folder, FAULTS_FILE), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; id: string; scenario: string; began: number });

  test('what it has left broken is healed, and its faults are listed in its folder in order of time', async () => {
    const history = [fault('f1', { endAt: 40 }), fault('f2', { at: 30, endAt: 50 }), fault('f0', { at: 1 })];
    const done: string[] = [];
    const healOwn = () => Promise.resolve(void done.push('heal')).then(() => []);
    const abandon = () => void done.push('abandon');
    expect(
      await mend({ history, healOwn, abandon }, { name: 'smoke', fromMs: 5, began: 1, folder }),
    ).toBeUndefined();
    expect(done).toEqual(['heal']);
    expect(lines().every(({ began }) => began === 1)).toBe(true);
    expect(lines().map(({ event, id, scenario }) => `${scenario} ${event} ${id}`)).toEqual([
      'smoke begin f1',
      'smoke begin f2',
      'smoke end f1',
      'smoke end f2',
    ]);
  });

  test('nothing is healed or begun in a cluster that is removed: its faults are listed, without an end', async () => {
    const { endAt: _, ...left } = fault('f1', { effect: {} });
    const healOwn = () => Promise.reject(new Error('it takes a minute'));
    const done: string[] = [];
    const abandon = () => void done.push('abandon');
    const scenario = { name: 'smoke', fromMs: 0, began: 0, folder, removed: true };
    expect(await mend({ history: [left], healOwn, abandon }, scenario)).toBeUndefined();
    expect(done).toEqual(['abandon']);
    expect(lines().map(({ event, id }) => `${event} ${id}`)).toEqual(['begin f1']);
  });

  test('a fault without effect and a fault that cannot be healed are reported', async () => {
    const inert = fault('f1', { endAt: 60_000, effect: { 'bytes delayed': 0 } });
    // Ended by another process: what it did since the last look is unknown.
    const { endAt: _, ...unknown } = fault('f2', { effect: {} });
    const healOwn = () => Promise.reject(new Error('cannot heal f3'));
    const faults = { history: [inert, unknown], healOwn, abandon: () => undefined };
    const wrong = await mend(faults, { name: 'smoke', fromMs: 0, began: 0, folder });
    expect(wrong).toBe('cannot heal f3\nfault f1 (slows f1) had no effect');
  });
});

test('a fault is an event with its effect, and what it did to its own targets is not told again', () => {
  const kill = fault('f1', { text: 'kills node-0', effect: { 'nodes killed': 1 } });
  const { at, endAt, targets, text } = kill;
  const killed = (part: string, atMs: number) => ({ at: atMs, targets: [part], text: `${part} was killed` });
  const broken = [
    { ...killed('node-2', 1), endAt: 9 },
    { at, endAt: endAt as number, targets, text, fault: kill },
    { ...killed('node-0', 11), cause: kill },
    // Neither by the fault, though while it lasts, nor to a target of it.
    killed('node-0', 12),
    { ...killed('node-1', 13), endAt: 19, cause: kill },
    { ...killed('chain', 14), targets: [] },
  ];
  expect(eventsOf(broken, 5)).toEqual([
    { kind: 'fault', at: 10, endAt: 20, part: 'node-0', text: 'kills node-0 (1 node killed)' },
    { kind: 'fault', at: 12, part: 'node-0', text: 'node-0 was killed' },
    { kind: 'fault', at: 13, endAt: 19, part: 'node-1', text: 'node-1 was killed' },
    { kind: 'fault', at: 14, text: 'chain was killed' },
  ]);
});
