import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { GroupInput } from '../../../../harness/cluster/plan/definition-input.ts';
import { run as takes } from '../../../../harness/commands/options/run.ts';
import { seedRange } from '../../../../harness/commands/options/values.ts';
import { repeatLine } from '../../../../harness/commands/repeat-line.ts';
import { run, titleOf } from '../../../../harness/commands/run.ts';
import { chooseClusters, type RunFlags } from '../../../../harness/commands/run-flags.ts';
import { bundledScenarios, loadScenario } from '../../../../harness/run/catalogue.ts';
import { kindOf, plannedFor } from '../../../../harness/run/run-clusters.ts';
import type { RunOptions } from '../../../../harness/run/run-options.ts';
import { planScenarios } from '../../../../harness/run/runner.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
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

test('what a scenario of others says of itself is told in one line of plain text', async () => {
  const path = join(temporaryFolder('svcnet-about'), 'theirs.ts');
  const about = 'a\u001b[31mb\n  --suite forged\u0007';
  const text = `{ name: 'theirs', group: 'functional', about: ${JSON.stringify(about)}, parameters: {}, needs: { nodes: 1 }, cluster: { nodes: 1 }, timeoutMs: 1000, run() {} }`;
  writeFileSync(path, `export default ${text};\n`);
  const context = contextOf('/nowhere');
  await run([path], { ...NOTHING, list: true }, context);
  expect(context.printed()).toContain('    a\\u001b[31mb --suite forged\\u0007\n');
});

test('the command that repeats a run can be pasted into a shell', () => {
  const flags: RunFlags = {
    ...NOTHING,
    seed: 7n,
    with: [{ flavour: 'bee', count: 2 }],
    dishonest: ['flood', 'silent'],
    coldGossip: true,
    file: 'my net.yaml',
    beeBinary: '/opt/my bee/bee',
    set: ['name=a b'],
    repeat: 3,
    report: 'elsewhere',
  };
  expect(repeatLine(['run', 'my scenarios/x.ts'], takes.options ?? {}, flags)).toMatch(
    / run 'my scenarios\/x.ts' --seed 7 --with bee=2 --dishonest flood,silent --bee-binary '\/opt\/my bee\/bee' --file 'my net.yaml' --cold-gossip --set 'name=a b'$/,
  );
});

test.each<[string, Partial<RunFlags>, string]>([
  ['--with svc=2', { with: [{ flavour: 'svc', count: 2 }] }, '7 nodes'],
  ['--light 2', { light: 2 }, '7 nodes, 2 of them light'],
])(
  'nodes of %s are added to those that the scenarios ask for, as the header says',
  async (_what, given, header) => {
    const scenario = await loadScenario('upload');
    const flags: RunFlags = { ...NOTHING, ...given };
    const { options, where } = await chooseClusters(flags, [scenario]);
    const planned = planScenarios([scenario], new Map());
    const [asking] = planned;
    const { nodes } = plannedFor(asking!, { ...options, planned } as unknown as RunOptions);
    expect(where).toBe(header);
    expect(nodes).toHaveLength(7);
    expect(nodes.filter(({ mode }) => mode === 'light')).toHaveLength(given.light ?? 0);
  },
);

test('a scenario that wants little credit gets that of the network where a node has no other', async () => {
  const scenario = await loadScenario('cheques');
  const planned = planScenarios([scenario], new Map());
  const keys = { libp2p: { type: 'ed25519', path: 'p2p.key' } } as const;
  const flavours = [
    { name: 'ant', program: './ant', keys },
    { name: 'bug', program: './bug', keys, publicConstants: false },
  ];
  const creditOf = (...groups: readonly GroupInput[]) =>
    kindOf(planned[0]!, {
      nodes: [{ count: 3 }, ...groups],
      planned,
      definition: { flavours },
    } as unknown as RunOptions).credit;
  expect([creditOf(), creditOf({ flavour: 'bug' })]).toEqual(['low', 'low']);
  expect([creditOf({ flavour: 'bee' }), creditOf({ flavour: 'ant' })]).toEqual(['network', 'network']);
});

test.each([
  ['one scenario', ['upload'], 'upload'],
  ['two', ['upload', 'smoke'], 'upload-smoke'],
  ['all', bundledScenarios(), `act-and-${bundledScenarios().length - 1}-more`],
  ['one with a long name', ['x'.repeat(250)], 'x'.repeat(100)],
])('the title of a run leaves room in the name of its folder: %s', (_what, names, title) => {
  expect(titleOf(names)).toBe(title);
});

test.each<[string, Partial<RunFlags>, string]>([
  [
    'a driver whose runs do not repeat',
    { checkDeterminism: true },
    '--check-determinism: got driver process, expected driver simulated: elsewhere no run is repeated to the last frame',
  ],
  [
    'a running cluster, twice',
    { checkDeterminism: true, name: 'net' },
    '--name is a cluster that already runs and cannot be combined with --check-determinism',
  ],
  [
    'several seeds, twice',
    { checkDeterminism: true, repeat: 2 },
    '--repeat runs several seeds and cannot be combined with --check-determinism',
  ],
  ['jobs without seeds', { jobs: 2 }, '--jobs goes with --seeds'],
  ['variation without seeds', { vary: true }, '--vary goes with --seeds'],
  [
    'variation of a file',
    { vary: true, seeds: { first: 1n, last: 2n }, file: 'net.yaml' },
    '--file describes the cluster and cannot be combined with --vary',
  ],
  ...(
    [
      [{ keep: true }, '--keep leaves one cluster running'],
      [{ name: 'net' }, '--name is a cluster that already runs'],
      [{ seed: 7n }, '--seed is one seed'],
      [{ repeat: 2 }, '--repeat runs seeds one after the other'],
    ] as const
  ).map(
    ([flags, why]) =>
      [
        `many seeds with ${Object.keys(flags).join()}`,
        { ...flags, seeds: { first: 1n, last: 2n } },
        `${why} and cannot be combined with --seeds`,
      ] as [string, Partial<RunFlags>, string],
  ),
])('refuses %s', async (_what, flags, message) => {
  await expect(run(['upload'], { ...NOTHING, ...flags }, contextOf('/nowhere'))).rejects.toMatchObject({
    code: 'USAGE',
    message,
  });
});

test.each<[string, object | RegExp]>([
  ['1..1000', { first: 1n, last: 1000n }],
  ['16..18446744073709551615', { first: 16n, last: 2n ** 64n - 1n }],
  ['7..7', { first: 7n, last: 7n }],
  ['9..1', /lower seed first/],
  ['0x10..99', /whole number from 0/],
  ['1-9', /two seeds/],
  ['1..18446744073709551616', /from 0 to/],
])('--seeds %s', (text, expected) => {
  if (expected instanceof RegExp) expect(() => seedRange(text)).toThrow(expected);
  else expect(seedRange(text)).toEqual(expected);
});
