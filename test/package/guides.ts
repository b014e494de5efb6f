/**
 * The commands of the guides, played with nothing but the installed package: one script per page, in a folder of its own,
 * with the files that the pages show. What cannot run here is listed with the reason.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { messageOf } from '../../harness/base/errors.ts';

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

/** Below `docs`. */
const PAGES = [
  ...readdirSync(join(DOCS, 'guides')).map((name) => `guides/${name}`),
  'quick-start.md',
  'reference/conformance.md',
  'reference/test-runners.md',
  'comparing.md',
];

/** They need more than the package. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  'quick-start.md': 'test/cluster/library/readme-commands.test.ts',
  'guides/money.md': 'test/cluster/library/readme-commands.test.ts',
  'guides/containers.md': 'test/docker/guide.test.ts',
  'guides/preset-factory.md': 'test/factory/factory.test.ts',
};

/** By page, without their comments. */
const NOT_PLAYED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'quick-start.md': { 'npm ci && npm run smoke': 'steps of .ci/run' },
  'guides/money.md': {
    'npx svcnet run bounced-cheque': 'takes minutes: run by test/cluster/scenarios',
    'npx svcnet run redistribution-round': 'takes minutes: run by test/cluster/scenarios',
    'npx svcnet run cheques settlements': 'takes minutes: run by test/cluster/scenarios',
  },
  'guides/containers.md': {
    'docker compose up': 'goes on for ever: test/docker/compose.test.ts',
    'npx svcnet export compose -f cluster.yaml --output net': 'test/docker/compose.test.ts',
    'npx svcnet attach -f net/network.yaml': 'many machines: test/docker/stack.test.ts',
  },
  'guides/in-tests.md': {
    'npm ci && npm run build && npm pack ./dist': 'typed in a clone: done before these tests',
    'npm install --save-dev /path/to/svcnet-0.1.0.tgz': 'done before these tests',
  },
  'guides/faults-and-replay.md': {
    'npx svcnet run byzantine': 'takes minutes: run by test/cluster/scenarios',
    'npx svcnet run storm': 'takes minutes: run by test/storm',
    'npx svcnet replay last --times 10': 'needs a failed storm: test/cluster/replay',
    'npx svcnet minimise last': 'needs a failed storm: test/cluster/replay',
    'npx svcnet run <folder>/minimised/storm.json': 'needs a failed storm: test/cluster/replay',
  },
  'guides/virtual-time.md': {
    'npx svcnet run storm --driver simulated --seeds 1..4 --nodes 5 --set duration=20s':
      'takes a minute of processor time: test/cluster/simulated',
    'npx svcnet run storm --driver simulated --seeds 1..1000': 'takes hours: test/cluster/simulated',
    'npx svcnet run storm --driver simulated --seeds 1..1000 --keep-going':
      'takes hours: test/cluster/simulated',
    'npx svcnet run storm --driver simulated --seeds 1..1000 --vary': 'takes hours: test/cluster/simulated',
  },
  'guides/load-tests.md': {
    "npx svcnet load upload --find-limit 'p95<500ms'": 'takes minutes alone on a machine: test/limit',
  },
  'comparing.md': {
    'npx svcnet diff --flavours svc,bee --bee-binary ./bee -- run upload retrieval':
      "needs the reader's Bee: test/cluster/diff",
    'npx svcnet compare --flavours svc,svc@../changed/node/main.ts --scenario upload':
      "needs the reader's clone: test/cluster/diff",
    'npx svcnet diff --flavours svc,svc@../changed/node/main.ts -- run upload':
      "needs the reader's clone: test/cluster/diff",
    'npx svcnet diff --flavours bee@./bee-2.7.1,bee@./bee-2.8.1,./ant.flavour.yaml --seed 7 -- run upload':
      "needs the reader's programs: test/cluster/diff",
    'npx svcnet compare --flavours svc,bee --load mixed --duration 30s --bee-binary ./bee':
      'takes many minutes, and needs a Bee',
  },
  'guides/growing.md': {
    'npx svcnet upgrade node-2 --binary ./bee-2.8.1': "needs the reader's Bees: test/cluster/growth",
    'npx svcnet upgrade --rolling --binary ./bee-2.8.1': "needs the reader's Bees: test/cluster/growth",
    'npx svcnet upgrade node-1 --binary ../changed/node/main.ts':
      "needs the reader's clone: test/cluster/growth",
    'npx svcnet upgrade node-3 --flavour ./ant.flavour.yaml':
      "needs the reader's program: test/cluster/growth",
    'npx svcnet upgrade node-4 --image bee:2.8.1': "needs the reader's image: test/docker",
  },
  'guides/other-nodes.md': {
    'npx svcnet flavour check ./ant.flavour.yaml': "needs the reader's program: test/cluster/flavours",
    'npx svcnet up -n 4 --with ant=2 --flavour ./ant.flavour.yaml':
      "needs the reader's program: test/cluster/flavours",
  },
};

