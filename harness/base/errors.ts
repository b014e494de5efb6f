/** What goes wrong in the testbed itself; `client/errors.ts` has nodes' errors. */
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Codes of `HarnessError`. */
export type HarnessErrorCode =
  | 'USAGE'
  | 'ARGUMENT_INVALID'
  | 'DEFINITION_INVALID'
  | 'NETWORK_INVALID'
  | 'CLUSTER_EXISTS'
  | 'CLUSTER_NOT_FOUND'
  | 'CLUSTER_GONE'
  | 'NODE_NOT_FOUND'
  | 'NODE_STATE'
  | 'MEMBER_LOST'
  | 'FAULT_REFUSED'
  | 'GROWTH_REFUSED'
  | 'STATE_INVALID'
  | 'CANNOT_READ'
  | 'CANNOT_WRITE'
  | 'PORT_IN_USE'
  | 'PROCESS_FAILED'
  | 'CHAIN_FAILED'
  | 'PREPARE_FAILED'
  | 'CHAIN_STEADY'
  | 'CHAIN_UNCONTROLLED'
  | 'CONTRACT_UNKNOWN'
  | 'BINARY_INVALID'
  | 'PROGRAM_NOT_FOUND'
  | 'ENGINE_FAILED'
  | 'IMAGE_FAILED'
  | 'SNAPSHOT_EXISTS'
  | 'SNAPSHOT_NOT_FOUND'
  | 'SNAPSHOT_REFUSED'
  | 'LOAD_FAILED'
  | 'RUN_NOT_FOUND'
  | 'RUN_INVALID'
  | 'NOT_TRUSTED'
  | 'RUNS_DIFFER'
  | 'UPLOAD_UNKNOWN'
  | 'BATCH_UNKNOWN'
  | 'WAIT_TIMEOUT'
  | 'START_TIMEOUT'
  | 'INTERRUPTED';

/**
 * What this package throws. `code` is stable, the message names what was wrong and what was expected, `hint` the next step.
 */
export class HarnessError extends Error {
  readonly code: HarnessErrorCode;
  /** A second paragraph for people: log lines, the command to try. */
  readonly hint: string | undefined;

  constructor(
    code: HarnessErrorCode,
    message: string,
    options: ErrorOptions & { hint?: string | undefined } = {},
  ) {
    super(message, options);
    this.name = 'HarnessError';
    this.code = code;
    this.hint = options.hint;
  }
}

/** `thresholdBreached`, k6's code: a load ran, but missed its thresholds. */
export const EXIT = {
  success: 0,
  checkFailed: 1,
  usage: 2,
  thresholdBreached: 99,
  interrupted: 130,
} as const;

/** An unmet or lost condition is a failed check; the rest is usage or environment. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof HarnessError)) return EXIT.usage;
  if (error.code === 'WAIT_TIMEOUT' || error.code === 'CLUSTER_GONE') return EXIT.checkFailed;
  return error.code === 'INTERRUPTED' ? EXIT.interrupted : EXIT.usage;
}

/** The message of anything that was thrown; of what the system refused, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? (systemMessage(error) ?? error.message) : String(error);
}

export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw interrupted(signal);
}

/** `svcnet down` removed it. */
export function clusterGone(name: string): HarnessError {
  return new HarnessError('CLUSTER_GONE', `cluster '${name}' has been removed`, {
    hint: `Start it again with: svcnet up --name ${name}`,
  });
}

export function interrupted(signal: AbortSignal): HarnessError {
  return signal.reason instanceof HarnessError
    ? signal.reason
    : new HarnessError('INTERRUPTED', 'interrupted', { cause: signal.reason });
}

/** Of writing. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
  ENOSPC: 'disk full',
  EDQUOT: 'disk quota exceeded',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files on this machine',
  ENAMETOOLONG: 'name too long',
  ENOTDIR: 'a file is where a folder should be',
  EEXIST: 'a file is where a folder should be',
  EISDIR: 'a folder is where a file should be',
  EIO: 'input/output error',
  EFBIG: 'file too large',
  ENOENT: 'no such folder',
};
const UNREADABLE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENAMETOOLONG', 'EIO'].map((code) => [
      code,
      REASONS[code] ?? code,
    ]),
  ),
  ENOTDIR: 'a file is where a folder should be',
  EISDIR: 'a folder is where a file should be',
  ELOOP: 'it is a link, or its links lead in a circle',
};
/** Of a call whose purpose is not known here. */
const PLAIN: Readonly<Record<string, string>> = {
  ...REASONS,
  ...UNREADABLE,
  EEXIST: 'it exists already',
  ENOENT: 'no such file or folder',
  ENOTEMPTY: 'the folder is not empty',
  EXDEV: 'it is on another file system',
  EAGAIN: 'resource temporarily unavailable',
};
const VERBS: Readonly<Record<string, string>> = {
  mkdir: 'make',
  rename: 'move',
  copyfile: 'copy',
  link: 'link',
  symlink: 'link',
  unlink: 'remove',
  rmdir: 'remove',
  rm: 'remove',
  open: 'open',
  read: 'read',
  write: 'write',
};

