/** What cannot be chosen for a network that continues from a snapshot. */
import { expect, test } from 'vitest';
import { type UpFlags, up } from '../../../../harness/commands/up.ts';
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
