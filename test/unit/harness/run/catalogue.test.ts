import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadScenario } from '../../../../harness/run/catalogue.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svcnet-catalogue-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function load(declared: Record<string, string>): Promise<unknown> {
  const keys = {
    name: "'one'",
    group: "'chaos'",
    about: "'One.'",
    parameters: '{}',
    needs: '{ nodes: 2 }',
    cluster: '{ nodes: 2 }',
    timeoutMs: '1000',
    run: 'async () => {}',
    ...declared,
  };
  const path = join(folder, `${++files}.mjs`);
  writeFileSync(
    path,
    `export default { ${Object.entries(keys)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', ')} };`,
  );
  return loadScenario(path);
}

test.each([
  [
    { cluster: '{ nodes: 4, machineFaults: true }' },
    'cluster.machineFaults: got true, expected a function of the parameters, such as () => true',
  ],
  [{ cluster: '{ nodes: 2, optionsFor: { a: 1 } }' }, 'cluster.optionsFor: got {"a":1}, expected a function'],
  [{ cluster: "{ nodes: '4' }" }, "cluster.nodes: got '4', expected a whole number from 1 to 1000"],
  [{ cluster: '{ nodes: 2, machinefaults: () => true }' }, "unknown key 'cluster.machinefaults'"],
  [{ cluster: '{ nodes: 2, credit: () => "low" }' }, 'cluster.credit: got a function, expected one of high'],
  [{ cluster: '{ nodes: 2, with: { bees: 1 } }' }, 'bees'],
  [
    { needs: "{ nodes: 2, capabilities: ['disks'] }" },
    "needs.capabilities[0]: got 'disks', expected one of kill",
  ],
  [{ needs: 'undefined' }, 'needs: got nothing, expected keys and values'],
  [{ timeoutMs: 'undefined' }, 'timeoutMs: got nothing, expected milliseconds'],
  [{ group: "'mine'" }, "group: got 'mine', expected one of functional"],
  [
    { parameters: "{ size: { kind: 'bytes' } }" },
    "parameters.size.kind: got 'bytes', expected one of integer",
  ],
  [{ parameters: '{ size: 5 }' }, 'parameters.size: got 5, expected what parameter() returns'],
  [{ tag: "'mine'" }, "unknown key 'tag'"],
] as const)('a scenario that declares %j is refused with what was expected', async (declared, message) => {
  const error = await load(declared).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'DEFINITION_INVALID', message: expect.stringContaining(message) });
});

test('keys of cluster files that a scenario does not have are sent to a cluster file', async () => {
  const error = await load({ cluster: "{ nodes: 2, network: '50ms' }" }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: expect.stringContaining("unknown key 'cluster.network'"),
    hint: expect.stringContaining('svcnet run SCENARIO --file FILE'),
  });
  const other = await load({ tag: "'mine'" }).catch((thrown: unknown) => thrown);
  expect(other).toMatchObject({ code: 'DEFINITION_INVALID', hint: undefined });
});

test('functions that depend on parameters are kept as they are', async () => {
  const cluster = '{ nodes: 2, machineFaults: () => true, groups: () => [], with: { bee: 1 }, light: 1 }';
  expect(await load({ cluster })).toMatchObject({ cluster: { nodes: 2, light: 1 } });
});

test('what built-in scenarios declare may stand in files of others', async () => {
  const built = resolve(import.meta.dirname, '../../../../scenarios');
  const names = readdirSync(built).filter((name) => name.endsWith('.ts'));
  expect(names.length).toBeGreaterThan(30);
  for (const name of names) {
    const path = join(folder, `other-${name}`);
    // A copy: where a scenario came from is known by its object, which other files of tests share.
    const text = `import built from ${JSON.stringify(join(built, name))}; export default { ...built };`;
    writeFileSync(path, text);
    await loadScenario(path);
  }
});

test('a scenario in a project of CommonJS is refused with what to do about it', () => {
  const own = join(folder, 'commonjs');
  mkdirSync(own);
  writeFileSync(join(own, 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(own, 'one.ts'), "import 'node:os'; export default {};");
  const cli = join(import.meta.dirname, '../../../../harness/cli.ts');
  const { status, stderr } = spawnSync(process.execPath, [cli, 'run', './one.ts'], {
    cwd: own,
    encoding: 'utf8',
  });
  expect(status).toBe(2);
  expect(stderr).toContain('Cannot use import statement outside a module');
  expect(stderr).toContain('name the file .mts or .mjs, or set "type": "module" there');
});
