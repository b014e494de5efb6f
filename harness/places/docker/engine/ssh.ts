/**
 * A connection to an engine through `ssh`, as Docker's client makes it: `docker system dial-stdio` joins its standard
 * streams to the engine. Keys, hosts and aliases are those of the user's `ssh`.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { buildConnector } from 'undici';

const PROGRAM = 'ssh';
/** Nobody could answer questions: connections open at once, below a progress display. */
const OPTIONS = ['-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10'] as const;
const REMOTE_COMMAND = ['docker', 'system', 'dial-stdio'] as const;
/** Characters of standard error kept for a message. */
const STDERR_MAX = 2000;

export interface SshTarget {
  readonly host: string;
  /** Empty: that of `ssh`. */
  readonly user: string;
  /** Empty: that of `ssh`. */
  readonly port: string;
}

/** @returns opens a connection in a process of its own */
export function dialOverSsh({ host, user, port }: SshTarget): buildConnector.connector {
  const args = [
    ...OPTIONS,
    ...(user === '' ? [] : ['-l', user]),
    ...(port === '' ? [] : ['-p', port]),
    '--',
    host,
    ...REMOTE_COMMAND,
  ];
  return (_options, connected) => {
    const child = spawn(PROGRAM, args);
    child.once('error', (error) => connected(error, null));
    // The HTTP client uses only what every duplex stream has, and what `streamOf` defines.
    child.once('spawn', () => connected(null, streamOf(child) as unknown as Socket));
  };
}

/** A process's standard streams as one stream; its end gives the reason. */
function streamOf(child: ChildProcessWithoutNullStreams): Duplex {
  const stream = new Duplex({
    read: () => void child.stdout.resume(),
    write: (data: Buffer, _encoding, done) => void child.stdin.write(data, () => done()),
    final: (done) => void child.stdin.end(() => done()),
    destroy(error, done) {
      child.kill();
      done(error);
    },
  });
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => {
    if (!stream.push(data)) child.stdout.pause();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_MAX);
  });
  // The process's end is reported below, with its reason.
  child.stdin.on('error', () => undefined);
  child.on('close', (code) => {
    if (code === 0) stream.push(null);
    else stream.destroy(new Error(`${PROGRAM} has ended with code ${code}: ${stderr.trim()}`));
  });
  // An idle connection does not keep this process alive.
  const parts = [child, child.stdin, child.stdout, child.stderr] as Partial<Socket>[];
  const each = (method: 'ref' | 'unref') => () => {
    for (const part of parts) part[method]?.();
    return stream;
  };
  return Object.assign(stream, { ref: each('ref'), unref: each('unref') });
}
