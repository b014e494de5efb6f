import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { writtenDefinition } from '../../../../../harness/cluster/plan/schema.ts';
import { openSnapshot } from '../../../../../harness/cluster/snapshots/load.ts';
import { currentHead, inside, listSnapshots } from '../../../../../harness/cluster/snapshots/snapshot.ts';
import { markedPath } from '../../../../../harness/cluster/state/state-folder.ts';
import { listAllSnapshots, removeOneSnapshot } from '../../../../../harness/commands/snapshot.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { contextOf } from '../../commands/kit.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = temporaryFolder('svcnet-snapshots');
  markedPath(stateDir, 'snapshots');
  lay('whole');
});

const definition = writtenDefinition(parseDefinition({ nodes: 2 }, 'test')) as { nodes: object[] };
const recordOf = (name: string) => ({
  ...currentHead(),
  name,
  savedAt: 1,
  cluster: 'net',
  seed: '1',
  driver: 'process',
  definition,
  batches: [],
  height: 7,
  sizeBytes: 100,
  files: {} as Record<string, number>,
  nodes: [
    { name: 'node-0', flavour: 'svc', mode: 'full' },
    { name: 'node-1', flavour: 'svc', mode: 'full' },
  ],
});

function lay(name: string, more: object | string = {}): string {
  const path = join(stateDir, 'snapshots', name);
  mkdirSync(join(path, 'nodes', 'node-0'), { recursive: true });
  const text = typeof more === 'string' ? more : JSON.stringify({ ...recordOf(name), ...more });
  writeFileSync(inside.record(path), text);
  return path;
}

const open = (name: string) => openSnapshot(stateDir, name, { beside: {}, source: 'test' });

test('what svcnet has written is started', () => {
  expect(open('whole').definition.nodes).toMatchObject([{ count: 2 }]);
});

test('one with a file missing or cut off is not started, and names the file', () => {
  const file = 'nodes/node-0/chunks.slots';
  const path = join(lay('cut', { files: { [file]: 5 } }), file);
  const started = () => open('cut');
  expect(started).toThrow(`snapshot 'cut' cannot be started: its file ${file} is missing`);
  writeFileSync(path, 'abc');
  expect(started).toThrow(`its file ${file} has 3 bytes, expected 5`);
  writeFileSync(path, 'abcde');
  expect(started).not.toThrow();
});

test.each([
  ['no JSON', '{', 'JSON'],
  ['no map', 'null', 'expected a snapshot'],
  ['the name of another folder', { name: '../../precious' }, "name: got '../../precious', expected 'odd'"],
  ['a time that no date has', { savedAt: 9e15 }, 'savedAt: expected milliseconds'],
])('one with %s is named, and the others are listed', async (_what, more, why) => {
  lay('odd', more);
  const broken: string[] = [];
  expect(listSnapshots(stateDir, (name, reason) => broken.push(`${name}: ${reason}`))).toHaveLength(1);
  expect(broken).toEqual([expect.stringContaining(why)]);
  for (const json of [false, true]) {
    const context = contextOf(stateDir, json);
    await listAllSnapshots({}, context);
    expect(context.printed()).toContain('whole');
    expect(context.printed()).toMatch(json ? /"name": "odd",\s+"why":/ : /odd cannot be read: /);
  }
  const context = contextOf(stateDir);
  await removeOneSnapshot('odd', {}, context);
  expect(context.printed()).toMatch(/^ {2}removed odd: /);
  expect(existsSync(join(stateDir, 'snapshots', 'odd'))).toBe(false);
});

const program = { ...definition, nodes: [{ ...definition.nodes[0], flavour: 'svc', binary: '/bin/sh' }] };
const bee = { ...definition, nodes: [{ ...definition.nodes[0], flavour: 'bee' }] };
const declared = { name: 'x', program: '/bin/sh', keys: { libp2p: { type: 'ed25519' } } };
const described = { ...definition, nodes: [{ ...definition.nodes[0], declared }] };
const upgraded = { ...definition, upgraded: { 0: { ...definition.nodes[0], count: 1, declared } } };
const flavours = { ...definition, flavours: [declared] };
const more = { ...definition, nodes: [{ ...definition.nodes[0], count: 201 }] };
test.each([
  [
    'fewer nodes than its definition',
    { nodes: [{ name: 'node-0' }] },
    'nodes: got 1, expected node-0 to node-1',
  ],
  ['a node twice', { nodes: [{ name: 'node-0' }, { name: 'node-0' }] }, 'nodes: got 2, expected node-0'],
  [
    'a node whose name is a path',
    { nodes: [{ name: '../../x' }, { name: 'node-1' }] },
    'nodes.0.name: expected',
  ],
  ['too many nodes', { definition: more }, 'definition.nodes.0.count: expected a count up to 200'],
  ['a program', { definition: program }, 'definition.nodes.0.binary: expected none'],
  ['a program described', { definition: described }, 'definition.nodes.0.declared: expected none'],
  ['a node with another program', { definition: upgraded }, 'definition.upgraded.0.declared: expected none'],
  ['a flavour file', { definition: flavours }, 'definition.flavours: expected none'],
  ['a node that needs a program', { definition: bee }, 'definition.nodes.0.flavour: expected svc'],
  ['no definition', { definition: null }, 'definition: expected a definition'],
  ['a seed that is none', { seed: 'x' }, 'seed: expected decimal digits'],
  ['a driver that cannot start it', { driver: 'docker' }, 'driver: expected one of'],
])('one with %s is listed, and not started', async (_what, changed, why) => {
  lay('odd', changed);
  expect(() => open('odd')).toThrow(`snapshot 'odd' cannot be started: ${why}`);
  const context = contextOf(stateDir);
  await listAllSnapshots({}, context);
  expect(context.printed()).toContain(`odd cannot be started: ${why}`);
});

test('a link in it is not copied into a cluster', () => {
  const link = join(lay('odd'), 'nodes', 'node-0', 'keys');
  symlinkSync('/etc', link);
  expect(() => open('odd')).toThrow(`${link} is neither a file nor a folder`);
});

test('a link to a snapshot is none', () => {
  symlinkSync(join(stateDir, 'snapshots', 'whole'), join(stateDir, 'snapshots', 'odd'));
  expect(listSnapshots(stateDir)).toHaveLength(1);
  rmSync(join(stateDir, 'snapshots'), { recursive: true });
  symlinkSync('/tmp', join(stateDir, 'snapshots'));
  expect(() => listSnapshots(stateDir)).toThrow('leads to /tmp');
});
