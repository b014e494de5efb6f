/**
 * The documentation's commands run as a user whom the system does not know, with little of everything. Needs Docker, for a
 * place that is like this.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildImage, docker } from './image.ts';

const USER = 4242;
/** Nothing listens there. */
const PROXY = 'http://127.0.0.1:9';
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
const ENVIRONMENT: Readonly<Record<string, string>> = {
  HOME: '/home/node',
  TMPDIR: '/scratch',
  SVCNET_STATE: '/state',
  TERM: 'dumb',
  LANG: 'C',
  NODE_USE_ENV_PROXY: '1',
  ...Object.fromEntries(PROXY_VARIABLES.map((name) => [name, PROXY])),
};
const FLAGS = [
  `--user ${USER}:${USER} --network none --read-only --cap-drop ALL --security-opt no-new-privileges`.split(
    ' ',
  ),
  '--cpus 1 --memory 512m --pids-limit 100 --ulimit nofile=256:256'.split(' '),
  ['/scratch:', '/state:', '/locked:ro,'].flatMap((mount) => ['--tmpfs', `${mount}uid=${USER},mode=0700`]),
  Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
].flat();
const SMALL = '--set size=256KiB --set dir=/app/chain';
const SHELL = `
umask 077
svcnet() { node harness/cli.ts "$@"; }
# Each process with its command, but for this shell and those of its own commands.
processes() { for file in /proc/[0-9]*/cmdline; do read -r -d '' first < "$file" && echo "$first"; done; }
`;

let image: string;
beforeAll(async () => {
  image = await buildImage('environment');
});
afterAll(() => {
  docker('rmi', image);
});

async function typed(script: string): Promise<string> {
  const command = `exec 2>&1\nset -e\n${SHELL}${script}`;
  const run = ['run', '--rm', ...FLAGS, '--entrypoint', '/bin/sh', image, '-c', command];
  try {
    return (await promisify(execFile)('docker', run)).stdout;
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout, { cause: error });
  }
}

test('a network starts, is used and is removed, with a dead proxy, one processor and small limits', async () => {
  const output = await typed(`
    svcnet up -n 2
    svcnet status
    svcnet run smoke ${SMALL} --name local
    svcnet down
    ls -AlR /state
    ls -A /state/clusters
    echo "left: $(processes)"`);
  expect(output).toMatch(/all is well/);
  expect(output).toMatch(/smoke passed/);
  expect(output).toMatch(/removed local: 2 nodes stopped/);
  // Neither colours nor a cursor that moves.
  expect(output).not.toContain('\u001b');
  const listed = output.match(/^[-dl][rwxs-]{9}/gm) ?? [];
  expect(listed.length).toBeGreaterThan(10);
  expect(listed.filter((mode) => !mode.endsWith('------'))).toEqual([]);
  expect(output).toMatch(/left: \/bin\/sh$/m);
});

test('without a temporary folder it works as well, and a state folder that cannot be written is named', async () => {
  const output = await typed(`
    export TMPDIR=/locked
    svcnet run smoke -n 2 --driver embedded ${SMALL}
    export SVCNET_STATE=/locked/state
    for command in 'up -n 2' 'run smoke -n 2'; do svcnet $command && exit 3 || echo "ended with $?"; done`);
  expect(output).toMatch(/smoke passed/);
  const refusal =
    /^error: cannot write to \/locked\/state\S*: read-only file system \(EROFS\); choose another with SVCNET_STATE$/gm;
  expect(output.match(refusal)).toHaveLength(2);
  expect(output.match(/^ended with 2$/gm)).toHaveLength(2);
});
