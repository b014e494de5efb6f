import { beforeEach, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../harness/base/machine/clock.ts';
import { claimCluster } from '../../../../harness/cluster/lifecycle/claim.ts';
import { parseDefinition } from '../../../../harness/cluster/plan/definition.ts';
import { type NodeRecord, writeRecord } from '../../../../harness/cluster/state/state.ts';
import { mine } from '../../../../harness/commands/mine.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

let stateDir: string;
beforeEach(() => void (stateDir = temporaryFolder('svcnet-mine')));

const node = (name: string, flavour: NodeRecord['flavour']): NodeRecord => ({
  name,
  flavour,
  mode: 'full',
  dialect: 'swarm',
  api: 'http://127.0.0.1:1',
  debug: 'http://127.0.0.1:1',
  p2p: '',
  overlay: 'ab'.repeat(32),
  ethereum: 'cd'.repeat(20),
  dataDir: '',
  log: '',
});

test('refuses to mine on demand in a cluster with a Bee, and names the Bee', async () => {
  const definition = parseDefinition({}, 'test');
  const record = await claimCluster(stateDir, {
    clock: MACHINE_CLOCK,
    name: 'mixed',
    seed: 1n,
    ephemeral: false,
    definition,
  });
  writeRecord(stateDir, {
    ...record,
    phase: 'running',
    nodes: [node('node-0', 'svc'), node('bee-0', 'bee')],
    timings: { chainMs: 0, nodesMs: 0, meshedMs: 0, batchUsableMs: 0, totalMs: 0 },
    chain: {
      rpc: 'http://127.0.0.1:1',
      control: 'http://127.0.0.1:1',
      chainId: 1337,
      networkId: 1,
      contracts: {},
      startBlock: 0,
      blockTimeMs: 5000,
      steady: true,
    },
  });
  const context = contextOf(stateDir);
  await expect(mine(1, { name: 'mixed' }, context)).rejects.toMatchObject({
    code: 'CHAIN_STEADY',
    message: 'cannot mine on demand: bee-0 would misread the time from early blocks',
    hint: 'Wait: a block is mined every 5000 ms. Only clusters without Bees mine on demand.',
  });
  expect(context.printed()).toBe('');
});
