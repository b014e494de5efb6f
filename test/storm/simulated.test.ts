import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { losesNothing } from './stormy.ts';

test('a storm of thirty virtual seconds loses nothing and is recorded', async () => {
  await losesNothing(
    { driver: 'simulated' },
    { duration: '30s', reserve: '12000', 'fault-every': '1s', lanes: '1', sample: '200' },
    { chunks: 1000, faults: 20, begun: 10, operations: 50, beforeKills: 2 },
  );
});

test('a node that loses all its data in a storm is no loss that others answer for', async () => {
  const schedule = join(temporaryFolder('svcnet-wiped'), 'wipe.yaml');
  const wipe = '{ at: 8s, kind: restart, node: node-1, wipe: true, down: 1s }';
  writeFileSync(schedule, `duration: 12s\nfaults:\n  - ${wipe}\n`);
  await losesNothing(
    { driver: 'simulated', nodes: 5 },
    { schedule, sample: '200' },
    { chunks: 200, faults: 0, begun: 0, operations: 20 },
  );
});
