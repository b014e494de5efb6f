/**
 * The workers of a node that has a process of its own: threads that start when there is enough to do and a core is
 * idle, and end when there is not. A thread that fails is not replaced for a while, and its work is done by the
 * node's own thread.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { cacAddress } from '../../chunk/cac.ts';
import { createSigner } from '../../crypto/signer.ts';
import type { WorkerOptions, Workers } from '../../crypto/workers.ts';
import type { Clock } from '../../env/clock.ts';
import type { Logger } from '../../env/logger.ts';
import { IdleCores } from './idle-cores.ts';
import {
  ADDRESS_SIZE,
  endToEnd,
  GATE,
  inPieces,
  SIGNATURE_SIZE,
  type ThreadData,
  type ThreadRequest,
  type ThreadResponse,
} from './messages.ts';

/** The package holds compiled sources. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? 'thread.ts' : 'thread.js', import.meta.url);

/** How often it is looked at whether threads are worth it. */
const LOOK_MS = 500;
/** Operations per second from which they are: a tenth of what the node's own thread can do. */
const BUSY_RATE = 1000;
/** Cores that must be idle, or busy with our threads. */
const IDLE_CORES_MIN = 0.5;
/** One thread hashes and signs about as fast as the rest of an upload goes. */
const AUTO_THREADS_MAX = 2;
/** Without work for so long, threads end and their memory is given back. */
const REST_MS = 5000;
/** After a failure the node computes alone for so long. */
const FAILED_MS = 60_000;
/** Waits for the thread to leave native code take no longer, whatever it does: a signature takes 50 µs. */
const GATE_MS = 100;
/** A thread keeps no chunks. */
const MEMORY = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

export interface WorkerDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly log: Logger;
  /** Called with the number of hashes or signatures that a thread has computed. */
  readonly onWork?: (operations: number) => void;
  /** Default: the machine's. */
  readonly idleCores?: Pick<IdleCores, 'since'>;
  /** Default: the machine's. */
  readonly parallelism?: number;
}

export function createWorkerThreads(options: WorkerOptions, deps: WorkerDeps): WorkerThreads {
  return new WorkerThreads(options, deps);
}

export class WorkerThreads implements Workers {
  readonly #privateKey: Uint8Array;
  readonly #auto: boolean;
  readonly #max: number;
  readonly #deps: WorkerDeps;
  readonly #sign: (digest: Uint8Array) => Uint8Array;
  #threads: Thread[] = [];
  #idleCores: Pick<IdleCores, 'since'> | undefined;
  #lookedAt: number;
  #operations = 0;
  /** As of the last look. */
  #worthIt: boolean;
  #workedAt = 0;
  #failedUntil = 0;
  #rest: Disposable | undefined;
  #stopped = false;
  /** The end of the process ends its threads. */
  readonly #onExit = () => {
    for (const thread of this.#threads) thread.closeGate();
  };
  /** Digests of this turn, sent together. */
  #digests: { readonly digest: Uint8Array; readonly signed: (signature: Uint8Array) => void }[] = [];

  constructor({ threads, privateKey }: WorkerOptions, deps: WorkerDeps) {
    this.#privateKey = privateKey;
    this.#deps = deps;
    this.#auto = threads === 'auto';
    const others = (deps.parallelism ?? availableParallelism()) - 1;
    this.#max = threads === 'auto' ? Math.min(others, AUTO_THREADS_MAX) : threads;
    this.#worthIt = !this.#auto;
    this.#lookedAt = deps.clock.monotonic();
    const signer = createSigner(privateKey);
    this.#sign = (digest) => signer.sign(digest);
  }

  get running(): number {
    return this.#ready().length;
  }

