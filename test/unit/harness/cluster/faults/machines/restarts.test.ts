import { expect, test } from 'vitest';
import type { FaultContext, FaultStart } from '../../../../../../harness/cluster/faults/fault.ts';
import { FAULT_KINDS } from '../../../../../../harness/cluster/faults/table.ts';

const signal = new AbortController().signal;

/** @param started receives what starts are given */
function clusterOf(started: unknown[]): FaultContext {
  let state = 'running';
  const becomes = (next: string) => () => {
    state = next;
    return Promise.resolve();
  };
  const node = {
    name: 'node-0',
    running: true,
    client: { metrics: () => Promise.resolve('') },
    observe: () => Promise.resolve({ state }),
    kill: becomes('killed'),
    cutPower: becomes('killed'),
    stop: becomes('stopped'),
    wipe: () => Promise.resolve(),
    damage: () => Promise.resolve(3),
    limitMemory(bytes: number) {
      // The container needs more.
      if (bytes > 0) state = 'crashed';
      return Promise.resolve(0);
    },
    start(options: unknown) {
      started.push(options);
      return becomes('running')();
    },
  };
  const clock = { now: () => 0, sleep: () => Promise.resolve() };
  return { clock, nodes: [node], node: () => node } as unknown as FaultContext;
}

test.each([
  ['kill', { node: 'node-0' }],
  ['power-cut', { node: 'node-0' }],
  ['stop', { node: 'node-0' }],
  ['restart', { node: 'node-0', down: 1 }],
  ['rolling-restart', { down: 1 }],
  ['churn', { nodes: ['node-0'], down: 1 }],
  ['flip-bits', { node: 'node-0' }],
  ['memory', { node: 'node-0', limit: '32MiB' }],
])(
  '%s gives a node two minutes to start again, and is healed after faults that start none',
  async (name, request) => {
    const started: unknown[] = [];
    const context = clusterOf(started);
    const kind = FAULT_KINDS.find((each) => each.name === name);
    if (kind === undefined) throw new Error(`no fault '${name}'`);
    const start: FaultStart = { signal, hold: () => undefined, key: 'f1' };
    await kind.end(context, await kind.begin(context, kind.schema.parse(request), start));
    expect(started).toEqual([expect.objectContaining({ timeoutMs: 120_000 })]);
    expect(kind.startsNodes).toBe(true);
  },
);
