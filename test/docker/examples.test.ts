/** The package is linked to the sources. Needs Docker and Compose. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildImage, docker } from './image.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('svcnet-examples');
let image: string;

beforeAll(async () => {
  image = await buildImage('examples');
  cpSync(join(ROOT, 'examples'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'svcnet'));
});
afterAll(() => docker('rmi', image), 60_000);

test.each(['docker-compose', 'testcontainers'])('%s', (name) => {
  const ended = spawnSync('npm', ['test'], {
    cwd: join(folder, name),
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      SVCNET_IMAGE: image,
      COMPOSE_PROJECT_NAME: `svcnet-example-${process.pid}`,
      // The image of its reaper cannot be pulled everywhere.
      TESTCONTAINERS_RYUK_DISABLED: 'true',
    },
    encoding: 'utf8',
  });
  expect(`${ended.stdout}${ended.stderr}`, name).toMatch(/was uploaded to|pass 1/);
  expect(ended.status).toBe(0);
});

test('nothing is left behind', () => {
  expect(docker('ps', '-aq', '--filter', `ancestor=${image}`)).toBe('');
});
