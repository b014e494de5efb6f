/**
 * The processor time of test files, their processes' and that of the processes that these have waited for. What vitest
 * does for all files is not in it, nor is a program that outlives the one that started it, as a node of `svcnet up`.
 */
import { appendFileSync, readFileSync } from 'node:fs';

/** Names the file that gets a line for each test file; absent: nothing is measured. */
export const PROCESSOR_TIMES = 'SVCNET_PROCESSOR_TIMES';

/** Of times in `/proc/PID/stat`. */
const TICK_MS = 10;
/** In `/proc/PID/stat`, behind the program's name: of processes waited for, in user mode and in the system. */
const CHILDREN = [13, 14] as const;

/** Milliseconds until now, of this process and of those that it has waited for; of these on Linux alone. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  if (process.platform !== 'linux') return own;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return CHILDREN.reduce((total, index) => total + Number(fields[index]) * TICK_MS, own);
}

export function noteProcessor(into: string, file: string, ms: number): void {
  appendFileSync(into, `${JSON.stringify([file, ms])}\n`);
}

/** By path of the test file. */
export function readProcessor(from: string): Map<string, number> {
  const lines = readFileSync(from, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return new Map(lines.map((line) => JSON.parse(line) as [string, number]));
}