/** What a page takes for granted: run before its commands, in the same shell. */
const GIVEN: Readonly<Record<string, string>> = {
  'guides/attach.md': `
    echo '{ "name": "field", "nodes": 2, "ports": 1633, "chain": { "port": 8545 } }' > field.yaml
    SVCNET_STATE=elsewhere npx svcnet up -f field.yaml --driver embedded`,
  'guides/load-tests.md': 'npx svcnet up -n 2 --driver embedded --name local',
  'guides/reading-a-failure.md': `
    npx svcnet run ./scenarios/spread.ts --driver embedded
    cp -R .svcnet/runs/*/ earlier
    npx svcnet up --preset factory -n 3 --driver embedded
    run=earlier`,
  'comparing.md': `
    cp -R ../guides/ci/reports/spread before
    cp -R before after`,
};

/** Pages of a lane are played one after the other; lanes run side by side. */
const LANES: readonly (readonly string[])[] = [
  [
    'guides/in-tests.md',
    'reference/test-runners.md',
    'guides/writing-a-scenario.md',
    'guides/ci.md',
    // Of a run of the one before.
    'comparing.md',
  ],
  // The second starts the preset, whose ports the first uses.
  ['guides/attach.md', 'guides/reading-a-failure.md'],
  ['guides/conformance.md', 'guides/watching.md', 'guides/applications.md'],
  [
    'guides/load-tests.md',
    'guides/faults-and-replay.md',
    'guides/snapshots.md',
    'guides/growing.md',
    'guides/virtual-time.md',
    'guides/real-bees.md',
  ],
];

/** What a reader puts in. */
const BLANKS: readonly (readonly [string, string])[] = [
  ['<run>', '"$run"'],
  ['<reference>', '"$reference"'],
  ['/path/to/bee', '"$BEE"'],
];

/**
 * As written, except: a load lasts two seconds, its own network is one process with two nodes, and a busy machine may breach
 * its thresholds (99) or make the later of two runs worse (1); scenarios upload one file of each size; packages are there
 * already; Ctrl-C ends what goes on (130); a reference that `curl` gets is the one to read next; npx takes half a second to
 * find the command that examples and scripts of pages find through it.
 */
const SHELL = `
set -eEuo pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
end() {
  local state
  for state in .svcnet elsewhere; do
    [ ! "$(ls "$state/clusters" 2>/dev/null)" ] || SVCNET_STATE=$state npx svcnet down --all
  done
}
trap 'end >/dev/null' EXIT
found() { "$INSTALLED/$@"; }
installed() {
  local name version
  for name; do
    version=
    case $name in ?*@*) version=\${name##*@} name=\${name%@*} ;; esac
    grep -q "\\"version\\": \\"$version" "$FOLDER/node_modules/$name/package.json" || return
  done
}
npx() {
  case "$*" in
    'svcnet load '*' --name '*) found "$@" --duration 2s --warmup 0s || [ $? = 99 ] ;;
    'svcnet load '*) found "$@" --duration 2s --warmup 0s --nodes 2 --driver embedded || [ $? = 99 ] ;;
    'svcnet compare '*) found "$@" || [ $? = 1 ] ;;
    'svcnet ui '*) found "$@" || [ $? = 130 ] ;;
    'svcnet run upload '* | 'svcnet run retrieval '*) found "$@" --set count=1 ;;
    *) found "$@" ;;
  esac
}
npm() {
  case "$*" in
    'install --save-dev '*) installed "\${@:3}" ;;
    *) command npm "$@" ;;
  esac
}
curl() {
  local answer; answer=$(command curl "$@"); printf '%s\\n' "$answer"
  case $answer in '{"reference":"'*) reference=$(printf '%s' "$answer" | cut -d'"' -f4) ;; esac
}
`;

/** Reads its page and, where a command serves it until Ctrl-C, presses that. */
const BROWSER = `#!/bin/sh
case $1 in
  http*) curl -sSf "$1" > page.html && kill -INT $PPID ;;
  *) cp "$1" page.html ;;
esac
`;

/** @returns `title` is the path of a block that is a file */
function codeBlocks(page: string): { language: string; title: string | undefined; code: string }[] {
  const fences = readFileSync(join(DOCS, page), 'utf8').matchAll(
    /^```(\w*)(?: title="([^"]+)")?\n([\s\S]*?)^```$/gm,
  );
  return [...fences].map(([, language = '', title, code = '']) => ({ language, title, code }));
}

