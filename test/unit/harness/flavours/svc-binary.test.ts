import { chmodSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../harness/cluster/plan/definition.ts';
import { placeNodes, planCluster } from '../../../../harness/cluster/plan/plan.ts';
import { flavourOf } from '../../../../harness/flavours/table.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { CONTRACTS } from '../cluster/plan/contracts.ts';

const MAIN = fileURLToPath(new URL('../../../../node/main.ts', import.meta.url));
const folder = temporaryFolder('svcnet-svc-binary');
const OPTIONS = ['full-node', 'swap-endpoint', 'postage-stamp-address', 'api-dialect', 'debug-api-addr'];

/** @returns path of a program with this help */
function program(name: string, options: readonly string[]): string {
  const path = join(folder, name);
  const help = options.map((option) => `  --${option} <value>  what it is`).join('\\n');
  writeFileSync(path, `#!/bin/sh\nprintf '${help}\\n'\n`);
  chmodSync(path, 0o755);
  return path;
}

const checkOf = (binary: string, options = {}) =>
  flavourOf({ flavour: 'svc', binary }).check?.({ where: 'nodes[0]', binary, image: undefined, options });

test('is configured as the node of this package, but for options that it does not list', async () => {
  const older = program('older', OPTIONS);
  const definition = parseDefinition({ nodes: [{}, { binary: older }, { binary: '/no/such' }] }, 'options');
  const plan = planCluster(definition, 5n);
  const place = { ports: { api: 1, p2p: 2, debug: 3 }, listen: '127.0.0.1', dataDir: '/data' };
  const [own, other] = placeNodes(
    plan,
    plan.nodes.map(() => ({ ...place, reached: { host: '127.0.0.1', port: 2 } })),
    { contracts: CONTRACTS, startBlock: 1, rpcOf: () => 'http://127.0.0.1:4', chequebookOf: () => undefined },
  ).map((placed) => placed.plan);
  const configured = async (of: typeof own) => {
    if (of === undefined) throw new Error('it was planned');
    const files = await flavourOf({ flavour: 'svc', binary: of.binary }).files(of);
    return JSON.parse(files.find(({ path }) => path === 'config.yaml')?.content ?? '') as object;
  };
  expect(await configured(own)).toMatchObject({ 'warmup-time': '200ms', 'full-node': true });
  expect(await configured(other)).toEqual({
    'full-node': true,
    'swap-endpoint': 'http://127.0.0.1:4',
    'postage-stamp-address': CONTRACTS.postageStamp,
    'api-dialect': 'svc',
    'debug-api-addr': '127.0.0.1:3',
  });
  expect(
    flavourOf({ flavour: 'svc', binary: older }).command({ dataDir: '/data', binary: older }),
  ).toMatchObject({
    file: older,
    args: ['start', '--config', '/data/config.yaml'],
  });
});

test('takes an option of its own, and refuses one that neither it nor a node has', async () => {
  const newer = program('newer', [...OPTIONS, 'new-option']);
  parseDefinition({ nodes: [{ binary: newer, options: { 'new-option': 'on' } }] }, 'options');
  await checkOf(newer, { 'new-option': 'on' });
  await expect(checkOf(newer, { 'new-optoin': 'on' })).rejects.toThrow(
    `nodes[0].options: ${newer} knows no option 'new-optoin', did you mean 'new-option'?`,
  );
});

test('refuses what is no node of ours, or not there', async () => {
  const other = program('other', ['full-node']);
  await expect(checkOf(other)).rejects.toThrow(`nodes[0].binary: ${other} is not a node of svcnet`);
  await expect(checkOf(join(folder, 'none'))).rejects.toThrow(`there is no file ${join(folder, 'none')}`);
});

test('a script is run by this Node.js, and need not be executable', async () => {
  const script = join(folder, 'main.ts');
  writeFileSync(script, `console.log(${JSON.stringify(OPTIONS.map((name) => `  --${name}`).join('\n'))});\n`);
  await checkOf(script);
  const { file, args } = flavourOf({ flavour: 'svc', binary: script }).command({
    dataDir: '/d',
    binary: script,
  });
  expect([file, args.at(-4), args.slice(-3)]).toEqual([
    process.execPath,
    script,
    ['start', '--config', '/d/config.yaml'],
  ]);
});

test('the path of the node of this package names no other program', () => {
  const nodes = [
    { binary: MAIN },
    { binary: relative(process.cwd(), MAIN) },
    { binary: '/other/node/main.ts' },
  ];
  expect(parseDefinition({ nodes }, 'options').nodes.map(({ binary }) => binary)).toEqual([
    undefined,
    undefined,
    '/other/node/main.ts',
  ]);
});

test.each([
  [
    'a simulation',
    { driver: 'simulated', nodes: [{}, { binary: '/changed' }] },
    "nodes[1].binary: got '/changed' with driver simulated, expected none, or driver process",
  ],
  [
    'dishonesty',
    { nodes: [{}, { binary: '/changed', dishonest: ['silent'] }] },
    "nodes[1].binary: got '/changed', expected none: only nodes of this package can be made dishonest",
  ],
  [
    'a container',
    { driver: 'docker', nodes: [{ binary: '/changed' }] },
    "nodes[0].binary: got '/changed' with driver docker, expected none",
  ],
])('is refused for %s', (_what, definition, message) => {
  expect(() => parseDefinition(definition, 'options')).toThrow(message);
});

test.each([
  ['bee', { flavour: 'bee', binary: '/bee' }, [], 'expected svc, or driver process or docker'],
  [
    'a flavour file',
    { flavour: 'ant' },
    [{ name: 'ant', program: '/ant', keys: { libp2p: { path: 'a', type: 'ed25519' } } }],
    'expected svc, or driver process or embedded',
  ],
])('a simulation names drivers that take %s', (_what, group, flavours, message) => {
  const input = { driver: 'simulated', nodes: [{}, group], flavours };
  expect(() => parseDefinition(input, 'options')).toThrow(message);
});

test('keeps a clock and disk of its own beside nodes whose machines can fail', () => {
  const definition = parseDefinition({ machineFaults: true, nodes: [{}, { binary: '/changed' }] }, 'options');
  expect(planCluster(definition, 5n).nodes.map(({ tampered }) => tampered)).toEqual([
    { behaviours: [] },
    undefined,
  ]);
});
