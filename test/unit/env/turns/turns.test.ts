import { describe, expect, test } from 'vitest';
import { atMost } from '../../../../node/env/turns/at-most.ts';
import { InFlight } from '../../../../node/env/turns/in-flight.ts';
import { Lock } from '../../../../node/env/turns/lock.ts';
import { SingleFlight } from '../../../../node/env/turns/single-flight.ts';
import { Slots } from '../../../../node/env/turns/slots.ts';

const failure = new Error('broken');
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('atMost', () => {
  test('begins the works in their order and keeps the limit', async () => {
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const works = [0, 1, 2, 3, 4].map((n) => async () => {
      begun.push(n);
      most = Math.max(most, ++running);
      await turn();
      running--;
    });
    await atMost(2, works);
    expect({ begun, most, running }).toEqual({ begun: [0, 1, 2, 3, 4], most: 2, running: 0 });
  });

  test('starts none after the first failure, and rejects with it', async () => {
    const begun: number[] = [];
    const works = [0, 1, 2, 3, 4, 5].map((n) => async () => {
      begun.push(n);
      await turn();
      if (n === 1) throw failure;
    });
    await expect(atMost(2, works)).rejects.toBe(failure);
    await turn();
    await turn();
    expect(begun.length).toBeLessThanOrEqual(3);
  });

  test('starts works of a generator until it ends', async () => {
    let done = 0;
    const work = async () => {
      await turn();
      done++;
    };
    function* works() {
      for (let n = 0; n < 100; n++) {
        if (done >= 3) return;
        yield work;
      }
    }
    await atMost(1, works());
    expect(done).toBe(3);
  });
});

describe('Lock', () => {
  test('runs one after the other in the order of asking, even after a failure', async () => {
    const lock = new Lock();
    const seen: string[] = [];
    const work = (name: string) => async () => {
      seen.push(`${name} begins`);
      await turn();
      seen.push(`${name} ends`);
      if (name === 'a') throw failure;
    };
    const outcomes = await Promise.allSettled([lock.run(work('a')), lock.run(work('b'))]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  test('skips a caller that leaves before its turn', async () => {
    const lock = new Lock();
    const leaving = new AbortController();
    const first = lock.run(turn);
    const second = lock.run(() => Promise.reject(new Error('has begun')), leaving.signal);
    const third = lock.run(() => Promise.resolve('third'));
    leaving.abort(failure);
    await expect(second).rejects.toBe(failure);
    await first;
    expect(await third).toBe('third');
    expect(lock.isFree).toBe(true);
  });

  test('goes on to the next caller when one leaves at the moment of its turn', async () => {
    const lock = new Lock();
    const leaving = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = lock.run(() => promise);
    void promise.then(() => leaving.abort(failure));
    const second = lock.run(() => Promise.reject(new Error('has begun')), leaving.signal);
    const third = lock.run(() => Promise.resolve('third'));
    resolve();
    await expect(second).rejects.toBe(failure);
    await first;
    expect(await third).toBe('third');
  });
});

describe('Slots', () => {
  test('are given out in the order of asking, but not to callers that have left', async () => {
    const slots = new Slots(1);
    const staying = new AbortController().signal;
    const leaving = new AbortController();
    const got: string[] = [];
    await slots.acquire(staying);
    const left = slots.acquire(leaving.signal);
    const next = slots.acquire(staying).then(() => got.push('next'));
    const last = slots.acquire(staying).then(() => got.push('last'));
    leaving.abort(failure);
    await expect(left).rejects.toBe(failure);
    slots.release();
    await next;
    expect(got).toEqual(['next']);
    slots.release();
    await last;
    expect(got).toEqual(['next', 'last']);
  });
});

describe('SingleFlight', () => {
  test('all callers share one piece of work, even those without a signal', async () => {
    const flights = new SingleFlight<number>();
    let works = 0;
    const work = async () => {
      await turn();
      return ++works;
    };
    const { signal } = new AbortController();
    const asked = [flights.join('key', signal, work), flights.join('key', undefined, work)];
    expect([flights.size, flights.has('key')]).toEqual([1, true]);
    expect(await Promise.all(asked)).toEqual([1, 1]);
    expect(flights.size).toBe(0);
    expect(await flights.join('key', signal, work)).toBe(2);
  });

  test('work is given up when its last caller has left', async () => {
    const flights = new SingleFlight<never>();
    let shared: AbortSignal | undefined;
    const work = (signal: AbortSignal) => {
      shared = signal;
      return new Promise<never>(() => undefined);
    };
    const [one, other] = [new AbortController(), new AbortController()];
    const asked = [flights.join('key', one.signal, work), flights.join('key', other.signal, work)];
    one.abort(failure);
    await expect(asked[0]).rejects.toBe(failure);
    expect(shared?.aborted).toBe(false);
    other.abort(failure);
    await expect(asked[1]).rejects.toBe(failure);
    expect(shared?.aborted).toBe(true);
  });
});

describe('InFlight', () => {
  test('has room below its limit, and none after a failure, which is reported once', async () => {
    const told: unknown[] = [];
    const inFlight = new InFlight(2, (reason) => told.push(reason));
    inFlight.add(turn());
    expect(inFlight.hasRoom).toBe(true);
    inFlight.add(turn());
    expect(inFlight.hasRoom).toBe(false);
    await inFlight.room();
    inFlight.add(Promise.reject(failure));
    inFlight.add(Promise.reject(new Error('later')));
    await inFlight.idle();
    expect(told).toEqual([failure]);
    await expect(inFlight.room()).rejects.toBe(failure);
    await expect(inFlight.done()).rejects.toBe(failure);
  });
});
