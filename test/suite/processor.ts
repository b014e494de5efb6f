/**
 * Of test files' processes and of all that these started, in a control group where this process may make one. Elsewhere a
 * program that outlives its starter is not in it, as a node of `svcnet up`. What vitest does for all files and what
 * containers do is never in it.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The file that gets a line per test file; absent: nothing is measured. */
export const PROCESSOR_TIMES = 'SVCNET_PROCESSOR_TIMES';

/** Of times in `/proc/PID/stat`. */
const TICK_MS = 10;
/** Behind the program's name: of processes waited for, in user mode and in the system. */
const CHILDREN = [13, 14] as const;
const PROCESSES = 'cgroup.procs';
/** They end in the id of their first process. */
const GROUP = 'svcnet-tests-';
/** If nobody, or not this user, may make control groups. */
const NO_GROUPS = new Set(['EACCES', 'EAGAIN', 'EBUSY', 'ENOENT', 'EOPNOTSUPP', 'EPERM', 'EROFS']);

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
export function withoutGroup(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  if (process.platform !== 'linux') return own;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return CHILDREN.reduce((total, index) => total + Number(fields[index]) * TICK_MS, own);
}

/** Undefined where there are none of version 2, and where a container is shown another part of them than its own. */
function ownGroup(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const group = groupIn(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readFileSync('/proc/self/cgroup', 'utf8'),
  );
  return group !== undefined && processesOf(group).includes(String(process.pid)) ? group : undefined;
}

/** @param mounts as in `/proc/self/mountinfo` @param groups as in `/proc/self/cgroup` */
export function groupIn(mounts: string, groups: string): string | undefined {
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(mounts);
  const path = /^0::(.*)$/m.exec(groups);
  return mount && path ? join(mount[1]!, path[1]!) : undefined;
}

function processesOf(group: string): readonly string[] {
  const file = join(group, PROCESSES);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
}

/** @returns the folder of the new group */
function enterGroup(): string | undefined {
  let group: string | undefined;
  try {
    const own = ownGroup();
    if (own === undefined) return undefined;
    group = join(own, `${GROUP}${process.pid}`);
    // A process of the same id may have left one.
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, PROCESSES), String(process.pid));
    return group;
  } catch (error) {
    if (!NO_GROUPS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    if (group !== undefined) removeGroup(group);
    return undefined;
  }
}

function groupMs(group: string): number {
  return Number(/^usage_usec (\d+)$/m.exec(readFileSync(join(group, 'cpu.stat'), 'utf8'))?.[1]) / 1000;
}

export function noteProcessor(into: string, file: string, { ms, group }: Noted): void {
  appendFileSync(into, `${JSON.stringify([file, { ms, group }])}\n`);
}

export interface Noted {
  /** Absent where a process only names its group, which it may not live to do with its file. */
  readonly ms?: number;
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
    if (group !== undefined) removeGroup(group);
}

/** With those inside it, as of a run of tests that a test began. */
function removeGroup(group: string): void {
  if (!existsSync(group) || !/^populated 0$/m.test(readFileSync(join(group, 'cgroup.events'), 'utf8')))
    return;
  for (const inside of readdirSync(group, { withFileTypes: true }))
    if (inside.isDirectory()) removeGroup(join(group, inside.name));
  rmdirSync(group);
}
