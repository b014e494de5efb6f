import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { readClusterFile } from '../../../../../harness/cluster/plan/document/read.ts';
import { networkFlag, writtenNetwork } from '../../../../../harness/cluster/plan/options/network.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

test('a network is refused where links are real', () => {
  expect(() => parseDefinition({ driver: 'process', network: { latency: '20ms' } }, 'options')).toThrow(
    'network: got a map with driver process, expected driver simulated',
  );
});

test('nodes are odd in simulations alone, and only in ways that are known', () => {
  const parsed = (driver: 'process' | 'simulated', odd: readonly string[]) =>
    parseDefinition({ driver, odd }, 'options').odd;
  expect(parsed('simulated', ['window', 'slow-chain'])).toEqual(['window', 'slow-chain']);
  expect(() => parsed('process', ['window'])).toThrow(
    'odd: got window with driver process, expected driver simulated, or none',
  );
  expect(() => parsed('simulated', ['windows'])).toThrow(
    "odd[0]: got 'windows', expected one of frame-pieces",
  );
});

test('what nodes send at most is a rate that lets them meet', () => {
  const parsed = (bandwidth: string) =>
    parseDefinition({ driver: 'simulated', network: { bandwidth } }, 'options').network?.bandwidth;
  expect(parsed('10Mbit/s')).toBe(1_250_000);
  for (const wrong of ['10', '10Mbit', '5kbit/s', '-1MB/s']) {
    expect(() => parsed(wrong)).toThrow('network.bandwidth: ');
  }
});

test('jitter alone varies nothing', () => {
  expect(() => parseDefinition({ driver: 'simulated', network: { jitter: '5ms' } }, 'options')).toThrow(
    'network.jitter: got 5 ms alone, expected latency or regions beside it',
  );
});

test('the command line takes what nodes send at most alone, or last', () => {
  expect(networkFlag('10Mbit/s')).toEqual({ bandwidth: '10Mbit/s' });
  expect(networkFlag('internet,1MB/s')).toEqual({ regions: 'internet', bandwidth: '1MB/s' });
  expect(networkFlag('20ms,5ms,1MB/s')).toEqual({ latency: '20ms', jitter: '5ms', bandwidth: '1MB/s' });
  for (const wrong of ['', ',', '1MB/s,20ms', 'internet,5ms', '20ms,5ms,1ms', '1MB/s,1MB/s']) {
    expect(() => networkFlag(wrong), wrong).toThrow('what each node sends at most');
  }
  for (const all of ['10Mbit/s', 'internet,1MB/s', '20ms', '20ms,5ms,1MB/s']) {
    expect(writtenNetwork(networkFlag(all))).toBe(all);
  }
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
