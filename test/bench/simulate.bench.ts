/**
 * Sizes: SVCNET_BENCH_NODES, such as `5,10,50`, else all of them. A size that fails ends the benchmark. The table replaces
 * the one in `docs/reference/growth.md`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exponentOf } from './fit.ts';
import type { BenchResult } from './result.ts';
import type { Simulated } from './simulate-process.ts';

export const name = 'Growth of a simulated cluster with its nodes';

const PROGRAM = join(import.meta.dirname, 'simulate-process.ts');
const PAGE = join(import.meta.dirname, '../../docs/reference/growth.md');
const ALL = '5,10,50,100,200';
const NODES_MAX = 1000;
const LIMIT_MS = 3_600_000;
/** Times real time at rest. */
const REST_BARS: Readonly<Record<number, number>> = { 10: 1000, 100: 50, 1000: 5 };
/** Around the table of the page. */
const MARKS = ['<!-- table of npm run bench -- simulate -->', '<!-- end of the table -->'] as const;

interface Column {
  readonly title: string;
  readonly unit: string;
  readonly value: (simulated: Simulated) => number;
}

const COLUMNS: readonly Column[] = [
  { title: 'start', unit: 's of a core', value: ({ startS }) => startS },
  { title: 'usable after', unit: 'virtual ms', value: ({ virtualMs }) => virtualMs },
  { title: 'memory', unit: 'MiB', value: ({ mib }) => mib },
  { title: 'peers per node', unit: '', value: ({ peers }) => peers },
  { title: 'gossip messages per node', unit: '', value: ({ gossip }) => gossip },
  { title: 'streams per node', unit: '', value: ({ streams }) => streams },
  { title: 'at rest', unit: 'times real time', value: ({ restTimes }) => restTimes },
  { title: 'a chunk', unit: 'ms of a core', value: ({ chunkMs }) => chunkMs },
];

interface Measured {
  readonly nodes: number;
  readonly simulated: Simulated;
}

export async function run(): Promise<BenchResult[]> {
  const sizes = sizesFrom(process.env['SVCNET_BENCH_NODES'] ?? ALL);
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  try {
    const measured = sizes.map((nodes) => ({ nodes, simulated: measure(nodes, stateDir) }));
    const table = tableOf(measured);
    process.stdout.write(`${table}\n`);
    writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), table));
    return [...measured.flatMap(figures), ...exponents(measured)];
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** @throws RangeError */
function sizesFrom(text: string): number[] {
  const sizes = text.split(',').map(Number);
  if (!sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= NODES_MAX)) {
    throw new RangeError(
      `SVCNET_BENCH_NODES: got '${text}', expected numbers of nodes from 1 to ${NODES_MAX}, such as 5,10,50`,
    );
  }
  return sizes;
}

function measure(nodes: number, stateDir: string): Simulated {
  const args = ['--max-old-space-size=6144', PROGRAM, String(nodes), stateDir];
  const line = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: LIMIT_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(line) as Simulated;
}

function tableOf(measured: readonly Measured[]): string {
  const titles = COLUMNS.map(({ title, unit }) => (unit === '' ? title : `${title}, ${unit}`));
  const rows = [
    ['nodes', ...titles],
    ['nodes', ...titles].map(() => '---:'),
    ...measured.map(({ nodes, simulated }) => [
      String(nodes),
      ...COLUMNS.map(({ value }) => rounded(value(simulated))),
    ]),
  ];
  const machine = `${cpus().length} cores, Node.js ${process.version}; a simulation uses one core.`;
  return `${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n${machine}`;
}

function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}

function withTable(page: string, table: string): string {
  const [begin, end] = MARKS.map((mark) => page.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin) {
    throw new Error(`docs/reference/growth.md: expected the lines ${MARKS.join(' and ')}`);
  }
  return `${page.slice(0, begin)}${MARKS[0]}\n\n${table}\n\n${page.slice(end)}`;
}

function figures({ nodes, simulated }: Measured): BenchResult[] {
  const bar = REST_BARS[nodes];
  return COLUMNS.map(({ title, unit, value }) => ({
    name: `${nodes} nodes: ${title}`,
    value: value(simulated),
    unit,
    ...(title === 'at rest' && bar !== undefined
      ? { baseline: `the bar, ${bar} times`, ratio: value(simulated) / bar }
      : {}),
  }));
}

function exponents(measured: readonly Measured[]): BenchResult[] {
  return COLUMNS.flatMap(({ title, value }) => {
    const exponent = exponentOf(measured.map(({ nodes, simulated }) => ({ nodes, value: value(simulated) })));
    return exponent === undefined ? [] : [{ name: `exponent: ${title}`, value: exponent, unit: '' }];
  });
}
