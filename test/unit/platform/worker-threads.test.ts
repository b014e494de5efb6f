/** Real threads; only the time and the cores of the machine are not. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { cacAddress } from '../../../node/chunk/cac.ts';
import { createSigner } from '../../../node/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { IdleCores } from '../../../node/platform/workers/idle-cores.ts';
import {
  createWorkerThreads,
  type WorkerDeps,
  type WorkerThreads,
} from '../../../node/platform/workers/worker-threads.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const KEY = new Uint8Array(32).fill(5);
const signer = createSigner(KEY);
const started: WorkerThreads[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((workers) => workers.stop()));
});

function open(threads: number | 'auto', deps: Partial<WorkerDeps> = {}) {
  const clock = new ManualClock();
  const warn = vi.fn<(fields: object, text: string) => void>();
  const log = { ...silentLogger(), warn } as unknown as WorkerDeps['log'];
  const workers = createWorkerThreads({ threads, privateKey: KEY }, { clock, log, ...deps });
  started.push(workers);
  return { workers, clock, warn };
}

/** Asks until threads take work, as an upload does. */
const untilTaken = (workers: WorkerThreads) =>
  vi.waitFor(() => expect(workers.takes(1)).toBe(true), { timeout: 30_000, interval: 5 });

const chunks = (count: number) =>
  Array.from({ length: count }, (_, i) => new Uint8Array(randomBytes(8 + ((i * 997) % 4097))));

describe('results', () => {
  test('are those of the own thread, in the order of the calls, from any number of threads', async () => {
    const counted: number[] = [];
    const { workers } = open(2, { onWork: (operations) => counted.push(operations) });
    expect(workers.takes(1)).toBe(false);
    await untilTaken(workers);
    const batches = [64, 1, 30].map(chunks);
    const digests = Array.from({ length: 100 }, () => new Uint8Array(randomBytes(32)));
    const [addresses, signatures] = await Promise.all([
      Promise.all(batches.map((batch) => workers.addresses(batch))),
      Promise.all(digests.map((digest) => workers.sign(digest))),
    ]);
    expect(addresses).toEqual(batches.map((batch) => batch.map((data) => cacAddress(data))));
    expect(signatures).toEqual(digests.map((digest) => signer.sign(digest)));
    // Signatures of one turn go together.
    expect(counted.sort((a, b) => a - b)).toEqual([1, 30, 64, 100]);
  });

  test('come from the own thread when there is none, or when it ends before', async () => {
    const { workers } = open(1);
    const [batch] = [chunks(3)];
    const addresses = batch.map((data) => cacAddress(data));
    expect(await workers.addresses(batch)).toEqual(addresses);
    await untilTaken(workers);
    const results = Promise.all([workers.addresses(batch), workers.sign(KEY)]);
    await workers.stop();
    expect(await results).toEqual([addresses, signer.sign(KEY)]);
    expect(workers.takes(1)).toBe(false);
  });

  test('come from the own thread after one has failed, for a minute', async () => {
    const { workers, clock, warn } = open(1);
    await untilTaken(workers);
    const tooLong = workers.addresses([new Uint8Array(5000)]);
    const signature = workers.sign(KEY);
    await expect(tooLong).rejects.toMatchObject({ code: 'CHUNK_INVALID' });
    expect(await signature).toEqual(signer.sign(KEY));
    expect(workers.takes(1)).toBe(false);
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([
      'worker thread failed: the node hashes and signs without it for a minute',
    ]);
    await clock.advance(59_000);
    expect(workers.takes(1)).toBe(false);
    expect(workers.running).toBe(0);
    await clock.advance(1000);
    await untilTaken(workers);
  });
});

describe('threads', () => {
  test('end after five seconds without work, and start again', async () => {
    const { workers, clock } = open(1);
    await untilTaken(workers);
    await clock.advance(4000);
    await workers.sign(KEY);
    expect(workers.takes(1)).toBe(true);
    await clock.advance(4000);
    expect(workers.running).toBe(1);
    await clock.advance(1000);
    expect(workers.running).toBe(0);
    await untilTaken(workers);
  });

  test.each([
    ['exit', 3],
    ['throw', 1],
    ['stop', 0],
  ])('that sign do not take the process with them when they end with it: %s', async (how, code) => {
    const program = fileURLToPath(new URL('signing-process.ts', import.meta.url));
    const child = spawn(process.execPath, [program, how], { stdio: ['ignore', 'ignore', 'pipe'] });
    const errors = text(child.stderr);
    const [ended] = (await once(child, 'exit')) as [number | null];
    expect({ ended, native: (await errors).includes('Napi') }).toEqual({ ended: code, native: false });
  });

  test('none are started for 0', async () => {
    const { workers, clock } = open(0);
    for (let i = 0; i < 5; i++) {
      expect(workers.takes(10_000)).toBe(false);
      await clock.advance(1000);
    }
    expect(workers.running).toBe(0);
  });
});

describe('auto', () => {
  /** Work for a while, looked at every half second. @returns whether threads were ever started */
  async function starts(
    rate: number,
    { idle, parallelism = 4 }: { readonly idle: number; readonly parallelism?: number },
  ): Promise<boolean> {
    const { workers, clock } = open('auto', { parallelism, idleCores: { since: () => idle } });
    // Threads come with a timer that ends them.
    const timer = vi.spyOn(clock, 'timer');
    for (let i = 0; i < 30; i++) {
      workers.takes(rate / 10);
      await clock.advance(100);
    }
    return timer.mock.calls.length > 0;
  }

  test('starts threads when there is much to do and a core is idle', async () => {
    expect(await starts(2000, { idle: 0.6 })).toBe(true);
    expect(await starts(800, { idle: 3 })).toBe(false);
    expect(await starts(2000, { idle: 0.4 })).toBe(false);
    expect(await starts(2000, { idle: 1, parallelism: 1 })).toBe(false);
  });

  test('hands nothing over any more when other programs take the cores, and again when they leave them', async () => {
    let idle = 1;
    const { workers, clock } = open('auto', { parallelism: 2, idleCores: { since: () => idle } });
    const work = async (seconds: number) => {
      let taken = false;
      for (let i = 0; i < seconds * 10; i++) {
        taken = workers.takes(500);
        await clock.advance(100);
      }
      return taken;
    };
    await work(2);
    await vi.waitFor(() => expect(workers.running).toBe(1), { timeout: 30_000 });
    expect(await work(1)).toBe(true);
    // Whatever the threads themselves do in the moments between two looks.
    idle = -1;
    expect(await work(1)).toBe(false);
    idle = 1;
    expect(await work(1)).toBe(true);
  });
});

test('idle cores are those since the last look', () => {
  const times = [
    { idle: 100, total: 1000, cores: 4 },
    { idle: 150, total: 1100, cores: 4 },
    { idle: 150, total: 1100, cores: 4 },
    { idle: 250, total: 1200, cores: 4 },
  ];
  const cores = new IdleCores(() => times.shift()!);
  expect([cores.since(), cores.since(), cores.since()]).toEqual([2, 0, 4]);
  expect(new IdleCores().since()).toBeGreaterThanOrEqual(0);
});
