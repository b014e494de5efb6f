import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLUSTER_FILE } from '../../../harness/cluster/plan/editor/cluster-file.ts';
import { definitionSchema } from '../../../harness/cluster/plan/editor/json-schema.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const CLI = join(import.meta.dirname, '../../../harness/cli.ts');
const folder = temporaryFolder('svcnet-file');

function svcnet(...args: string[]) {
  return spawnSync(process.execPath, [CLI, ...args], { cwd: folder, encoding: 'utf8' });
}

test('init writes a file that validate accepts, and overwrites files only when told to', () => {
  expect(svcnet('init').status).toBe(0);
  const path = join(folder, 'cluster.yaml');
  expect(readFileSync(path, 'utf8')).toBe(CLUSTER_FILE);
  expect(svcnet('validate', 'cluster.yaml')).toMatchObject({ status: 0, stderr: '' });

  writeFileSync(path, 'nodes: 3');
  const refused = svcnet('init', 'cluster.yaml');
  expect([refused.status, readFileSync(path, 'utf8')]).toEqual([2, 'nodes: 3']);
  expect(refused.stderr).toContain('cluster.yaml already exists');
  expect(svcnet('init', 'cluster.yaml', '--force').status).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(CLUSTER_FILE);

  const nowhere = svcnet('init', 'no/such/folder/cluster.yaml');
  expect(nowhere.status).toBe(2);
  expect(nowhere.stderr).toContain('cannot write no/such/folder/cluster.yaml');
});

test('schema prints the schema and nothing else', () => {
  const { status, stdout, stderr } = svcnet('schema');
  expect([status, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual(definitionSchema());
});
