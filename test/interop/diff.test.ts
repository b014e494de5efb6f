/** Every scenario about data on a network of ours and on one of each Bee, with one seed: what differs is known, with its reason. */
import { expect, test } from 'vitest';
import type { Compared } from '../../harness/inspect/differences/compare.ts';
import { svcnetHere } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { BEES } from './kit.ts';

const SCENARIOS = [
  'upload retrieval --set sizes=4096,256KiB --set count=4',
  'file-retrieval soc feed manifest act',
  'tags-and-pins --set size=1MiB --set chunks=200',
  'gsoc pss postage redundancy',
  'pushsync pullsync',
];
const NODES = '4';
const TEST_MS = 1_800_000;

const stateDir = temporaryFolder('svcnet-interop-diff');

test.each(SCENARIOS)(
  'ours and each Bee do the same: %s',
  async (scenarios) => {
    const [names = '', ...set] = scenarios.split(' --set ');
    const flavours = ['svc', ...BEES.map(({ binary }) => `bee@${binary}`)].join(',');
    const settings = set.flatMap((one) => ['--set', one]);
    const options = ['--flavours', flavours, '--nodes', NODES, '--seed', '7', '--json', ...settings];
    const args = ['diff', ...options, '--', 'run', ...names.split(' ')];
    const { code, stdout, stderr } = await svcnetHere(args, { stateDir });
    if (code === 2) throw new Error(stderr);
    const { compared } = JSON.parse(stdout) as { readonly compared: readonly Compared[] };
    const open = compared.flatMap(({ name, differences }) =>
      differences
        .filter(({ accepted }) => accepted === undefined)
        .map((difference) => ({ name, ...difference })),
    );
    expect(open).toEqual([]);
    for (const { compared: facts } of compared) expect(facts).toBeGreaterThan(50);
    expect(code).toBe(0);
  },
  TEST_MS,
);