const LIMIT_HINTS: Readonly<Record<string, string>> = {
  EMFILE: 'Allow more with: ulimit -n 4096',
  ENFILE: 'Allow more with: ulimit -n 4096',
  EFBIG: 'Allow larger files with: ulimit -f unlimited',
};

/** Another owner, or other rights, would do. */
const OWNERS = new Set(['EACCES', 'EPERM']);
const WRITING = new Set(['mkdir', 'open', 'write', 'rename', 'copyfile', 'cp', 'fsync', 'close', 'access']);

/** @param hint for an existing file */
export function fileRefused(path: string, error: unknown, hint: string): HarnessError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new HarnessError('USAGE', `${path} already exists`, { hint });
  const reason = code === 'ENOENT' ? `${REASONS[code]} (${code})` : (reasonOf(error) ?? messageOf(error));
  return new HarnessError('USAGE', `cannot write ${path}: ${reason}`, {
    cause: error,
    hint: systemHint(error),
  });
}

/**
 * Why a folder is unwritable.
 * @param error with its causes
 * @param remedy what a person can do @returns the error itself if about something else
 */
export function cannotWrite(
  folder: string,
  error: unknown,
  remedy = 'choose another with SVCNET_STATE',
): unknown {
  if (error instanceof HarnessError && error.code === 'CANNOT_WRITE') return error;
  const cause = writeFailure(folder, error);
  if (cause === undefined) return error;
  const code = cause.code ?? '';
  const help = LIMIT_HINTS[code] === undefined ? remedy : LIMIT_HINTS[code].toLowerCase();
  return new HarnessError('CANNOT_WRITE', `cannot write to ${folder}: ${REASONS[code]} (${code}); ${help}`, {
    cause: error,
  });
}

/** @returns the error itself if the system did not refuse to read */
export function cannotRead(path: string, error: unknown): unknown {
  // Under jest it is of another realm: `instanceof` fails.
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!(code in UNREADABLE)) return error;
  return new HarnessError('CANNOT_READ', `cannot read ${path}: ${UNREADABLE[code]} (${code})`, {
    cause: error,
    hint:
      systemHint(error) ??
      (OWNERS.has(code)
        ? 'If it is yours, allow yourself to read it with chmod u+rwX. If another user has made it, for example with sudo, give it back with chown, or choose another folder with SVCNET_STATE.'
        : undefined),
  });
}

function writeFailure(folder: string, error: unknown): NodeJS.ErrnoException | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code = '', syscall = '', path } = cause as NodeJS.ErrnoException;
    const isThere = path === undefined || isBelow(path, folder) || isBelow(folder, path);
    if (code in REASONS && WRITING.has(syscall) && isThere) {
      // mkdir fails with ENOENT on a read-only file system, and where nobody can make folders, as below /proc.
      const nobody = syscall === 'mkdir' ? cause : undefined;
      return code === 'ENOENT' ? (accessFailure(folder) ?? nobody) : cause;
    }
  }
  return undefined;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function accessFailure(folder: string): NodeJS.ErrnoException | undefined {
  const parent = dirname(folder);
  if (!existsSync(folder) && parent !== folder) return accessFailure(parent);
  try {
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

/** Makes a file; refuses a link. */
export const APPEND_NOT_THROUGH_LINKS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);

export function logFailure(log: string): HarnessError | undefined {
  try {
    const file = openSync(log, APPEND_NOT_THROUGH_LINKS, 0o666);
    try {
      writeSync(file, '\n');
    } finally {
      closeSync(file);
    }
    return undefined;
  } catch (error) {
    const failure = cannotWrite(dirname(log), error);
    return failure instanceof HarnessError ? failure : undefined;
  }
}

// What the system refused, in words: the one translation for all that commands print.

/** @returns reason and code; undefined for anything but a refusal that is known here */
export function reasonOf(error: unknown): string | undefined {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'ERR_ACCESS_DENIED') return `Node.js runs without this permission (${code})`;
  const reason = syscall === undefined ? undefined : PLAIN[code];
  return reason === undefined ? undefined : `${reason} (${code})`;
}

