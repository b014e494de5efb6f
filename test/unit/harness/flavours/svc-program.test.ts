import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { NODE_FLAGS, svcContainer } from '../../../../harness/flavours/svc-program.ts';

const DOCKERFILE = readFileSync(new URL('../../../../node/Dockerfile', import.meta.url), 'utf8');

test('the image compiles the node with the flags of its containers: code compiled with other flags is not used', () => {
  expect(svcContainer('start').entrypoint).toEqual(['node', ...NODE_FLAGS, 'node/main.ts']);
  expect(DOCKERFILE).toContain(`\nRUN node ${NODE_FLAGS.join(' ')} node/main.ts compile\n`);
  const entrypoint = ['node', ...NODE_FLAGS, 'harness/export/containers.ts'].map((word) =>
    JSON.stringify(word),
  );
  expect(DOCKERFILE).toContain(`\nENTRYPOINT [${entrypoint.join(', ')}]\n`);
});

test('the help of a node names the path that it was started by', () => {
  const cwd = fileURLToPath(new URL('../../../..', import.meta.url));
  const help = (path: string) => execFileSync(process.execPath, [path, '--help'], { cwd, encoding: 'utf8' });
  for (const path of ['node/main.ts', `${cwd}node/main.ts`])
    expect(help(path)).toContain('usage: node node/main.ts start [--name value ...]\n');
});

test('no flag of a node makes V8 reject the code that the runtime was built with', () => {
  const version = (...flags: string[]) =>
    execFileSync(process.execPath, [...flags, '-p', 'v8.cachedDataVersionTag()'], { encoding: 'utf8' });
  expect(version(...NODE_FLAGS)).toBe(version());
  expect(version('--heap-growing-percent=60')).not.toBe(version());
});
