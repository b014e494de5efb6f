/**
 * Processes that may outlive their starter, known by pid and start time, so that no reused pid is signalled. Each leads a
 * group: a signal also reaches what it started, and Ctrl-C in the terminal reaches neither.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { APPEND_NOT_THROUGH_LINKS } from '../errors.ts';
import { makeFolder } from '../own-folder.ts';
import { every } from '../wait.ts';
import { MACHINE_CLOCK } from './clock.ts';

/** `env` adds to what the testbed passes on. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Of variables that a caller's shell may set for its own node: `ANT_`. */
  readonly prefix?: string | undefined;
}

export interface ProcessId {
  readonly pid: number;
  /** Opaque; differs for a reused pid. */
  readonly startedAt: string;
  /** Where these hold, as `/proc/self/ns` has it; absent: not on Linux, or of an earlier version. */
  readonly namespaces?: string;
}

const NAMESPACES = { pid: 'PID', time: 'time' } as const;

const LABEL = 'SVCNET_LABEL';
const PART = 'SVCNET_PART';
/** A larger log is moved aside at the next start; one older file is kept. */
const LOG_ROTATE_BYTES = 32 * 1024 * 1024;
/** A loopback node takes some tens of milliseconds to stop. */
const EXIT_POLL_MS = 5;
/** Until a paused process stands still: it may first finish what it asked of its disk. */
const STANDSTILL_MS = 10_000;
const LOOK_MS = 500;

/** Programs that this process has started and not yet collected, by pid. */
const started = new Set<number>();

export interface SpawnOptions {
  readonly command: Command;
  readonly logFile: string;
  readonly stopWithParent: boolean;
  /** Undefined: no compiled code is read or written. */
  readonly compileCache: string | undefined;
  readonly label?: string;
  readonly part?: string;
}

