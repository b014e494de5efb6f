/** A small program stands for k6, which says how long a script runs, and for the client of Docker. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { scenariosOf } from '../../../../../../harness/run/load/k6/executors.ts';
import { type Shape, shapeOf } from '../../../../../../harness/run/load/k6/shape.ts';
import { LOAD_PARAMETERS, loadPlan } from '../../../../../../harness/run/load/parameters.ts';
import type { LoadScript } from '../../../../../../harness/run/load/scripts.ts';
import { temporaryFolder } from '../../../../../temporary-folder.ts';

const defaults = Object.entries(LOAD_PARAMETERS).map(([name, { default: value }]) => [name, value]);
const plan = { ...loadPlan(Object.fromEntries(defaults) as never, 1n), durationMs: 60_000, warmupMs: 0 };
/** A scenario as `k6 inspect` prints it. */
const FIVE_MINUTES = { executor: 'constant-arrival-rate', rate: 4, duration: '5m0s', startTime: null };
const OWN = { ownMs: 300_000, totalMs: 300_000 };
const PLANNED = { ownMs: undefined, totalMs: 60_000 };

let folder: string;
beforeEach(() => {
  folder = temporaryFolder('k6-shape');
  mkdirSync(join(folder, 'bin'));
  vi.stubEnv('PATH', `${join(folder, 'bin')}:${process.env['PATH']}`);
});
afterEach(() => vi.unstubAllEnvs());

/** @param scenarios what k6 finds in the script */
function inspected(kind: 'program' | 'container', scenarios: unknown): Promise<Shape> {
  const program = join(folder, 'bin', kind === 'program' ? 'k6' : 'docker');
  writeFileSync(join(folder, 'answer'), JSON.stringify({ scenarios, totalDuration: '1m0s' }));
  const work = `echo "$@" > "${folder}/arguments"; cat "${folder}/answer"`;
  writeFileSync(program, `#!/bin/sh\n${work}\n`, { mode: 0o755 });
  const own: LoadScript = {
    name: 'my.js',
    path: '/scripts/my.js',
    own: true,
    facts: { about: '', writes: true, reads: true, shapes: true },
  };
  return shapeOf(plan, own, {
    k6: { kind, where: kind === 'program' ? program : 'grafana/k6:2.2.0', version: '2.2.0' },
    folder,
    bundle: join(folder, 'script.js'),
    config: join(folder, 'config.json'),
    signal: new AbortController().signal,
  });
}

test.each(['load', 'warmup', 'few'])(
  "the scenarios of a script are its own whatever their name, such as '%s'",
  async (name) => {
    expect(await inspected('program', { [name]: FIVE_MINUTES })).toEqual(OWN);
  },
);

test('a script without scenarios of its own lasts as long as the plan', async () => {
  expect(await inspected('program', scenariosOf(plan))).toEqual(PLANNED);
});

test('k6 in a container is asked as well, with the folders of the load and of the script', async () => {
  expect(await inspected('container', { load: FIVE_MINUTES })).toEqual(OWN);
  const line = readFileSync(join(folder, 'arguments'), 'utf8');
  expect(line).toMatch(
    /^run --rm .*grafana\/k6:2\.2\.0 inspect --execution-requirements --log-format json --env SVCNET_LOAD=/,
  );
  expect(line).toContain(`--volume /scripts:/scripts:ro --volume ${folder}:${folder} --workdir ${folder} `);
  expect(await inspected('container', scenariosOf(plan))).toEqual(PLANNED);
});