/** Instead of Node.js's own text, which begins with the code. @returns undefined unless it is about a file or a program */
function systemMessage(error: Error): string | undefined {
  const { syscall = '', path, dest, resource } = error as Refusal;
  if (syscall === 'uv_cwd') return 'the current folder no longer exists: change to another one';
  const reason = reasonOf(error);
  if (reason === undefined) return undefined;
  if (syscall.startsWith('spawn')) {
    const missing = reason.replace(PLAIN['ENOENT'] ?? '', 'no such program');
    return path === undefined ? undefined : `cannot run ${path}: ${missing}`;
  }
  const about = path ?? resource;
  if (about === undefined || about === '') return VERBS[syscall] === undefined ? undefined : reason;
  // Either may be the one that is refused.
  const to = dest === undefined ? '' : ` to ${dest}`;
  return `cannot ${VERBS[syscall] ?? 'access'} ${about}${to}: ${reason}`;
}

type Refusal = NodeJS.ErrnoException & { readonly dest?: string; readonly resource?: string };

/** What a person can do about it, whichever file it is. */
export function systemHint(error: unknown): string | undefined {
  const { code = '', syscall = '' } = (error ?? {}) as NodeJS.ErrnoException;
  if (LIMIT_HINTS[code] !== undefined) return LIMIT_HINTS[code];
  if (code === 'EAGAIN' && syscall.startsWith('spawn')) return limitHint();
  if (code === 'ENAMETOOLONG') return 'Choose a shorter name.';
  return code === 'ERR_ACCESS_DENIED'
    ? 'Allow it with an --allow-… option of Node.js, or run it without --permission.'
    : undefined;
}

const OWN_PROCESS = '/proc/self';
const CGROUPS = '/sys/fs/cgroup';
/** Threads count as processes. */
const LIMITS = { 'Max processes': 'ulimit -u', 'Max address space': 'ulimit -v' };

/**
 * Why a process may have ended that says nothing of it itself.
 * @param told how it ended, and its last lines
 */
export function endHint(told: readonly string[], own = OWN_PROCESS, cgroups = CGROUPS): string | undefined {
  if (process.platform === 'linux' && !existsSync(join(own, 'stat'))) {
    return 'svcnet watches processes through /proc, which is not mounted here.';
  }
  const tells = (word: string) => told.some((text) => text.includes(word));
  // What ends by it has often been refused a thread or memory. A full heap of JavaScript says so itself.
  if (tells('SIGABRT') && !tells('JavaScript heap out of memory')) return limitHint(own, cgroups);
  return Object.entries(LIMIT_HINTS).find(([code]) => tells(code))?.[1];
}

/** What this process hands down to those it starts. @returns undefined: nothing is limited, or the system does not say */
function limitHint(own = OWN_PROCESS, cgroups = CGROUPS): string | undefined {
  const file = join(own, 'limits');
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8');
  const limits = Object.entries(LIMITS).flatMap(([name, command]) => {
    const soft = new RegExp(`^${name} +(\\d+)`, 'm').exec(text)?.[1];
    return soft === undefined ? [] : [`${name} ${soft} (${command})`];
  });
  const most = pidsMax(own, cgroups);
  if (most !== undefined) limits.push(`pids.max ${most} of its cgroup (docker run --pids-limit)`);
  return limits.length === 0 ? undefined : `It may have reached a limit: ${limits.join(', ')}`;
}

/** @returns the least of its cgroup and those above it; undefined: none, or the system does not say */
function pidsMax(own: string, cgroups: string): number | undefined {
  const file = join(own, 'cgroup');
  const [, v1, path] =
    (existsSync(file) && /^\d+:(?:(pids)|):(\/.*)$/m.exec(readFileSync(file, 'utf8'))) || [];
  if (path === undefined) return undefined;
  const root = v1 === undefined ? cgroups : join(cgroups, v1);
  const names = path.split('/').filter((name) => name !== '');
  const limits = [names.length, ...names.keys()].flatMap((depth) => {
    const limit = join(root, ...names.slice(0, depth), 'pids.max');
    const text = existsSync(limit) ? readFileSync(limit, 'utf8').trim() : 'max';
    return text === 'max' ? [] : [Number(text)];
  });
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Adds the path that an error of an open file lacks. */
export function aboutFile(path: string, error: unknown): unknown {
  // Under jest it is of another realm: `instanceof` fails.
  return typeof error === 'object' && error !== null && 'syscall' in error && !('path' in error)
    ? Object.assign(error, { path })
    : error;
}
