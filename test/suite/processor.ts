/**
 * Of test files' processes and of all that these started, in a control group where this process may make one. Elsewhere a
 * program that outlives its starter is not in it, as a node of `svcnet up`. What vitest does for all files and what
 * containers do is never in it.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file that gets a line per test file; absent: nothing is measured. */
export const PROCESSOR_TIMES = 'SVCNET_PROCESSOR_TIMES';

/** Of times in `/proc/PID/stat`. */
const TICK_MS = 10;
/** Behind the program's name: of processes waited for, in user mode and in the system. */
const CHILDREN = [13, 14] as const;
/** They end in the id of their first process. */
const GROUP = 'svcnet-tests-';
/** If nobody, or not this user, may make control groups. */
const NO_GROUPS = new Set(['EACCES', 'EBUSY', 'ENOENT', 'EOPNOTSUPP', 'EPERM', 'EROFS']);

export interface Meter {
  /** Milliseconds until now. */
  readonly read: () => number;
  /** The folder of its control group. */
  readonly group?: string;
}

export function processorMeter(): Meter {
  const before = withoutGroup();
  const group = enterGroup();
  if (group === undefined) return { read: withoutGroup };
  const began = groupMs(group);
  return { read: () => before + groupMs(group) - began, group };
}

/** Milliseconds until now, of this process and, on Linux, of those that it waited for. */
function withoutGroup(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  if (process.platform !== 'linux') return own;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return CHILDREN.reduce((total, index) => total + Number(fields[index]) * TICK_MS, own);
}

/** Undefined where there are none of version 2. */
function ownGroup(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'));
  const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'));
  return mount && path ? join(mount[1]!, path[1]!) : undefined;
}

/** @returns the folder of the new group */
function enterGroup(): string | undefined {
  const own = ownGroup();
  if (own === undefined) return undefined;
  const group = join(own, `${GROUP}${process.pid}`);
  try {
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
    return group;
  } catch (error) {
    if (NO_GROUPS.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

function groupMs(group: string): number {
  return Number(/^usage_usec (\d+)$/m.exec(readFileSync(join(group, 'cpu.stat'), 'utf8'))?.[1]) / 1000;
}

export function noteProcessor(into: string, file: string, { ms, group }: Noted): void {
  appendFileSync(into, `${JSON.stringify([file, { ms, group }])}\n`);
}

export interface Noted {
  readonly ms: number;
  /** Its process may have run other files too. */
  readonly group?: string | undefined;
}

/** By path of the test file. */
export function readProcessor(from: string): Map<string, Noted> {
  const lines = readFileSync(from, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return new Map(lines.map((line) => JSON.parse(line) as [string, Noted]));
}

/** Those whose processes have ended. */
export function removeGroups(noted: Iterable<Noted>): void {
  for (const group of new Set(Array.from(noted, (one) => one.group)))
    if (group !== undefined && existsSync(group) && isEmpty(group)) rmdirSync(group);
}

function isEmpty(group: string): boolean {
  return /^populated 0$/m.test(readFileSync(join(group, 'cgroup.events'), 'utf8'));
}
