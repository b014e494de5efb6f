import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { ownProcess, type ProcessId, processOf } from '../../../../../harness/base/machine/processes.ts';
import { typed } from '../../../../../harness/base/typed.ts';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import { type SaveContext, saveSnapshot } from '../../../../../harness/cluster/snapshots/save.ts';
import { listSnapshots } from '../../../../../harness/cluster/snapshots/snapshot.ts';
import { savingProcess } from '../../../../../harness/cluster/state/change.ts';
import {
  type ClusterRecord,
  clusterFolder,
  writeRecord,
  writeRun,
} from '../../../../../harness/cluster/state/state.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let stateDir = '';
beforeEach(() => void (stateDir = temporaryFolder('svcnet-stopping')));

class FakeNode {
  readonly flavour = 'svc';
  readonly mode = 'full';
  readonly name: string;
  readonly dataDir: string;
  state: 'running' | 'paused' | 'stopped' = 'running';
  start = 1;
  /** Called before it stops. */
  beforeStop: () => void = () => undefined;

  constructor(name: string) {
    this.name = name;
    this.dataDir = clusterFolder(stateDir, 'net').dataDir(name);
  }

  observe = () => {
    const pid = this.state === 'stopped' ? undefined : 1;
    return Promise.resolve({ state: this.state, pid, handle: { start: this.start }, exit: undefined });
  };

  stop = () => {
    this.beforeStop();
    if (this.state !== 'running') {
      return Promise.reject(new HarnessError('NODE_STATE', `cannot stop ${this.name}: it is ${this.state}`));
    }
    this.state = 'stopped';
    return Promise.resolve({ forced: false });
  };

  launch = () => {
    this.state = 'running';
    this.start++;
    return Promise.resolve({ start: this.start });
  };
}

/** Copying its data takes as long as `copying`. */
function cluster(
  copying: (nodes: readonly [FakeNode, FakeNode]) => unknown = () => undefined,
  restarted: () => void = () => undefined,
) {
  const nodes = [new FakeNode('node-0'), new FakeNode('node-1')] as const;
  const record = {
    version: 3,
    token: 'one',
    name: 'net',
    seed: '1',
    definition: { nodes: [] },
    driver: 'process',
    ephemeral: false,
    owner: ownProcess(),
    batches: [],
    nodes: [],
  } as unknown as ClusterRecord;
  writeRecord(stateDir, record);
  writeRun(stateDir, 'net', 'node-0', { handle: {}, state: 'running' });
  const interruption = new AbortController();
  const context: SaveContext = {
    clock: MACHINE_CLOCK,
    stateDir,
    record,
    nodes: nodes as unknown as readonly ClusterNode[],
    chain: {
      height: () => Promise.resolve(7),
      save: (path: string) => mkdirSync(path, { recursive: true }),
    } as unknown as SaveContext['chain'],
    driver: {
      name: 'process',
      can: { copy: { completeCopy: async () => copying(nodes) } },
    } as unknown as SaveContext['driver'],
    signal: interruption.signal,
    onProgress: () => undefined,
    restarted: async () => restarted(),
  };
  const save = (name = 'x') => saveSnapshot(context, name, { force: false });
  return { nodes, context, save, interrupt: () => interruption.abort(new Error('enough')) };
}

const folder = () => clusterFolder(stateDir, 'net').path;
const hidden = () => readdirSync(join(stateDir, 'snapshots')).filter((name) => name.startsWith('.'));

test('a second save is refused while the nodes are stopped, and starts none of them', async () => {
  const seen: unknown[] = [];
  const { nodes, save } = cluster(async ([first]) => {
    // Once: a save that is not refused gets here itself.
    if (seen.push('copying') > 1) return;
    seen.push(await save('y').catch((error: unknown) => error), first.state);
  });
  await save();
  expect(seen).toMatchObject([
    'copying',
    { code: 'SNAPSHOT_REFUSED', message: `cluster 'net' is being saved by process ${process.pid}` },
    'stopped',
  ]);
  expect(nodes.map(({ state, start }) => [state, start])).toEqual([
    ['running', 2],
    ['running', 2],
  ]);
  expect(listSnapshots(stateDir).map(({ record }) => record.name)).toEqual(['x']);
  expect(savingProcess(folder())).toBeUndefined();
});

