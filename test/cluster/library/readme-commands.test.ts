import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { played } from '../../package/guides.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CLI = join(ROOT, 'harness/cli.ts');
const TOUR_TIMEOUT_MS = 240_000;

/**
 * As written, except: no package manager, an error answer ends the tour, logs are not followed, and `<reference>` is the
 * last one that an upload returned.
 */
const SHELL = `
set -euo pipefail
npm() {
  while [ "$1" != -- ]; do shift; done; shift
  if [ "$1 \${2-}" = "logs -f" ]; then set -- logs "$3"; fi
  "$NODE" "$CLI" "$@"
}
curl() {
  local answer; answer=$(command curl -sS --fail-with-body "$@") || { echo "curl $*: $answer" >&2; return 1; }
  case $answer in
    '{"reference":"'*) printf '%s' "$answer" | cut -d'"' -f4 > "$SVCNET_STATE.reference" ;;
  esac
  printf '%s\\n' "$answer"
}
`;

const folder = temporaryFolder('svcnet-readme');

async function play(name: string, page: string): Promise<string> {
  const state = join(folder, name);
  const env = { ...process.env, SVCNET_STATE: state, NODE: process.execPath, CLI };
  const script =
    SHELL + played(page).join('\n').replaceAll('<reference>', '$(cat "$SVCNET_STATE.reference")');
  try {
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: ROOT,
      env,
      maxBuffer: 64 * 2 ** 20,
    });
    return stdout;
  } finally {
    await promisify(execFile)(process.execPath, [CLI, 'down', '--all'], { env });
  }
}

test('the tour works as written', { timeout: TOUR_TIMEOUT_MS }, async () => {
  const told = await play('tour', 'quick-start.md');
  expect(told).toContain('# svcnet\n');
  expect(told).toMatch(/"reference":"[0-9a-f]{128}"/);
  expect(told).toContain('node-2 is killed');
});

test('the money tour ends with a cashed cheque', { timeout: TOUR_TIMEOUT_MS }, async () => {
  const told = await play('money', 'guides/money.md');
  expect(told).toMatch(/node-\d owes node-\d +[\d,]+$/m);
  expect(told).toMatch(/^ {2}node-0 +0\.0*[1-9]\d* /m);
  expect(told).toMatch(/"lastreceived":\{"beneficiary":"[0-9a-f]{40}"/);
  expect(told).toMatch(/"lastCashedCheque":\{"beneficiary":"[0-9a-f]{40}"[^}]*\},"transactionHash":"0x/);
  expect(told).toMatch(/"totalBalance":"\d+","availableBalance":"\d+"/);
});
