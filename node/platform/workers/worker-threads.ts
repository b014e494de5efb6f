/**
 * Threads that start when an upload is fast enough, and end when idle. After a failure the node computes alone for a while.
 */
import { availableParallelism, cpus } from 'node:os';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { cacAddress } from '../../../formats/chunk/cac.ts';
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import type { Clock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import type { Logger } from '../../env/logger.ts';
import type { WorkerOptions, Workers } from '../../env/workers.ts';
import {
  endToEnd,
  GATE,
  inPieces,
  SIGNATURE_SIZE,
  type ThreadData,
  type ThreadRequest,
  type ThreadResponse,
} from './messages.ts';

/** Beside this file: in sources, package and bundle. */
export const THREAD_PROGRAM = join(import.meta.dirname, `thread${extname(import.meta.filename)}`);

/** Between decisions whether threads pay. */
const REVIEW_MS = 500;
/** Operations per second from which threads pay: a tenth of the main thread's capacity. */
const BUSY_RATE = 1000;
/** Idle, or used by the threads. */
const IDLE_CORES_MIN = 0.5;
/** Threads end after this time without work. */
const REST_MS = 5000;
/** Time without threads after a failure. */
const FAILED_MS = 60_000;
/** A thread keeps no chunks. */
const MEMORY = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };
/** For a thread to leave native code. A signature takes 50 µs, loading its code longer. */
const LEAVE_MS = 10_000;
/** Limit at the process's end, which nothing else may hold up. */
const EXIT_LEAVE_MS = 1000;
/** Fewer are done before a thread hears of them. */
const ADDRESSES_MIN = 8;

export interface WorkerDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer' | 'turn'>;
  readonly log: Logger;
  /** Gets the number of computed hashes or signatures. */
  readonly onWork?: (operations: number) => void;
  /** Default: the machine's. */
  readonly idleCores?: Pick<IdleCores, 'takeMs'>;
  /** Default: the machine's. */
  readonly parallelism?: number;
  readonly program?: string;
}

export function createWorkerThreads(options: WorkerOptions, deps: WorkerDeps): WorkerThreads {
  return new WorkerThreads(options, deps);
}

interface Waiting {
  readonly digest: Uint8Array;
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

export class WorkerThreads implements Workers {
  readonly #privateKey: Uint8Array;
  readonly #auto: boolean;
  readonly #max: number;
  readonly #deps: WorkerDeps;
  readonly #sign: (digest: Uint8Array) => Uint8Array;
  #threads: Thread[] = [];
  #idleCores: Pick<IdleCores, 'takeMs'> | undefined;
  #reviewedAt: number;
  #operations = 0;
  #isWorthwhile = false;
  #workedAt = 0;
  #failedUntil = 0;
  #rest: Disposable | undefined;
  #stopped = false;
  #waiting: Waiting[] = [];
  readonly #living = new Set<Thread>();
  /** The runtime ends threads with the process. */
  readonly #onExit = () => {
    for (const thread of this.#living) thread.closeGate();
    const { clock } = this.#deps;
    const until = clock.monotonic() + EXIT_LEAVE_MS;
    for (const thread of this.#living) thread.waitOutside(until - clock.monotonic());
  };

  constructor({ threads, privateKey }: WorkerOptions, deps: WorkerDeps) {
    this.#privateKey = privateKey;
    this.#deps = deps;
    this.#auto = threads === 'auto';
    // One thread keeps up with an upload.
    this.#max = threads === 'auto' ? Math.min(1, (deps.parallelism ?? availableParallelism()) - 1) : threads;
    this.#reviewedAt = deps.clock.monotonic();
    const signer = createSigner(privateKey);
    this.#sign = (digest) => signer.sign(digest);
  }

  get running(): number {
    return this.#ready().length;
  }

  offer(operations: number): boolean {
    if (this.#max === 0 || this.#stopped) return false;
    const now = this.#deps.clock.monotonic();
    this.#operations += operations;
    if (now - this.#reviewedAt >= REVIEW_MS) this.#review(now);
    if (!this.#isWorthwhile || now < this.#failedUntil) return false;
    this.#workedAt = now;
    if (this.#threads.length === 0) this.#start();
    return this.running > 0;
  }

  async addresses(chunks: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    const lengths = chunks.map(({ length }) => length);
    const bytes =
      chunks.length < ADDRESSES_MIN
        ? undefined
        : await this.#compute(
            { kind: 'addresses', bytes: endToEnd(chunks), lengths },
            chunks.length * ADDRESS_SIZE,
          );
    if (bytes === undefined) return chunks.map((data) => cacAddress(data));
    this.#deps.onWork?.(chunks.length);
    return inPieces(bytes, ADDRESS_SIZE);
  }

  sign(digest: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ digest, resolve, reject });
      // After the turn's microtasks: a batch's chunks come in a row.
      if (this.#waiting.length === 1) process.nextTick(() => void this.#signAll());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#end();
  }

  async #signAll(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const signatures = await this.#signatures(waiting.map(({ digest }) => digest));
      for (const [i, { resolve }] of waiting.entries()) resolve(signatures[i] as Uint8Array);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  async #signatures(digests: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    // A single digest would only wait for the way.
    const bytes =
      digests.length < 2
        ? undefined
        : await this.#compute({ kind: 'sign', bytes: endToEnd(digests) }, digests.length * SIGNATURE_SIZE);
    if (bytes === undefined) return digests.map((digest) => this.#sign(digest));
    this.#deps.onWork?.(digests.length);
    return inPieces(bytes, SIGNATURE_SIZE);
  }

  /** The first review only begins to measure. */
  #review(now: number): void {
    const ms = now - this.#reviewedAt;
    const rate = (this.#operations * 1000) / ms;
    // In every review: it measures since the last one.
    const isFree = !this.#auto || this.#freeCores(ms) >= IDLE_CORES_MIN;
    this.#isWorthwhile = rate >= BUSY_RATE && isFree;
    this.#reviewedAt = now;
    this.#operations = 0;
  }

  /** Idle in the last `ms`, plus the threads' share. */
  #freeCores(ms: number): number {
    const idleMs = this.#idleCores?.takeMs() ?? 0;
    this.#idleCores ??= this.#deps.idleCores ?? new IdleCores();
    return this.#threads.reduce((sum, thread) => sum + thread.takeCpuMs(), idleMs) / ms;
  }

  #start(): void {
    this.#restLater(REST_MS);
    const program = this.#deps.program ?? THREAD_PROGRAM;
    try {
      for (let i = 0; i < this.#max; i++) {
        const thread = new Thread(program, this.#privateKey, (err) => this.#failed(err));
        this.#threads.push(thread);
        if (this.#living.size === 0) process.on('exit', this.#onExit);
        this.#living.add(thread);
      }
    } catch (err) {
      this.#failed(err);
    }
  }

  #restLater(ms: number): void {
    this.#rest = this.#deps.clock.timer(ms, () => {
      const left = this.#workedAt + REST_MS - this.#deps.clock.monotonic();
      if (left > 0) this.#restLater(left);
      else void this.#end();
    });
  }

