import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeJson } from '../../../../harness/base/json-file.ts';
import { parseDefinition } from '../../../../harness/cluster/plan/definition.ts';
import { writtenDefinition } from '../../../../harness/cluster/plan/schema.ts';
import { currentHead, inside, type SnapshotRecord } from '../../../../harness/cluster/snapshots/snapshot.ts';
import { stepsOf, type UpFlags, up } from '../../../../harness/commands/up.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

const NOTHING: UpFlags = { with: [], cors: [], batches: true };

test.each<[string, Partial<UpFlags>]>([
  ['--driver', { driver: 'embedded' }],
  ['--dialect', { dialect: 'swarm' }],
  ['--preset', { preset: 'factory' }],
  ['--no-batches', { batches: false }],
  ['--nodes', { nodes: 0 }],
  ['--bee-binary', { beeBinary: 'bee' }],
  ['--cors', { cors: ['*'] }],
  ['--otlp', { otlp: 'http://127.0.0.1:4318' }],
  ['--seed', { seed: 0n }],
  ['--link-faults', { linkFaults: true }],
  ['--machine-faults', { machineFaults: true }],
  ['--cold-gossip', { coldGossip: true }],
  ['--trace', { trace: true }],
])('refuses %s with --snapshot', async (flag, given) => {
  await expect(up({ ...NOTHING, snapshot: 'base', ...given }, contextOf('/nowhere'))).rejects.toMatchObject({
    code: 'USAGE',
    message: `${flag}: cannot be combined with --snapshot, which has its own definition`,
  });
});

const BATCH = { id: 'ab'.repeat(32), node: 'node-0', depth: 20 };

test.each<[string, SnapshotRecord['batches'], readonly string[]]>([
  ['without batches', [], ['chain', 'nodes', 'mesh']],
  ['with a batch', [BATCH], ['chain', 'nodes', 'mesh', 'postage']],
])('a snapshot %s is started in the steps that report an end', (_what, batches, steps) => {
  const stateDir = temporaryFolder('svcnet-up');
  const definition = writtenDefinition(parseDefinition({ nodes: 1 }, 'options'));
  const record: SnapshotRecord = {
    ...currentHead(),
    name: 'base',
    savedAt: 0,
    cluster: 'net',
    seed: '1',
    driver: 'process',
    definition,
    batches,
    height: 1,
    sizeBytes: 0,
    files: {},
    nodes: [{ name: 'node-0', flavour: 'svc', mode: 'full' }],
  };
  writeJson(inside.record(join(stateDir, 'snapshots', 'base')), record);
  expect(stepsOf({ snapshot: 'base', name: 'second' }, 'options', stateDir)).toEqual(steps);
});