/** One line each, without comments. */
function commandsOf(page: string): string[] {
  return codeBlocks(page)
    .filter(({ language, title }) => (language === 'sh' || language === '') && title === undefined)
    .flatMap(({ code }) => code.replace(/ *\\\n */g, ' ').split('\n'))
    .map((line) => line.replace(/(^|\s+)#.*$/, ''))
    .filter((line) => line !== '');
}

export function played(page: string): string[] {
  return commandsOf(page).filter((command) => !(command in (NOT_PLAYED[page] ?? {})));
}

/** What the pages have their readers install beside the package, each once, as they name it. */
export function installedBeside(): string[] {
  const named = LANES.flat().flatMap((page) =>
    played(page).flatMap((command) => /^npm install --save-dev (.*)$/.exec(command)?.[1]?.split(' ') ?? []),
  );
  return [...new Set(named)];
}

/** Without a test, or gone: there are none. */
export function unaccounted(): string[] {
  const known = new Set([...LANES.flat(), ...Object.keys(ELSEWHERE)]);
  const forgotten = PAGES.filter((page) => !known.has(page) && played(page).length > 0);
  const empty = [...known].filter((page) => played(page).length === 0);
  const gone = Object.entries(NOT_PLAYED).flatMap(([page, reasons]) => {
    const shown = commandsOf(page);
    return Object.keys(reasons)
      .filter((command) => !shown.includes(command))
      .map((command) => `${page}: ${command}`);
  });
  return [...forgotten, ...empty, ...gone];
}

export interface Machine {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Programs that not every machine has. */
  readonly k6: boolean;
  readonly bee: string | undefined;
  /** Added to the ports that pages name: something else may listen there. */
  readonly shift: number;
}

export const NAMED_PORTS = [1633, 1634, 1635, 1636, 1637, 1638, 1643, 1644, 1645, 8545, 8546];

export function playable({ k6, bee }: Machine): string[] {
  const needs: Readonly<Record<string, boolean>> = {
    'guides/load-tests.md': k6,
    'guides/real-bees.md': bee !== undefined,
  };
  return LANES.flat().filter((page) => needs[page] ?? true);
}

/** @returns for each page its end: `undefined`, or what went wrong */
export function playAll(machine: Machine): ReadonlyMap<string, Promise<string | undefined>> {
  const pages = playable(machine);
  const ends = new Map<string, Promise<string | undefined>>();
  for (const lane of LANES) {
    let before: Promise<unknown> = Promise.resolve();
    for (const page of lane.filter((name) => pages.includes(name))) {
      const end = before.then(() => play(page, machine));
      ends.set(page, end);
      before = end;
    }
  }
  return ends;
}

/** @param text of a page that names ports */
function moved(text: string, shift: number): string {
  if (shift === 0) return text;
  const first = Number(NAMED_PORTS[0]) + shift;
  return text
    .replace(new RegExp(`\\b(${NAMED_PORTS.join('|')})\\b`, 'g'), (port) => String(Number(port) + shift))
    .replaceAll('--preset factory', `--preset factory --port ${first}`);
}

/** Two nodes do for commands that name no other. */
function smaller(commands: string): string {
  return /node-[2-9]/.test(commands) ? commands : commands.replace(/(?<=svcnet up -n )[3-9]\b/g, '2');
}

async function play(page: string, { folder, env, bee, shift }: Machine): Promise<string | undefined> {
  const cwd = join(folder, 'pages', page.replace(/\.md$/, ''));
  for (const { title, code } of PAGES.flatMap(codeBlocks)) {
    if (title !== undefined) write(join(cwd, title), moved(code, shift));
  }
  const browser = join(cwd, 'browser');
  write(browser, BROWSER, 0o755);
  // A reader's project is a folder of its own: runners of tests look through all of it.
  write(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  const typed = smaller(played(page).join('\n'));
  const filled = BLANKS.reduce((text, [blank, value]) => text.replaceAll(blank, value), typed);
  const script = [SHELL, moved([GIVEN[page] ?? '', filled].join('\n'), shift)].join('\n');
  try {
    await promisify(execFile)('bash', ['-c', script], {
      cwd,
      env: {
        ...env,
        BROWSER: browser,
        BEE: bee,
        FOLDER: folder,
        INSTALLED: join(folder, 'node_modules/.bin'),
      },
      maxBuffer: 64 * 2 ** 20,
    });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return [stdout, stderr].map((text) => text.slice(-3000)).join('\n') || messageOf(error);
  }
}

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}
