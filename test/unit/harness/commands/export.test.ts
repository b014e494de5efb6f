import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { CommandContext } from '../../../../harness/commands/context.ts';
import { type ExportFlags, exportDefinition } from '../../../../harness/commands/export.ts';
import type { Target } from '../../../../harness/export/obstacles.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

let folder: string;
beforeEach(() => void (folder = temporaryFolder('svcnet-export')));

async function run(target: Target, flags: Partial<ExportFlags> = {}, json = false) {
  let out = '';
  let note = '';
  const context: CommandContext = {
    stateDir: folder,
    json,
    style: { colours: false, unicode: false, live: false, width: 80 } as unknown as CommandContext['style'],
    width: 80,
    signal: new AbortController().signal,
    out: (text) => void (out += text),
    outBytes: () => undefined,
    note: (text) => void (note += text),
  };
  await exportDefinition(target, { machine: [], ...flags }, context);
  return { out, note };
}

const mode = (path: string) => statSync(path).mode & 0o777;

test('prints nothing but the file to standard output without --output', async () => {
  const { out, note } = await run('compose');
  expect(out).toBe(readFileSync('docker-compose.yml', 'utf8'));
  expect(note).toBe('');
});

test('options override the file, which overrides the defaults', async () => {
  const file = join(folder, 'cluster.yaml');
  writeFileSync(file, 'name: mine\nseed: 7\nnodes: 2\n');
  const output = join(folder, 'out');
  await run('compose', { file, output });
  const compose = readFileSync(join(output, 'docker-compose.yml'), 'utf8');
  expect(compose).toContain('SVCNET_SEED: ${SVCNET_SEED:-7}');
  expect(parse(readFileSync(join(output, 'network.yaml'), 'utf8'))).toMatchObject({
    name: 'mine',
    nodes: [{ name: 'node-0' }, { name: 'node-1' }],
  });
  const { out } = await run('compose', { file, nodes: 1, seed: 8n, name: 'other', dialect: 'swarm' }, true);
  const { seed, name, files } = JSON.parse(out) as {
    seed: number;
    name: string;
    files: { content: string }[];
  };
  expect([seed, name]).toEqual([8, 'other']);
  expect(files[0]?.content).toContain('dialect: swarm');
  expect(files[0]?.content).not.toContain('node-1');
});

test.each<Target>(['compose', 'stack', 'kubernetes'])(
  'the commands for %s name its files as seen from here',
  async (target) => {
    const output = join(folder, 'a folder');
    const { out } = await run(target, { nodes: 1, output });
    const [, ...commands] = out.split('\n\n');
    const named = commands.join().match(/(?<!grep )-[cf] (?:'[^']*'|\S+)/g) ?? [];
    expect(named.length).toBeGreaterThan(1);
    for (const flag of named) expect(flag).toMatch(new RegExp(`^-[cf] '${output}/[\\w.-]+'$`));
  },
);

test('makes files with keys readable by their owner only, and warns about them', async () => {
  const output = join(folder, 'out');
  const { note } = await run('stack', { nodes: 1, output });
  expect(mode(join(output, 'secrets/node-0/swarm.key'))).toBe(0o600);
  expect(mode(join(output, 'stack.yaml'))).toBe(0o644);
  expect(note).toMatch(/for tests/);
  const { note: onScreen } = await run('kubernetes', { nodes: 1 });
  expect(onScreen).toMatch(/for tests/);
});

test('overwrites existing files only with --force, and makes them private', async () => {
  const output = join(folder, 'out');
  await run('kubernetes', { nodes: 1, output });
  const manifests = join(output, 'kubernetes.yaml');
  rmSync(manifests);
  writeFileSync(manifests, 'mine', { mode: 0o644 });
  await expect(run('kubernetes', { nodes: 1, output })).rejects.toThrow(
    /kubernetes\.yaml, .*network\.yaml already exist/,
  );
  expect(readFileSync(manifests, 'utf8')).toBe('mine');
  await run('kubernetes', { nodes: 1, output, force: true });
  expect(readFileSync(manifests, 'utf8')).toContain('kind: StatefulSet');
  expect(mode(manifests)).toBe(0o600);
});

test('refuses a stack without a folder, a machine for another engine and an impossible folder', async () => {
  await expect(run('stack')).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringMatching(/^--output/),
  });
  const machine = [{ name: 'a', address: '10.0.0.1' }];
  await expect(run('compose', { machine })).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringMatching(/^--machine/),
  });
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(run('compose', { output: file })).rejects.toMatchObject({ code: 'CANNOT_WRITE' });
});

test('lists at once everything that cannot be exported, with its file', async () => {
  const file = join(folder, 'cluster.yaml');
  writeFileSync(file, 'nodes: 3\ntopology: ring\ndriver: embedded\n');
  await expect(run('stack', { file, output: join(folder, 'out') })).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
    message: expect.stringMatching(/cluster\.yaml: driver: .*\n.*cluster\.yaml: topology: /),
  });
});
