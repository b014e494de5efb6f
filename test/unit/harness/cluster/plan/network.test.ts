import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { readClusterFile } from '../../../../../harness/cluster/plan/document/read.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

test('a network is refused where links are real', () => {
  expect(() => parseDefinition({ driver: 'process', network: { latency: '20ms' } }, 'options')).toThrow(
    'network: got a map with driver process, expected driver simulated',
  );
});

test('regions of a cluster file may be in a file beside it, and nowhere else', async () => {
  const folder = temporaryFolder('svcnet-network');
  const file = join(folder, 'cluster.yaml');
  const regions = { shares: { here: 1 }, roundTripMs: { here: { here: 4 } } };
  writeFileSync(join(folder, 'regions.json'), JSON.stringify(regions));
  writeFileSync(file, 'driver: simulated\nnetwork: { regions: regions.json }\n');
  expect(await readClusterFile(file)).toEqual({ driver: 'simulated', network: { regions } });
  writeFileSync(file, 'driver: simulated\nnetwork: { regions: ../regions.json }\n');
  await expect(readClusterFile(file)).rejects.toThrow(`${file}: network.regions: `);
});
