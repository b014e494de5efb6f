import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { corpusOf, fuzzTarget } from '../fuzz/campaign.ts';
import { answered, CrashError, fuzz, type Target } from '../fuzz/fuzzer.ts';
import { instrumented } from '../fuzz/instrument.ts';
import { TARGETS, type TargetName } from '../fuzz/targets.ts';

test.each(Object.keys(TARGETS) as TargetName[])('%s answers every input of its corpus', async (name) => {
  const corpus = corpusOf(name);
  expect(corpus.length).toBeGreaterThan(0);
  for (const input of corpus) await answered(TARGETS[name].run, input);
});

describe('the fuzzer', () => {
  /** Linear congruential: any numbers will do. */
  function random(seed: number) {
    let state = BigInt(seed);
    return {
      below(bound: number) {
        state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
        return Number((state >> 33n) % BigInt(bound));
      },
    };
  }

  /** Fails at four bytes one after the other, and counts how far it gets. */
  function planted(guided: boolean) {
    const counters = new Uint8Array(8);
    const target: Target = (input) => {
      for (const [index, byte] of [0xc0, 0xff, 0xee, 0x42].entries()) {
        if (input[index] !== byte) return;
        counters[index] = 1;
      }
      throw new TypeError('planted');
    };
    const coverage = { counters, size: () => (guided ? counters.length : 0) };
    const run = (runs: number) =>
      fuzz({
        target,
        corpus: [new Uint8Array(4)],
        coverage,
        random: random(1),
        goOn: (_input, count) => count < runs,
      });
    return run;
  }

  test('finds what only guided mutation finds', async () => {
    const failed = await planted(true)(200_000).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(CrashError);
    expect((failed as CrashError).input.slice(0, 4)).toEqual(Uint8Array.of(0xc0, 0xff, 0xee, 0x42));
    expect(await planted(false)(200_000)).toMatchObject({ runs: 200_000, found: [] });
  });

  test('treats errors with a code of the project as answers, and all others as crashes', async () => {
    const refusing: Target = () => {
      throw Object.assign(new Error('bad'), { code: 'MESSAGE_MALFORMED' });
    };
    await answered(refusing, new Uint8Array());
    for (const code of [undefined, 'ERR_OUT_OF_RANGE']) {
      const crashing = async () => {
        throw Object.assign(new Error('bad'), { code });
      };
      await expect(answered(crashing, new Uint8Array())).rejects.toBeInstanceOf(CrashError);
    }
  });

  const bounded = { runs: 500, seconds: 60, seed: 1, hangMs: 60_000 };

  test('reports an input that never ends, and one that uses up all memory', async () => {
    const script = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    const hanging = await fuzzTarget(
      'stamp',
      { ...bounded, hangMs: 1000 },
      script("import { workerData } from 'node:worker_threads'; workerData.shared.numbers[0] = 1; for (;;);"),
    );
    expect(hanging.failure?.why).toBe('no answer within 1 s');
    // One large allocation at the limit could end the whole process.
    const growing = await fuzzTarget('stamp', bounded, script('for (let last;;) last = { last };'));
    expect(growing.failure?.why).toBe('more than 256 MiB');
  });

  test('counts blocks of the sources themselves', async () => {
    const { runs, blocks, failure } = await fuzzTarget('manifest', bounded);
    expect(failure).toBeUndefined();
    expect(blocks).toBeGreaterThan(20);
    expect(runs).toBe(500);
  });
});

test('instrumented sources behave as before, and count', () => {
  const source = `
    const pick = (n: number) => (n > 2 ? 'many' : n === 0 || n === 1 ? 'few' : 'two');
    function sum(list: number[]): number {
      let total = 0;
      for (const item of list) if (item > 0) total += item; else total -= item;
      switch (total) { case 3: return 33; default: return total; }
    }
    return [pick(0), pick(2), pick(9), sum([1, -2]), sum([5])];`;
  let blocks = 0;
  const code = instrumented(`function all() {${source}}`, () => blocks++);
  const plain = code.replaceAll(/: number(\[\])?/g, '');
  const counters = new Uint8Array(blocks);
  const results = runInNewContext(`${plain}; all();`, { __fuzzCounters: counters }) as unknown[];
  expect(Array.from(results)).toEqual(['few', 'two', 'many', 33, 5]);
  expect([...counters].filter((count) => count === 0)).toEqual([]);
});
