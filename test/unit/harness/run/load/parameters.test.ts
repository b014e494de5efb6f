import { expect, test } from 'vitest';
import { LOAD_PARAMETERS, loadPlan } from '../../../../../harness/run/load/parameters.ts';
import { defineScenario, resolveParameters } from '../../../../../harness/run/scenario.ts';

const scenario = defineScenario({
  name: 'load',
  group: 'load',
  about: 'A load.',
  parameters: LOAD_PARAMETERS,
  needs: { nodes: 1 },
  cluster: { nodes: 1 },
  timeoutMs: 1,
  run: async () => undefined,
});
const planOf = (given: Record<string, string>) =>
  loadPlan(resolveParameters(scenario, new Map(Object.entries(given))), 7n);

test('a load without options starts ten uploads a second for a minute, after a warm-up', () => {
  expect(planOf({})).toMatchObject({
    script: 'upload',
    profile: 'constant',
    model: { model: 'open', rate: 10 },
    durationMs: 60_000,
    warmupMs: 3000,
    mode: 'direct',
  });
});

test('giving users makes it a closed model', () => {
  expect(planOf({ vus: '8' }).model).toEqual({ model: 'closed', vus: 8 });
});

test('a soak lasts half an hour unless specified otherwise', () => {
  expect(planOf({ profile: 'soak' }).durationMs).toBe(1_800_000);
  expect(planOf({ profile: 'soak', duration: '5s' }).durationMs).toBe(5000);
});

test('errors are limited by default unless a threshold limits them', () => {
  const texts = (thresholds: string) => planOf({ thresholds }).thresholds.map(({ text }) => text);
  expect(texts('p95<1s')).toEqual(['p95<1s', 'errors<1%']);
  expect(texts('errors<5%')).toEqual(['errors<5%']);
  expect(texts('upload:errors<5%')).toEqual(['upload:errors<5%', 'errors<1%']);
});

test.each([
  [{ rate: '5/s', vus: '5' }, '--rate 5/s starts iterations by the clock, --vus 5 when users are free'],
  [{ rate: '5' }, "--rate: got '5', expected a rate such as 20/s"],
  [{ rate: '0/s' }, '--rate: got'],
  [{ rate: '20000/s' }, '--rate: got'],
  [{ vus: '5000' }, '--vus: got 5000, expected a whole number from 0 to 1000'],
  [{ duration: 'long' }, "--duration: got 'long'"],
  [{ duration: '10ms' }, '--duration: got'],
  [{ redundancy: '5' }, '--redundancy: got 5'],
  [{ script: 'uplaod' }, "unknown load 'uplaod', did you mean 'upload'?"],
  [{ script: './none.js' }, '--script: there is no file'],
  [{ findLimit: 'p95' }, "--find-limit: got 'p95': expected a figure"],
  [
    { thresholds: 'uplaod:p95<1s' },
    "'uplaod:p95<1s': the load 'upload' has no operation 'uplaod', did you mean 'upload'?",
  ],
  [{ script: 'feeds', findLimit: 'upload:p95<1s' }, "has no operation 'upload' (it has: update, read)"],
  [{ script: 'feeds', sizes: '4KiB' }, "--sizes has no meaning for the load 'feeds'"],
  [{ script: 'chunks', encrypt: 'true' }, "--encrypt has no meaning for the load 'chunks'"],
  [{ script: 'upload', reads: 'cold' }, "--reads has no meaning for the load 'upload'"],
  [{ script: 'messages', mode: 'deferred' }, "--mode has no meaning for the load 'messages'"],
])('refuses %j', (given, why) => {
  expect(() => planOf(given as unknown as Record<string, string>)).toThrow(why);
});
