import { existsSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { claimCluster } from '../../../../../harness/cluster/lifecycle/claim.ts';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import { openNodes } from '../../../../../harness/cluster/nodes/open-nodes.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { beginSaving } from '../../../../../harness/cluster/state/change.ts';
import {
  type ClusterRecord,
  clusterFolder,
  type NodeRecord,
  removeCluster,
  runRecords,
  writeRecord,
  writeRun,
} from '../../../../../harness/cluster/state/state.ts';
import type { Driver, Observed } from '../../../../../harness/places/driver.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let stateDir = '';
beforeEach(() => void (stateDir = temporaryFolder('svcnet-open')));

function claim(): Promise<ClusterRecord> {
  const definition = parseDefinition({}, 'test');
  return claimCluster(stateDir, {
    clock: MACHINE_CLOCK,
    name: 'net',
    seed: 1n,
    ephemeral: false,
    definition,
  });
}

/** @param meanwhile happens while the driver changes its state */
async function opened(meanwhile: () => unknown = () => undefined): Promise<[ClusterNode, ClusterRecord]> {
  const record = await claim();
  let state: Observed['state'] = 'running';
  const become = (to: Observed['state']) => async () => {
    await meanwhile();
    state = to;
    return { forced: false };
  };
  const driver = {
    name: 'process',
    can: {
      kill: { kill: become('gone') },
      pause: { pause: become('paused') },
      data: {
        wipe: () => Promise.resolve(),
        damage: (_part: unknown, chunks: number) => Promise.resolve(chunks),
      },
    },
    observe: () => Promise.resolve({ state }),
    stop: become('gone'),
  } as unknown as Driver;
  const node = {
    name: 'node-0',
    flavour: 'svc',
    mode: 'full',
    dialect: 'svc',
    api: 'http://[::1]:1',
    debug: 'http://[::1]:1',
    dataDir: '/data',
    log: '/log',
  };
  const context = { clock: MACHINE_CLOCK, stateDir, record, driver, onUploaded: () => undefined };
  writeRecord(stateDir, { ...record, nodes: [node as NodeRecord] });
  const [open] = openNodes(context, [node as NodeRecord], []);
  writeRun(stateDir, 'net', 'node-0', { handle: {}, state: 'running' });
  return [open as ClusterNode, record];
}

test('no node is started while its cluster is being saved', async () => {
  const [node, record] = await opened();
  {
    using _saving = beginSaving(stateDir, record);
    await expect(node.start()).rejects.toMatchObject({
      code: 'NODE_STATE',
      message: expect.stringContaining(`cluster 'net' is being saved by process ${process.pid}`) as string,
    });
    expect(node.startRefusal?.hint).toBe('Try again when it has been saved.');
  }
  expect(node.startRefusal).toBeUndefined();
});

test('a node that another process has removed for good is not started again', async () => {
  const [node, record] = await opened();
  await node.stop();
  writeRecord(stateDir, { ...record, nodes: [] });
  await expect(node.start()).rejects.toMatchObject({
    code: 'NODE_NOT_FOUND',
    message: 'node-0 has been removed',
  });
});

test('what a node has stored is not changed while it is copied', async () => {
  const [node, record] = await opened();
  await node.stop();
  {
    using _saving = beginSaving(stateDir, record);
    const refused = {
      code: 'NODE_STATE',
      message: expect.stringContaining(`cluster 'net' is being saved by process ${process.pid}`) as string,
    };
    await expect(node.damage(3)).rejects.toMatchObject(refused);
    await expect(node.wipe()).rejects.toMatchObject(refused);
  }
  await node.wipe();
  expect(await node.damage(3)).toBe(3);
});

test.each(['stop', 'kill', 'pause'] as const)(
  '%s writes nothing about a cluster that was removed meanwhile, nor about another one of its name',
  async (action) => {
    const removed = {
      code: 'NODE_STATE',
      message: "node-0 is gone: cluster 'net' has been removed meanwhile",
    };
    const [node, record] = await opened(() => removeCluster(stateDir, record));
    await expect(node[action]()).rejects.toMatchObject(removed);
    expect(existsSync(clusterFolder(stateDir, 'net').path)).toBe(false);
    const [second, earlier] = await opened(() => {
      removeCluster(stateDir, earlier);
      return claim();
    });
    await expect(second[action]()).rejects.toMatchObject(removed);
    expect(runRecords(stateDir, 'net')).toEqual([]);
  },
);
