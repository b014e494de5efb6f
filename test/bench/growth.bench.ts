/**
 * Sizes: SVCNET_BENCH_NODES, such as `process:5,10 embedded:50`, else all of them, which takes several minutes. A size that
 * does not start in time, or breaks, is a row that says so.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exponentOf, type Sizes, sizesFrom } from './fit.ts';
import type { Grown, Outcome } from './growth-process.ts';
import type { BenchResult } from './result.ts';

export const name = 'Growth of a cluster with its nodes';

const PROGRAM = join(import.meta.dirname, 'growth-process.ts');
const ALL = 'process:5,10,20,50 embedded:5,10,20,50,100';
/** Seconds until usable. */
const START_BARS: Readonly<Record<keyof Sizes, Readonly<Record<number, number>>>> = {
  process: { 20: 6, 50: 20, 100: 60 },
  embedded: { 50: 6 },
};
const CPU_EXPONENT_BAR = 1.3;
/** Up to this size the bar holds. */
const CPU_EXPONENT_NODES_MAX = 50;
const START_LIMIT_MS = 100_000;
const REST_LIMIT_MS = 180_000;

interface Size {
  readonly driver: keyof Sizes;
  readonly nodes: number;
}

type Measured = Size & { readonly grown: Grown };

interface Column {
  readonly title: string;
  readonly unit: string;
  readonly value: (grown: Grown) => number;
}

const COLUMNS: readonly Column[] = [
  { title: 'start', unit: 's', value: ({ startS }) => startS },
  { title: 'until meshed', unit: 's', value: ({ meshS }) => meshS },
  { title: 'CPU until usable, all nodes', unit: 's', value: ({ cpuS }) => cpuS },
  { title: 'memory per node', unit: 'MiB', value: ({ mib }) => mib },
  { title: 'peers per node', unit: '', value: ({ peers }) => peers },
  { title: 'streams per node', unit: '', value: ({ streams }) => streams },
  { title: 'records told per node', unit: '', value: ({ records }) => records },
  { title: 'idle, all nodes', unit: '% of a core', value: ({ idlePercent }) => idlePercent },
  { title: 'upload of 4 MiB', unit: 'MB/s', value: ({ uploadMbS }) => uploadMbS },
  { title: 'download of 4 MiB', unit: 'MB/s', value: ({ downloadMbS }) => downloadMbS },
];

export async function run(): Promise<BenchResult[]> {
  const sizes = sizesFrom(process.env['SVCNET_BENCH_NODES'] ?? ALL);
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const rows: BenchResult[] = [];
  const measured: Measured[] = [];
  try {
    write(TABLE_HEAD);
    for (const driver of ['process', 'embedded'] as const) {
      if (sizes[driver].length === 0) continue;
      // Compiled code is there for all that counts.
      await outcomeOf({ driver, nodes: 1 }, stateDir);
      for (const nodes of sizes[driver]) {
        const outcome = await outcomeOf({ driver, nodes }, stateDir);
        write([tableRow({ driver, nodes }, outcome)]);
        if ('failed' in outcome) rows.push(failure({ driver, nodes }, outcome.failed));
        else {
          measured.push({ driver, nodes, grown: outcome });
          rows.push(...figures({ driver, nodes, grown: outcome }));
        }
      }
      rows.push(...exponents(measured.filter((one) => one.driver === driver)));
    }
    return rows;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

function failure({ driver, nodes }: Size, why: string): BenchResult {
  const [line] = why.split('\n');
  return {
    name: `${driver}, ${nodes} nodes: FAILED, ${line}; limit`,
    value: START_LIMIT_MS / 1000,
    unit: 's',
  };
}

function figures({ driver, nodes, grown }: Measured): BenchResult[] {
  const bar = START_BARS[driver][nodes];
  return COLUMNS.map(({ title, unit, value }) => ({
    name: `${driver}, ${nodes} nodes: ${title}`,
    value: value(grown),
    unit,
    ...(title === 'start' && bar !== undefined
      ? { baseline: `the bar, ${bar} s`, ratio: value(grown) / bar }
      : {}),
  }));
}

function exponents(measured: readonly Measured[]): BenchResult[] {
  return COLUMNS.flatMap(({ title, value }) => {
    const isCpu = title.startsWith('CPU');
    const counted = measured.filter(({ nodes }) => !isCpu || nodes <= CPU_EXPONENT_NODES_MAX);
    const exponent = exponentOf(counted.map(({ nodes, grown }) => ({ nodes, value: value(grown) })));
    if (exponent === undefined) return [];
    return [
      {
        name: `${measured[0]?.driver}, exponent: ${title}`,
        value: exponent,
        unit: '',
        ...(isCpu ? { baseline: `the bar, ${CPU_EXPONENT_BAR}`, ratio: exponent / CPU_EXPONENT_BAR } : {}),
      },
    ];
  });
}

/** As in `docs/reference/growth.md`, line by line: a run that is ended early has shown what it measured. */
function write(rows: readonly (readonly string[])[]): void {
  for (const cells of rows) process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

const TABLE_HEAD = [
  ['driver', 'nodes', ...COLUMNS.map(({ title, unit }) => (unit === '' ? title : `${title}, ${unit}`))],
  ['---', '---:', ...COLUMNS.map(() => '---:')],
];

function tableRow({ driver, nodes }: Size, outcome: Outcome): string[] {
  const cells =
    'failed' in outcome
      ? [`failed: ${firstLine(outcome.failed)}`]
      : COLUMNS.map(({ value }) => rounded(value(outcome)));
  return [driver, String(nodes), ...cells];
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(2);
}

async function outcomeOf({ driver, nodes }: Size, stateDir: string): Promise<Outcome> {
  const flags = ['--expose-gc', '--max-old-space-size=8192'];
  const args = [...flags, PROGRAM, driver, String(nodes), String(START_LIMIT_MS), stateDir];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: START_LIMIT_MS + REST_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const line = stdout.split('\n').find((text) => text.startsWith('{'));
  if (line !== undefined) return JSON.parse(line) as Outcome;
  return { failed: code === null ? 'it took too long and was ended' : `it ended with code ${code}` };
}