  #failed(err: unknown): void {
    this.#failedUntil = this.#deps.clock.monotonic() + FAILED_MS;
    this.#deps.log.warn(
      { err },
      'worker thread failed: the node hashes and signs without threads for a minute',
    );
    void this.#end();
  }

  async #end(): Promise<void> {
    this.#rest?.[Symbol.dispose]();
    this.#rest = undefined;
    this.#threads = [];
    await Promise.all(
      Array.from(this.#living, async (thread) => {
        await thread.end(this.#deps.clock);
        this.#living.delete(thread);
        if (this.#living.size === 0) process.off('exit', this.#onExit);
      }),
    );
  }

  /** @param size of the response @returns undefined when no thread answers */
  async #compute(request: ThreadRequest, size: number): Promise<ThreadResponse | undefined> {
    const [thread] = this.#ready().sort((a, b) => a.waiting - b.waiting);
    this.#workedAt = this.#deps.clock.monotonic();
    const response = await thread?.compute(request);
    if (response === undefined || response.length === size) return response;
    this.#failed(new Error(`the thread has sent ${response.length} bytes, expected ${size}`));
    return undefined;
  }

  #ready(): Thread[] {
    return this.#threads.filter(({ isReady }) => isReady);
  }
}

class Thread {
  isReady = false;
  readonly #worker: Worker;
  readonly #gate = new Int32Array(
    new SharedArrayBuffer(Object.keys(GATE).length * Int32Array.BYTES_PER_ELEMENT),
  );
  #waiting: ((response: ThreadResponse | undefined) => void)[] = [];
  #cpuMs = 0;
  #ending: Promise<void> | undefined;
  #hasExited = false;

  constructor(program: string, privateKey: Uint8Array, onFailure: (error: unknown) => void) {
    const workerData: ThreadData = { privateKey, gate: this.#gate };
    this.#worker = new Worker(program, { workerData, resourceLimits: MEMORY, execArgv: [] });
    // It keeps no process alive.
    this.#worker.unref();
    this.#worker.on('message', (message: ThreadResponse | 'ready') => {
      if (message === 'ready') this.isReady = this.#ending === undefined;
      else this.#waiting.shift()?.(message);
    });
    const fail = (error: unknown) => {
      this.#release();
      if (this.#ending === undefined) onFailure(error);
    };
    this.#worker.on('error', fail);
    this.#worker.on('messageerror', fail);
    this.#worker.on('exit', (code) => {
      this.#hasExited = true;
      fail(new Error(`the thread has ended with code ${code}`));
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  takeCpuMs(): number {
    const before = this.#cpuMs;
    this.#cpuMs = Atomics.load(this.#gate, GATE.cpuMs);
    return this.#cpuMs - before;
  }

  /** @returns undefined when the thread ended before */
  compute(request: ThreadRequest): Promise<ThreadResponse | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(request, [request.bytes.buffer]);
    });
  }

  end(clock: Pick<Clock, 'monotonic' | 'turn'>): Promise<void> {
    return (this.#ending ??= this.#end(clock));
  }

  /** From now on it enters no native code. */
  closeGate(): void {
    Atomics.store(this.#gate, GATE.closed, 1);
  }

  /** When it is outside native code, or time is up. */
  waitOutside(ms: number): void {
    Atomics.wait(this.#gate, GATE.inside, 1, Math.max(0, ms));
  }

  async #end(clock: Pick<Clock, 'monotonic' | 'turn'>): Promise<void> {
    this.isReady = false;
    this.closeGate();
    const until = clock.monotonic() + LEAVE_MS;
    const isInside = () => !this.#hasExited && Atomics.load(this.#gate, GATE.inside) === 1;
    while (isInside() && clock.monotonic() < until) await clock.turn();
    await this.#worker.terminate();
    this.#release();
  }

  #release(): void {
    this.isReady = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(undefined);
  }
}

/** Idle cores of the machine; in a container, of its host. */
export class IdleCores {
  readonly #read: () => number;
  #last: number;

  /** @param read idle ms of all cores, from any beginning */
  constructor(read: () => number = idleMs) {
    this.#read = read;
    this.#last = read();
  }

  /** Since the last call; 0 where the system does not say. */
  takeMs(): number {
    const last = this.#last;
    this.#last = this.#read();
    return Math.max(0, this.#last - last);
  }
}

function idleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}
