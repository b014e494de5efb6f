/** Every scenario about data runs on a network of ours and on one of each Bee, with one seed. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Compared } from '../../harness/inspect/differences/compare.ts';
import { svcnetHere } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { aBee, describeOthers, OTHERS } from './kit.ts';

const SCENARIOS = [
  'upload retrieval --set sizes=4096,256KiB --set count=4',
  'file-retrieval soc feed manifest act',
  'tags-and-pins --set size=1MiB --set chunks=200',
  'gsoc pss postage redundancy',
  'pushsync pullsync chunk-retrieval-loop',
  'smoke ledger-verify data-durability long-availability --set size=1MiB',
  'upload-stress --set file-count=2 --set min-file-size=300KiB --set max-file-size=300KiB',
];
const FILE = fileURLToPath(new URL('../../examples/bee-flavour/bee.flavour.yaml', import.meta.url));
const NODES = '4';
const TEST_MS = 1_800_000;

const stateDir = temporaryFolder('svcnet-interop-diff');

async function expectKnown(theirs: readonly string[], scenarios: string): Promise<void> {
  const [names = '', ...set] = scenarios.split(' --set ');
  const flavours = ['svc', ...theirs].join(',');
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
}

test.each(SCENARIOS)(
  'ours and each other one do the same: %s',
  async (scenarios) =>
    expectKnown(
      OTHERS.map(({ name }) => name),
      scenarios,
    ),
  TEST_MS,
);

describeOthers(aBee, '$title', ({ binary }) => {
  test(
    'what is known of a Bee is known of one that a flavour file describes',
    async () => expectKnown([`${FILE}@${binary}`], 'tags-and-pins --set size=1MiB --set chunks=200'),
    TEST_MS,
  );
});
