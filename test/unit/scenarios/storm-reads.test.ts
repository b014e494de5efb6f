import { ClientError } from 'svcnet';
import { expect, test, vi } from 'vitest';
import { readBack, sync } from '../../../scenarios/steps/storm/checks.ts';
import type { Operations } from '../../../scenarios/steps/storm/operations.ts';
import type { StormContext } from '../../../scenarios/steps/storm/parameters.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

/** Each look at the time is so much later than the one before. */
const LOOK_MS = 15_000;
const UPLOADS = 300;
/** Still under way when it is clear that the network does not deliver. */
const AT_ONCE = 4;
const ENOUGH = 10;

const GONE = { class: 'retr.not_found', node: 'node-0', method: 'GET', path: '/bytes', status: 404 } as const;

function stormWith(read: () => Promise<undefined>) {
  const expected: [name: string, passed: boolean, observed: unknown, wanted: unknown][] = [];
  let now = 0;
  const clock = Object.assign(new VirtualClock(), { monotonic: () => (now += LOOK_MS) });
  const node = { name: 'node-0', kind: 'full', running: true, flavour: 'svc' };
  const context = {
    cluster: { clock, nodes: [node] },
    signal: new AbortController().signal,
    random: () => ({ below: () => 0 }),
    step: async (_name: string, work: (progress: unknown) => Promise<unknown>) =>
      work({ progress: () => undefined }),
    expect: (name: string, passed: boolean, { observed, expected: wanted }: Record<string, unknown>) =>
      expected.push([name, passed, observed, wanted]),
  };
  const uploads = Array.from({ length: UPLOADS }, (_, n) => [
    n,
    { operation: { n }, node, reference: 'ab'.repeat(32) },
  ]);
  const reads = vi.fn(read);
  const operations = { promised: [...new Map(uploads as never).values()], wrong: [], read: reads };
  return {
    expected,
    reads,
    run: () => readBack(context as unknown as StormContext, operations as unknown as Operations),
    sync: (upload: object) =>
      sync(
        { ...context, cluster: { clock, nodes: [] } } as unknown as StormContext,
        { promised: [upload], acknowledge: async () => undefined } as unknown as Operations,
      ),
  };
}

test('a network that delivers nothing is not asked for every upload, and the report says so', async () => {
  const storm = stormWith(() => Promise.reject(new ClientError('it is gone', GONE)));
  await storm.run();
  const [[name, passed, observed, wanted] = []] = storm.expected;
  expect(wanted).toBe('0 of 300 uploads');
  expect(name).toBe('every upload is delivered');
  expect(passed).toBe(false);
  const { failed, unread } =
    /^(?<failed>\d+) of 300 uploads, (?<unread>\d+) of which were not read/.exec(String(observed))?.groups ??
    {};
  expect(Number(failed)).toBeGreaterThanOrEqual(ENOUGH);
  expect(Number(failed)).toBeLessThan(ENOUGH + AT_ONCE);
  expect(Number(failed) + Number(unread)).toBe(UPLOADS);
});

test('a network that is slow is asked for every upload', async () => {
  const storm = stormWith(() => Promise.resolve(undefined));
  await storm.run();
  expect(storm.reads).toHaveBeenCalledTimes(UPLOADS);
  expect(storm.expected[0]).toEqual([
    'every upload is delivered',
    true,
    '0 of 300 uploads',
    '0 of 300 uploads',
  ]);
});

test.each([
  ['arrives is waited for', 400, true],
  ['goes far slower than in a healthy network is not waited for', 1, false],
] as const)('a deferred upload that %s', async (_about, perLook, arrives) => {
  const storm = stormWith(() => Promise.resolve(undefined));
  let synced = 0;
  const tags = { list: async () => [{ uid: 1, split: 1000, seen: 0, synced: (synced += perLook) }] };
  await storm.sync({ node: { tags }, tag: 1, operation: { n: 0 }, reference: 'ab'.repeat(32) });
  const [[name, passed] = []] = storm.expected;
  expect([name, passed]).toEqual(['every deferred upload reaches the network', arrives]);
});
