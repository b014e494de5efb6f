import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ChainFaults } from '../../../../harness/chain/faults.ts';
import type { Fault } from '../../../../harness/cluster/faults/fault.ts';
import { FAULTS_FILE } from '../../../../harness/report/folder.ts';
import {
  begunFaultsOf,
  chainFaultsOf,
  faultsOf,
  mend,
  withoutBegun,
} from '../../../../harness/run/fault-events.ts';

test('a fault lasts until the node runs again, or has no end; earlier ones are not part of the scenario', () => {
  const nodes = [
    {
      name: 'node-0',
      deeds: [
        { state: 'killed', at: 5 },
        { state: 'running', at: 10 },
        { state: 'paused', at: 20 },
        { state: 'running', at: 30 },
      ],
    },
    {
      name: 'node-1',
      deeds: [
        { state: 'running', at: 1 },
        { state: 'killed', at: 25 },
      ],
    },
  ] as const;
  expect(faultsOf(nodes, 8)).toEqual([
    { kind: 'fault', at: 20, endAt: 30, part: 'node-0', text: 'node-0 was paused' },
    { kind: 'fault', at: 25, part: 'node-1', text: 'node-1 was killed' },
  ]);
});

test('each fault of the chain lasts until its own end', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const faults = new ChainFaults();
    const at = (ms: number, done: () => void) => {
      vi.setSystemTime(ms);
      done();
    };
    at(5, () => faults.begin('too early', 'blocks'));
    at(10, () => faults.begin('the chain was paused', 'blocks'));
    at(20, () => faults.begin('blocks were replaced'));
    at(30, () => faults.begin('the endpoint failed', 'endpoint'));
    at(40, () => faults.end('blocks'));
    at(50, () => faults.end('nothing'));
    expect(chainFaultsOf(faults.list, 8)).toEqual([
      { kind: 'fault', part: 'chain', text: 'the chain was paused', at: 10, endAt: 40 },
      { kind: 'fault', part: 'chain', text: 'blocks were replaced', at: 20 },
      { kind: 'fault', part: 'chain', text: 'the endpoint failed', at: 30 },
    ]);
    expect(faults.list[0]).toEqual({ text: 'too early', at: 5, endAt: 10 });
  } finally {
    vi.useRealTimers();
  }
});

/** A fault as reported by `Faults`. */
function fault(id: string, more: Partial<Fault> = {}): Fault {
  const about = { kind: 'link', request: { kind: 'link' }, text: `slows ${id}`, targets: ['node-0'] };
  return { id, ...about, at: 10, endAt: 20, effect: { 'bytes delayed': 5 }, ...more };
}

describe('when a scenario has ended', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'faults-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const lines = () =>
    readFileSync(join(folder, FAULTS_FILE), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; id: string; scenario: string });

  test('what it has left broken is healed, and its faults are listed in its folder in order of time', async () => {
    const history = [fault('f1', { endAt: 40 }), fault('f2', { at: 30, endAt: 50 }), fault('f0', { at: 1 })];
    const done: string[] = [];
    const healOwn = () => Promise.resolve(void done.push('heal')).then(() => []);
    const abandon = () => void done.push('abandon');
    expect(await mend({ history, healOwn, abandon }, { name: 'smoke', fromMs: 5, folder })).toBeUndefined();
    expect(done).toEqual(['heal']);
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
    const scenario = { name: 'smoke', fromMs: 0, folder, removed: true };
    expect(await mend({ history: [left], healOwn, abandon }, scenario)).toBeUndefined();
    expect(done).toEqual(['abandon']);
    expect(lines().map(({ event, id }) => `${event} ${id}`)).toEqual(['begin f1']);
  });

  test('a fault without effect and a fault that cannot be healed are reported', async () => {
    const inert = fault('f1', { effect: { 'bytes delayed': 0 } });
    // Ended by another process: what it did since the last look is unknown.
    const { endAt: _, ...unknown } = fault('f2', { effect: {} });
    const healOwn = () => Promise.reject(new Error('cannot heal f3'));
    const faults = { history: [inert, unknown], healOwn, abandon: () => undefined };
    const wrong = await mend(faults, { name: 'smoke', fromMs: 0, folder });
    expect(wrong).toBe('cannot heal f3\nfault f1 (slows f1) had no effect');
  });
});

test('a fault is an event with its effect, and its direct result for the node is not listed again', () => {
  const history = [fault('f1', { text: 'kills node-0', effect: { 'nodes killed': 1 } })];
  expect(begunFaultsOf(history, 5)).toEqual([
    { kind: 'fault', at: 10, endAt: 20, part: 'node-0', text: 'kills node-0 (1 nodes killed)' },
  ]);
  const deed = (part: string, at: number) =>
    ({ kind: 'fault', at, part, text: `${part} was killed` }) as const;
  const told = [deed('node-0', 11), deed('node-0', 25), deed('node-1', 11)];
  expect(withoutBegun(told, history)).toEqual([deed('node-0', 25), deed('node-1', 11)]);
});