export interface Spawned {
  readonly id: ProcessId;
  /** Only the starter knows the code. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** @throws the system's Error */
export async function spawnProgram(options: SpawnOptions): Promise<Spawned> {
  const log = openLog(options.logFile);
  let child: ChildProcess;
  try {
    child = spawn(options.command.file, [...options.command.args], {
      detached: true,
      // Standard input is the lifeline: closed at the parent's end, never written.
      stdio: [options.stopWithParent ? 'pipe' : 'ignore', log, log],
      env: {
        ...inheritedEnvironment(options.command),
        ...options.command.env,
        ...compileCacheOf(options),
        ...(options.label === undefined ? {} : { [LABEL]: options.label }),
        ...(options.part === undefined ? {} : { [PART]: options.part }),
        ...(options.stopWithParent ? { SVC_STOP_WITH_PARENT: '1' } : {}),
      },
    });
  } finally {
    closeSync(log);
  }
  if (child.pid !== undefined) started.add(child.pid);
  const exited = new Promise<Awaited<Spawned['exited']>>((resolve) => {
    child.once('exit', (code, signal) => {
      started.delete(child.pid as number);
      resolve({ code, signal });
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  // Writing to an ended process fails later; nothing is written, so the error means nothing.
  child.stdin?.on('error', () => child.stdin?.destroy());
  child.unref();
  const pid = child.pid as number;
  return { id: idOf(pid, startTimeOf(pid) ?? 'gone'), exited };
}

/**
 * Runs a program without its output.
 * @returns whether it ended by itself and successfully
 */
export function runProgram(
  command: Command,
  options: { compileCache: string | undefined; timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const { signal } = options;
  const child = spawn(command.file, [...command.args], {
    stdio: 'ignore',
    env: { ...inheritedEnvironment(command), ...command.env, ...compileCacheOf(options) },
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
    signal,
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code === 0));
    child.once('error', () => resolve(false));
  });
}

function compileCacheOf({ compileCache }: Pick<SpawnOptions, 'compileCache'>): Record<string, string> {
  return compileCache === undefined
    ? { NODE_DISABLE_COMPILE_CACHE: '1' }
    : { NODE_COMPILE_CACHE: compileCache };
}

const NODE_VARIABLES = /^(SVC|BEE)_/;

/** A node's options come from its file alone: the caller's variables must not leak in. */
export function inheritedEnvironment({ prefix }: Pick<Command, 'prefix'>): NodeJS.ProcessEnv {
  const isOfNode = (name: string) =>
    NODE_VARIABLES.test(name) || (prefix !== undefined && name.startsWith(prefix));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfNode(name)));
}

/** Appends; a large one is moved aside first. */
export function openLog(path: string): number {
  makeFolder(dirname(path));
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_ROTATE_BYTES) renameSync(path, `${path}.1`);
  return openSync(path, APPEND_NOT_THROUGH_LINKS, 0o666);
}

/** Here: another namespace has the same ids for other processes, which may have started in the same hundredth of a second. */
export function isAlive(id: ProcessId): boolean {
  return id.startedAt !== 'gone' && hiddenBy(id) === undefined && startTimeOf(id.pid) === id.startedAt;
}

/** @returns `paused`: stopped by a signal */
export function stateOf(id: ProcessId): 'running' | 'paused' | 'gone' {
  if (!isAlive(id)) return 'gone';
  return statusOf(id.pid)?.startsWith('T') === true ? 'paused' : 'running';
}

/** Processor time, ms; unshared memory, bytes; undefined: gone or unknown. */
export function usageOf(id: ProcessId): { cpuMs: number; memoryBytes: number } | undefined {
  if (process.platform !== 'linux' || !isAlive(id)) return undefined;
  const fields = linuxStat(id.pid);
  const memory = readProc(`/proc/${id.pid}/smaps_rollup`);
  const anonymous = /^Anonymous:\s+(\d+) kB$/m.exec(memory ?? '')?.[1];
  if (fields === undefined || anonymous === undefined) return undefined;
  // User and system time, in ticks of 10 ms on Linux.
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { cpuMs: ticks * 10, memoryBytes: Number(anonymous) * 1024 };
}

/**
 * This user's, with descendants.
 * @param part the only one that is meant
 */
export function labelled(label: string, part?: string): ProcessId[] {
  const marks = [`${LABEL}=${label}`, ...(part === undefined ? [] : [`${PART}=${part}`])];
  const isMarked = (texts: readonly string[]) => marks.every((mark) => texts.includes(mark));
  const pids =
    process.platform === 'linux'
      ? linuxProcesses().filter((pid) => isMarked(readProc(`/proc/${pid}/environ`)?.split('\0') ?? []))
      : execFileSync('ps', ['eww', '-ax', '-o', 'pid=,command='], {
          encoding: 'utf8',
          maxBuffer: 64 * 2 ** 20,
        })
          .split('\n')
          .filter((line) => isMarked(line.split(/\s+/)))
          .map((line) => line.trim().split(/\s+/)[0] ?? '');
  return pids
    .map(Number)
    .filter((pid) => pid !== process.pid)
    .map(processOf)
    .filter((id) => id !== undefined);
}

/** Of the processes that are seen here, words with any separator. */
export function commandLines(): string[] {
  if (process.platform === 'linux') {
    return linuxProcesses().flatMap((pid) => readProc(`/proc/${pid}/cmdline`) ?? []);
  }
  const options = { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 } as const;
  return execFileSync('ps', ['-axww', '-o', 'command='], options).split('\n');
}

function linuxProcesses(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

export function ownProcess(): ProcessId {
  return idOf(process.pid, startTimeOf(process.pid) ?? 'gone');
}

function idOf(pid: number, startedAt: string): ProcessId {
  const namespaces = ownNamespaces();
  return { pid, startedAt, ...(namespaces === undefined ? {} : { namespaces }) };
}

/** It runs, or nothing here can tell. */
export function mayBeAlive(id: ProcessId): boolean {
  return hiddenBy(id) !== undefined || isAlive(id);
}

/**
 * The kind of namespace that hides a process from here: whether it runs cannot be told.
 * @returns undefined: it can be, as after a reboot
 */
export function hiddenBy({ startedAt, namespaces }: ProcessId): string | undefined {
  const own = ownNamespaces();
  if (namespaces === undefined || own === undefined || namespaces === own) return undefined;
  if (!startedAt.startsWith(`${bootId()}/`)) return undefined;
  const others = namespaces.split(' ');
  const other = own.split(' ').find((link) => !others.includes(link));
  return Object.entries(NAMESPACES).find(([kind]) => other?.startsWith(kind))?.[1];
}

let knownNamespaces: string | undefined;

/** `pid:[4026531836] time:[4026531834]`; a kernel may lack the second. A process keeps its own. */
function ownNamespaces(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  if (knownNamespaces !== undefined) return knownNamespaces;
  const links = Object.keys(NAMESPACES).map((kind) => ifThere(() => readlinkSync(`/proc/self/ns/${kind}`)));
  knownNamespaces = links.filter((link) => link !== undefined).join(' ') || undefined;
  return knownNamespaces;
}

/** @returns undefined: none now */
export function processOf(pid: number): ProcessId | undefined {
  const startedAt = startTimeOf(pid);
  return startedAt === undefined ? undefined : idOf(pid, startedAt);
}

/** Also reaches all that it started, if it leads a group. @returns false: it was gone */
export function signalGroup(id: ProcessId, signal: NodeJS.Signals): boolean {
  return isAlive(id) && (send(-id.pid, signal) || send(id.pid, signal));
}

function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Forces it after `graceMs`. Resolves when it is gone.
 * @returns whether force was needed
 */
export async function endProcess(id: ProcessId, graceMs: number): Promise<{ forced: boolean }> {
  // A process stops its own children; only force reaches all.
  if (isAlive(id)) send(id.pid, 'SIGTERM');
  // A paused process sees the request only when it runs.
  signalGroup(id, 'SIGCONT');
  if (await gone(id, graceMs)) return { forced: false };
  await killProcess(id);
  return { forced: true };
}

/** Also kills all that it started. */
export async function killProcess(id: ProcessId): Promise<void> {
  signalGroup(id, 'SIGKILL');
  await gone(id, Number.POSITIVE_INFINITY);
}

/**
 * Freezes a process and its children. Resolves when still: other cores and disk waits go on briefly.
 * @returns false: gone
 */
export async function pauseProcess(id: ProcessId): Promise<boolean> {
  if (!signalGroup(id, 'SIGSTOP')) return false;
  await holds(() => stateOf(id) !== 'running', STANDSTILL_MS);
  return isAlive(id);
}

/**
 * A request without limit: a clock cannot tell a busy process from one in a loop.
 * @throws what the request throws, and Error with code `PAUSED` or `GONE`: another program may listen there now
 */
export async function whileRunning<T>(pid: number, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  let looksGone = 0;
  using _looks = every(MACHINE_CLOCK, LOOK_MS, () => {
    const found = processOf(pid);
    const state = found === undefined ? 'gone' : stateOf(found);
    if (state === 'running') return;
    // Its last answer may be unread: this process reads between two looks.
    if (state === 'gone' && looksGone++ === 0) return;
    ended.abort(Object.assign(new Error(`process ${pid} is ${state}`), { code: state.toUpperCase() }));
  });
  return await request(ended.signal);
}

function gone(id: ProcessId, withinMs: number): Promise<boolean> {
  return holds(() => !isAlive(id), withinMs);
}

async function holds(condition: () => boolean, withinMs: number): Promise<boolean> {
  const startedAt = MACHINE_CLOCK.monotonic();
  while (!condition()) {
    if (MACHINE_CLOCK.monotonic() - startedAt > withinMs) return false;
    await MACHINE_CLOCK.sleep(EXIT_POLL_MS);
  }
  return true;
}

function startTimeOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxStartTime(pid) : psStartTime(pid);
}

function linuxStartTime(pid: number): string | undefined {
  const fields = linuxStat(pid);
  if (fields === undefined) return undefined;
  // A zombie waits for its parent to collect it. We soon do so with what we started; others may never do, and neither do we,
  // as a container's first process, with orphans. Its other threads may still run, and have its ports and files open.
  const hasEnded = fields[0] === 'Z' && !started.has(pid) && Number(fields[17]) <= 1;
  if (fields[0] === 'X' || hasEnded) return undefined;
  return `${bootId()}/${fields[19]}`;
}

/**
 * `/proc/<pid>/stat` after the name in parentheses: the first field is the state, the 18th the number of threads, the 20th
 * the start time.
 */
function linuxStat(pid: number): string[] | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** @returns undefined: gone, or another user's */
function readProc(path: string): string | undefined {
  return ifThere(() => readFileSync(path, 'utf8'));
}

function ifThere(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return undefined;
    throw error;
  }
}

function statusOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxStat(pid)?.[0] : psField(pid, 'stat=');
}

let knownBootId: string | undefined;

/** Ticks count from boot: the boot id is part of the identity. */
function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return knownBootId;
}

function psStartTime(pid: number): string | undefined {
  const line = psField(pid, 'stat=,lstart=');
  return line === undefined || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '');
}

function psField(pid: number, format: string): string | undefined {
  try {
    // `ps` uses the caller's zone and language; identities are compared between processes.
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const line = execFileSync('ps', ['-o', format, '-p', String(pid)], { encoding: 'utf8', env }).trim();
    return line === '' ? undefined : line;
  } catch (error) {
    // `ps` found none.
    if ((error as { status?: number }).status === 1) return undefined;
    throw error;
  }
}
