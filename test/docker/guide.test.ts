/** Commands of the guide that need an engine and nothing else. Needs Docker. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { portShift } from '../cluster/ports.ts';
import { NAMED_PORTS, played } from '../package/guides.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildImage, docker } from './image.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('svcnet-guide');
let image: string;

beforeAll(async () => {
  image = await buildImage('guide');
});
afterAll(() => docker('rmi', image), 60_000);

/**
 * As written, except: no package manager; the image has another name, and is built already; and health is asked for until it
 * is healthy.
 */
const SHELL = `
set -eEuo pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
end() { npx svcnet down --all; command docker rm -fv net; }
trap 'end >/dev/null 2>&1' EXIT
npx() { shift; "$NODE" "$CLI" "$@"; }
docker() {
  case $1 in
    build) return ;;
    inspect) until [ "$(command docker "$@")" = healthy ]; do sleep 0.5; done ;;
    run) set -- "\${@/#%svcnet/$IMAGE}" ;;
  esac
  command docker "$@"
}
`;

test('the commands of the guide to containers work as written', async () => {
  const shift = await portShift(NAMED_PORTS);
  // Only what is published, and asked from here, moves.
  const commands = played('guides/containers.md').map((command) =>
    command.replace(/(?<=-p |127\.0\.0\.1:)\d{4}\b/g, (port) => String(Number(port) + shift)),
  );
  const { stdout } = await promisify(execFile)('bash', ['-c', [SHELL, ...commands].join('\n')], {
    cwd: ROOT,
    env: {
      ...process.env,
      SVCNET_STATE: join(folder, 'state'),
      NODE: process.execPath,
      CLI: join(ROOT, 'harness/cli.ts'),
      IMAGE: image,
    },
  });
  expect(stdout).toMatch(/^healthy$/m);
  expect(stdout).toContain('"batchID"');
  expect(stdout).toContain('"overlay"');
});
