/**
 * A connection to an engine through `ssh`, as Docker's own client makes it: `docker system dial-stdio`
 * on that machine passes its standard input to the engine, and the engine's answers to its standard output.
 * Keys, known hosts and aliases are those of the user's `ssh`.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { Duplex, type Readable, type Writable } from 'node:stream';
import type { buildConnector } from 'undici';

const PROGRAM = 'ssh';
/** Nobody could answer its questions: several connections are opened at once, below a progress display. */
const OPTIONS = ['-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10'] as const;
const REMOTE_COMMAND = ['docker', 'system', 'dial-stdio'] as const;
/** Characters of its standard error that are kept, for a message. */
const STDERR_MAX = 2000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export interface SshTarget {
  readonly host: string;
  /** Empty: that of `ssh`. */
  readonly user: string;
  /** Empty: that of `ssh`. */
  readonly port: string;
}

/** @returns opens one connection; each is a process of its own */
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
    const child = spawn(PROGRAM, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.once('error', (error) => connected(error, null));
    // The HTTP client uses only what every duplex stream has, and what is defined below.
    child.once('spawn', () => connected(null, new ProcessStream(child) as unknown as Socket));
  };
}

/** A process's standard input and output as one stream, whose end says why the process ended. */
class ProcessStream extends Duplex {
  readonly #child: Child;
  #stderr = '';

  constructor(child: Child) {
    super();
    this.#child = child;
    child.stdout.on('data', (data: Buffer) => {
      if (!this.push(data)) child.stdout.pause();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_MAX);
    });
    // A process that reads no more ends: its end is reported below, with its reason.
    child.stdin.on('error', () => undefined);
    child.on('close', (code) => {
      if (code === 0) this.push(null);
      else this.destroy(new Error(`${PROGRAM} has ended with code ${code}: ${this.#stderr.trim()}`));
    });
  }

  override _read(): void {
    this.#child.stdout.resume();
  }

  override _write(data: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#child.stdin.write(data, () => done());
  }

  override _final(done: () => void): void {
    this.#child.stdin.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#child.kill();
    done(error);
  }

  /** An idle connection does not keep this process alive. */
  unref(): this {
    for (const part of this.#parts()) part.unref?.();
    return this;
  }

  ref(): this {
    for (const part of this.#parts()) part.ref?.();
    return this;
  }

  #parts(): { ref?(): unknown; unref?(): unknown }[] {
    const { stdin, stdout, stderr } = this.#child;
    return [this.#child, stdin, stdout, stderr] as Partial<Socket>[];
  }
}