  takes(operations: number): boolean {
    if (this.#max === 0 || this.#stopped) return false;
    const now = this.#deps.clock.monotonic();
    this.#operations += operations;
    if (this.#auto && now - this.#lookedAt >= LOOK_MS) this.#look(now);
    if (!this.#worthIt || now < this.#failedUntil) return false;
    this.#workedAt = now;
    if (this.#threads.length === 0) this.#start();
    return this.running > 0;
  }

  async addresses(chunks: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    const lengths = chunks.map(({ length }) => length);
    const bytes = await this.#compute({ kind: 'addresses', bytes: endToEnd(chunks), lengths }, chunks.length);
    return bytes === undefined ? chunks.map((data) => cacAddress(data)) : inPieces(bytes, ADDRESS_SIZE);
  }

  sign(digest: Uint8Array): Promise<Uint8Array> {
    return new Promise((signed) => {
      this.#digests.push({ digest, signed });
      if (this.#digests.length === 1) process.nextTick(() => void this.#signAll());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#end();
  }

  async #signAll(): Promise<void> {
    const waiting = this.#digests;
    this.#digests = [];
    const digests = waiting.map(({ digest }) => digest);
    const bytes = await this.#compute({ kind: 'sign', bytes: endToEnd(digests) }, digests.length);
    const signatures =
      bytes === undefined ? digests.map((digest) => this.#sign(digest)) : inPieces(bytes, SIGNATURE_SIZE);
    for (const [i, { signed }] of waiting.entries()) signed(signatures[i] as Uint8Array);
  }

  /** The first look only begins to measure. */
  #look(now: number): void {
    const seconds = (now - this.#lookedAt) / 1000;
    const idle = this.#idleCores?.since() ?? 0;
    this.#idleCores ??= this.#deps.idleCores ?? new IdleCores();
    const own = this.#threads.reduce((sum, thread) => sum + thread.busyShare(), 0);
    this.#worthIt = this.#operations / seconds >= BUSY_RATE && idle + own >= IDLE_CORES_MIN;
    this.#lookedAt = now;
    this.#operations = 0;
  }

  #start(): void {
    for (let i = 0; i < this.#max; i++)
      this.#threads.push(new Thread(this.#privateKey, (err) => this.#failed(err)));
    process.once('exit', this.#onExit);
    this.#restLater(REST_MS);
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
    this.#deps.log.warn({ err }, 'worker thread failed: the node hashes and signs without it for a minute');
    void this.#end();
  }

  async #end(): Promise<void> {
    process.off('exit', this.#onExit);
    this.#rest?.[Symbol.dispose]();
    this.#rest = undefined;
    const threads = this.#threads;
    this.#threads = [];
    await Promise.all(threads.map((thread) => thread.end()));
  }

  /** @returns undefined when there is no thread, or it has ended before */
  async #compute(request: ThreadRequest, operations: number): Promise<ThreadResponse | undefined> {
    const [thread] = this.#ready().sort((a, b) => a.waiting - b.waiting);
    this.#workedAt = this.#deps.clock.monotonic();
    const response = await thread?.compute(request);
    if (response !== undefined) this.#deps.onWork?.(operations);
    return response;
  }

  #ready(): Thread[] {
    return this.#threads.filter(({ isReady }) => isReady);
  }
}

/** One thread. Requests are answered in order. */
class Thread {
  isReady = false;
  readonly #worker: Worker;
  readonly #gate = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  #waiting: ((response: ThreadResponse | undefined) => void)[] = [];
  #utilization: ReturnType<Worker['performance']['eventLoopUtilization']> | undefined;
  #isEnding = false;

  constructor(privateKey: Uint8Array, onFailure: (error: unknown) => void) {
    const workerData: ThreadData = { privateKey, gate: this.#gate };
    this.#worker = new Worker(PROGRAM, { workerData, resourceLimits: MEMORY, execArgv: [] });
    // A node that stops does not wait for it.
    this.#worker.unref();
    this.#worker.on('message', (message: ThreadResponse | 'ready') => {
      if (message === 'ready') this.isReady = true;
      else this.#waiting.shift()?.(message);
    });
    const fail = (error: unknown) => {
      this.#release();
      if (!this.#isEnding) onFailure(error);
      this.#isEnding = true;
    };
    this.#worker.on('error', fail);
    this.#worker.on('exit', (code) => fail(new Error(`the thread has ended with code ${code}`)));
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Of the time since the last call. */
  busyShare(): number {
    const { eventLoopUtilization } = this.#worker.performance;
    const now = eventLoopUtilization();
    const { utilization } =
      this.#utilization === undefined ? now : eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    // Not a number when its loop has not turned since, and less than nothing for a moment of no length.
    return utilization > 0 ? utilization : 0;
  }

  /** @returns undefined when the thread has ended before */
  compute(request: ThreadRequest): Promise<ThreadResponse | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(request, [request.bytes.buffer]);
    });
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.isReady = false;
    this.closeGate();
    await this.#worker.terminate();
    this.#release();
  }

  /** Returns when the thread is outside of native code, and will stay there. */
  closeGate(): void {
    Atomics.store(this.#gate, GATE.closed, 1);
    Atomics.wait(this.#gate, GATE.inside, 1, GATE_MS);
  }

  #release(): void {
    this.isReady = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(undefined);
  }
}