test('a save is refused while another process saves, but not when that process is gone', async () => {
  const { nodes, save } = cluster();
  const other = processOf(process.ppid) as ProcessId;
  const claim = join(folder(), `saving-${other.pid}.json`);
  writeFileSync(claim, JSON.stringify(other));
  await expect(save()).rejects.toMatchObject({
    code: 'SNAPSHOT_REFUSED',
    message: `cluster 'net' is being saved by process ${other.pid}`,
  });
  expect(nodes[0].start).toBe(1);
  writeFileSync(claim, JSON.stringify({ ...other, startedAt: 'another boot/1' }));
  await save();
  expect(nodes[0].start).toBe(2);
});

test('the cluster can be saved again when its nodes serve again, not when they are only started', async () => {
  const owners: unknown[] = [];
  const { save } = cluster(undefined, () => void owners.push(savingProcess(folder())?.pid));
  await save();
  owners.push(savingProcess(folder())?.pid);
  expect(owners).toEqual([process.pid, undefined]);
});

test('a snapshot of nodes that something else started meanwhile is not kept', async () => {
  const { save } = cluster(([, second]) => second.launch());
  await expect(save()).rejects.toMatchObject({
    code: 'NODE_STATE',
    message: 'node-1 was started while the data was copied',
  });
  expect(listSnapshots(stateDir)).toEqual([]);
});

test('the same when it was stopped again before the copy was complete', async () => {
  const { save } = cluster(async ([, second]) => {
    await second.launch();
    await second.stop();
  });
  await expect(save()).rejects.toMatchObject({ code: 'NODE_STATE' });
  expect(listSnapshots(stateDir)).toEqual([]);
});

test('a node that something else has stopped is left to that, the others run again', async () => {
  const { nodes, save } = cluster();
  nodes[1].beforeStop = () => {
    nodes[1].state = 'stopped';
  };
  await expect(save()).rejects.toThrow('cannot stop node-1: it is stopped');
  expect(nodes.map(({ state }) => state)).toEqual(['running', 'stopped']);
});

test('an interruption does not wait for the copy: the nodes run again first', async () => {
  const copied = Promise.withResolvers<void>();
  const { nodes, save, interrupt } = cluster(() => {
    interrupt();
    return copied.promise;
  });
  const saving = save();
  await vi.waitFor(() => expect(nodes.map(({ start }) => start)).toEqual([2, 2]), { timeout: 30_000 });
  copied.resolve();
  await expect(saving).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(hidden()).toEqual([]);
});

test('an interrupted save still says which nodes could not be restarted', async () => {
  const { nodes, save, interrupt } = cluster(() => interrupt());
  nodes[1].launch = () => Promise.reject(new HarnessError('PROCESS_FAILED', 'node-1 has no program'));
  await expect(save()).rejects.toMatchObject({
    code: 'INTERRUPTED',
    message: 'interrupted',
    hint: expect.stringMatching(/^node-1 could not be restarted\nnode-1 has no program\n/) as string,
  });
});

test('a process that ends while the nodes are stopped says how to start them', async () => {
  const told: string[] = [];
  const { save } = cluster(() => {
    using _writing = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      told.push(String(text));
      return true;
    });
    for (const listener of process.listeners('exit').slice(before)) Reflect.apply(listener, process, [130]);
  });
  const before = process.listenerCount('exit');
  await save();
  expect(told).toEqual([
    `the save was cut off: node-0, node-1 may stay stopped; start each with: ${typed('start NODE --name net')}\n`,
  ]);
  expect(process.listenerCount('exit')).toBe(before);
});
