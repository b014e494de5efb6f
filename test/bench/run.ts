/**
 * `npm run bench [-- NAME…]`: runs every benchmark of this folder (or those whose file name contains a given word),
 * prints a table and writes the figures as JSON. Absolute numbers depend on the machine; ratios within one run count.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './result.ts';

interface Bench {
  readonly name: string;
  run(): Promise<BenchResult[]>;
}

const folder = import.meta.dirname;
const wanted = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((file) => file.endsWith('.bench.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((word) => file.includes(word)))
  .sort();
if (files.length === 0) {
  const known = readdirSync(folder).filter((file) => file.endsWith('.bench.ts'));
  process.stderr.write(`no benchmark matches ${wanted.join(', ')}; known: ${known.join(', ')}\n`);
  process.exit(2);
}

const report: Record<string, BenchResult[]> = {};
for (const file of files) {
  const bench = (await import(join(folder, file))) as Bench;
  process.stdout.write(`\n${bench.name}\n`);
  const results = await bench.run();
  report[bench.name] = results;
  const width = Math.max(...results.map(({ name }) => name.length));
  for (const { name, value, unit, ratio, baseline } of results) {
    const compared = ratio === undefined ? '' : `   ${ratio.toFixed(2)}x of ${baseline ?? 'baseline'}`;
    process.stdout.write(`  ${name.padEnd(width)}  ${formatted(value).padStart(12)} ${unit}${compared}\n`);
  }
}

const out = join(folder, 'results');
mkdirSync(out, { recursive: true });
const path = join(out, `${new Date().toISOString().replaceAll(':', '-')}.json`);
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  arch: arch(),
  node: process.version,
};
writeFileSync(path, `${JSON.stringify({ machine, report }, undefined, 2)}\n`);
process.stdout.write(`\nfigures: ${path}\n`);

function formatted(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value >= 10 ? value.toFixed(1) : value.toFixed(3);
}
