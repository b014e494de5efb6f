/** Threads are real; only the time and the cores of the machine are not. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { cacAddress } from '../../../formats/chunk/cac.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import {
  createWorkerThreads,
  IdleCores,
  type WorkerDeps,
  type WorkerThreads,
} from '../../../node/platform/workers/worker-threads.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const KEY = new Uint8Array(32).fill(5);
const signer = createSigner(KEY);
const FAILED = 'worker thread failed: the node hashes and signs without threads for a minute';
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

async function untilTaken(workers: WorkerThreads, clock: ManualClock): Promise<void> {
  await vi.waitFor(
    async () => {
      if (workers.offer(1000)) return;
      await clock.advance(500);
      throw new Error('no thread takes work');
    },
    { timeout: 120_000, interval: 5 },
  );
}

const chunks = (count: number) =>
  Array.from({ length: count }, (_, i) => new Uint8Array(randomBytes(8 + ((i * 997) % 4097))));

describe('results', () => {
  test('threads compute what the own thread would, in the order of the calls', async () => {
    const counted: number[] = [];
    const { workers, clock } = open(2, { onWork: (operations) => counted.push(operations) });
    await untilTaken(workers, clock);
    const batches = [64, 1, 30].map(chunks);
    const digests = Array.from({ length: 100 }, () => new Uint8Array(randomBytes(32)));
    const [addresses, signatures] = await Promise.all([
      Promise.all(batches.map((batch) => workers.addresses(batch))),
      Promise.all(digests.map((digest) => workers.sign(digest))),
    ]);
    expect(addresses).toEqual(batches.map((batch) => batch.map((data) => cacAddress(data))));
    expect(signatures).toEqual(digests.map((digest) => signer.sign(digest)));
    // Signatures of one turn go together, and few hashes are not sent.
    expect(counted.sort((a, b) => a - b)).toEqual([30, 64, 100]);
  });

  test('a single signature is not sent to a thread', async () => {
    const counted: number[] = [];
    const { workers, clock } = open(1, { onWork: (operations) => counted.push(operations) });
    await untilTaken(workers, clock);
    expect(await workers.sign(KEY)).toEqual(signer.sign(KEY));
    expect(counted).toEqual([]);
  });

  test('the own thread computes when there is no other, or it has ended before', async () => {
    const counted: number[] = [];
    const { workers, clock } = open(1, { onWork: (operations) => counted.push(operations) });
    const batch = chunks(3000);
    const addresses = batch.map((data) => cacAddress(data));
    expect(await workers.addresses(batch)).toEqual(addresses);
    await untilTaken(workers, clock);
    const results = Promise.all([workers.addresses(batch), workers.sign(KEY), workers.sign(KEY)]);
    await workers.stop();
    expect(await results).toEqual([addresses, signer.sign(KEY), signer.sign(KEY)]);
    expect(counted).toEqual([]);
    expect(workers.offer(10_000)).toBe(false);
  });

  test('the own thread computes for a minute after another one has failed', async () => {
    const { workers, clock, warn } = open(1);
    await untilTaken(workers, clock);
    const tooLong = workers.addresses([...chunks(10), new Uint8Array(5000)]);
    const signatures = Promise.all([workers.sign(KEY), workers.sign(KEY)]);
    await expect(tooLong).rejects.toMatchObject({ code: 'CHUNK_INVALID' });
    expect(await signatures).toEqual([signer.sign(KEY), signer.sign(KEY)]);
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([FAILED]);
    for (let ms = 0; ms < 59_500; ms += 500) {
      expect(workers.offer(1000)).toBe(false);
      await clock.advance(500);
    }
    expect(workers.running).toBe(0);
    await untilTaken(workers, clock);
  });

  test.each([
    ['does not exist', 'no-such-program.ts'],
    ['answers with something else', 'wrong-worker-process.ts'],
  ])('a program of threads that %s is as good as none', async (_, file) => {
    const { workers, clock, warn } = open(1, { program: fileURLToPath(new URL(file, import.meta.url)) });
    const batch = chunks(10);
    await vi.waitFor(
      async () => {
        workers.offer(1000);
        await clock.advance(500);
        expect(await workers.addresses(batch)).toEqual(batch.map((data) => cacAddress(data)));
        expect(warn.mock.calls[0]?.[1]).toBe(FAILED);
      },
      { timeout: 120_000, interval: 5 },
    );
  });
});

describe('threads', () => {
  test('start when there is much to do, whatever else the machine does', async () => {
    const { workers, clock } = open(1, { idleCores: { takeMs: () => 0 } });
    for (let i = 0; i < 20; i++) {
      expect(workers.offer(400)).toBe(false);
      await clock.advance(500);
    }
    expect(workers.running).toBe(0);
    await untilTaken(workers, clock);
  });

  test('end after five seconds without work, and start again', async () => {
    const { workers, clock } = open(1);
    await untilTaken(workers, clock);
    await clock.advance(4000);
    await workers.addresses(chunks(10));
    await clock.advance(4000);
    expect(workers.running).toBe(1);
    await clock.advance(1000);
    expect(workers.running).toBe(0);
    await untilTaken(workers, clock);
  });

  test('leave nothing behind at the process, however often they end and start', async () => {
    const ours = () => process.listeners('exit').filter(({ name }) => name === '#onExit').length;
    const { workers, clock } = open(2);
    for (let i = 0; i < 3; i++) {
      await untilTaken(workers, clock);
      expect(ours()).toBe(1);
      // The next ones start while these end.
      await clock.advance(5500);
    }
    await workers.stop();
    expect(ours()).toBe(0);
  });

  test('none are started for 0', async () => {
    const { workers, clock } = open(0);
    for (let i = 0; i < 5; i++) {
      expect(workers.offer(10_000)).toBe(false);
      await clock.advance(1000);
    }
    expect(workers.running).toBe(0);
  });
});

describe('auto', () => {
  /** @returns whether two seconds of work start a thread */
  async function starts(rate: number, deps: { readonly idle: number; readonly parallelism?: number }) {
    const { idle, parallelism = 4 } = deps;
    const { workers, clock } = open('auto', { parallelism, idleCores: { takeMs: () => idle * 500 } });
    // A thread comes with a timer that ends it.
    const timer = vi.spyOn(clock, 'timer');
    for (let i = 0; i < 20; i++) {
      workers.offer(rate / 10);
      await clock.advance(100);
    }
    return timer.mock.calls.length > 0;
  }

  test('starts a thread when there is much to do and a core is idle', async () => {
    expect(await starts(2000, { idle: 0.6 })).toBe(true);
    expect(await starts(800, { idle: 3 })).toBe(false);
    expect(await starts(2000, { idle: 0.4 })).toBe(false);
    expect(await starts(2000, { idle: 1, parallelism: 1 })).toBe(false);
  });

  test('looks at the time since the last review, not at the pause before it', async () => {
    let idleMs = 0;
    const takeMs = () => {
      const taken = idleMs;
      idleMs = 0;
      return taken;
    };
    const { workers, clock } = open('auto', { parallelism: 2, idleCores: { takeMs } });
    const timer = vi.spyOn(clock, 'timer');
    for (let i = 0; i < 3; i++) {
      workers.offer(1000);
      await clock.advance(500);
    }
    idleMs = 600_000;
    await clock.advance(600_000);
    for (let i = 0; i < 5; i++) {
      workers.offer(1000);
      await clock.advance(500);
    }
    expect(timer).not.toHaveBeenCalled();
  });

  test('hands nothing over any more when other programs take the cores, and again when they leave them', async () => {
    let idle = 1;
    const { workers, clock } = open('auto', { parallelism: 2, idleCores: { takeMs: () => idle * 500 } });
    const work = async () => {
      let taken = false;
      for (let i = 0; i < 10; i++) {
        taken = workers.offer(500);
        await clock.advance(100);
      }
      return taken;
    };
    await untilTaken(workers, clock);
    expect(await work()).toBe(true);
    idle = 0;
    expect(await work()).toBe(false);
    idle = 1;
    expect(await work()).toBe(true);
  });
});

test('idle time is that since the last call, and never negative', () => {
  const times = [100, 250, 250, 240, 300];
  const cores = new IdleCores(() => times.shift()!);
  expect([cores.takeMs(), cores.takeMs(), cores.takeMs(), cores.takeMs()]).toEqual([150, 0, 0, 60]);
  expect(new IdleCores().takeMs()).toBeGreaterThanOrEqual(0);
});
