import { expect, test } from 'vitest';
import { run } from '../../../../harness/commands/run.ts';
import { type RunFlags, repeatCommand } from '../../../../harness/commands/run-flags.ts';
import { contextOf } from './kit.ts';

const NOTHING: RunFlags = { with: [], set: [] };

test.each<[string, Partial<RunFlags>]>([
  ['--metrics-port', { metricsPort: 9464 }],
  ['--parallel', { parallel: 2 }],
  ['--nodes', { nodes: 3 }],
])('refuses %s with a recipe, which describes the whole run', async (flag, given) => {
  await expect(run(['smallest.json'], { ...NOTHING, ...given }, contextOf('/nowhere'))).rejects.toMatchObject(
    {
      code: 'USAGE',
      message: `${flag}: not allowed with smallest.json, which describes the whole run; edit the file instead`,
    },
  );
});

test('the command that repeats a run can be pasted into a shell', () => {
  const flags = { ...NOTHING, file: 'my net.yaml', beeBinary: '/opt/my bee/bee', set: ['name=a b'] };
  expect(repeatCommand(['my scenarios/x.ts'], flags, 7n)).toMatch(
    / run 'my scenarios\/x.ts' --seed 7 --file 'my net.yaml' --bee-binary '\/opt\/my bee\/bee' --set 'name=a b'$/,
  );
});
