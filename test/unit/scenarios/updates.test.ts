import { expect, test } from 'vitest';
import { seededRandom } from '../../../formats/random.ts';
import { Ledger } from '../../../harness/inspect/ledger/ledger.ts';
import { VirtualTime } from '../../../harness/places/simulated/virtual-time.ts';
import type { StormContext } from '../../../scenarios/steps/storm/parameters.ts';
import { Updates } from '../../../scenarios/steps/storm/updates.ts';

/** Id, signature and span. */
const HEAD = Buffer.alloc(105);
const ANSWER_MS = 10;

/** @param has what the node has in the end */
async function concluded(has: readonly string[], mayHaveTaken: boolean): Promise<unknown[]> {
  using time = new VirtualTime();
  const clock = time.outside;
  const texts = new Map<string, string | undefined>();
  const node = {
    name: 'node-0',
    mode: 'full',
    running: true,
    overlay: '80'.repeat(32),
    batch: 'ab'.repeat(32),
    client: { status: () => Promise.resolve({ storageRadius: 0 }) },
    soc: { upload: () => Promise.resolve({}) },
    holds: async (address: string, signal: AbortSignal) => {
      await clock.sleep(ANSWER_MS, signal);
      if (!texts.has(address)) texts.set(address, has[texts.size]);
      return true;
    },
    chunks: {
      download: (address: string) =>
        Promise.resolve(Buffer.concat([HEAD, Buffer.from(texts.get(address) ?? '')])),
    },
  };
  const seen: unknown[] = [];
  const context = {
    cluster: { clock, nodes: [node] },
    random: (stream: string) => seededRandom('1', stream),
    ledger: new Ledger(),
    signal: new AbortController().signal,
    measure: (_key: unknown, work: () => Promise<unknown>) => work(),
    step: (_name: string, work: (progress: object) => Promise<void>) => work({ detail: () => undefined }),
    expect: (_name: string, passed: boolean, { observed }: { readonly observed: string }) =>
      seen.push(passed, observed),
  } as unknown as StormContext;
  const updates = new Updates(context);
  const all = async () => {
    for (const [n] of has.entries()) {
      const place = { n, lane: 'updates', atMs: n, node: 'node-0' };
      await updates.update({ ...place, do: 'update', to: 'node-0', data: `address ${n}` });
    }
    await updates.conclude({ taken: new Set(), mayHaveTaken: () => mayHaveTaken });
  };
  await time.during(all());
  return seen;
}

test.each([
  ['are all the newest', ['update 0', 'update 1', 'update 9'], false, [true, '0 of 3 addresses']],
  ['are older at one address', ['update 0', 'update 0', 'update 2'], false, [false, '1 of 3 addresses']],
  ['have left with a node', ['update 0', 'update 0', ''], true, [true, '0 of 3 addresses']],
] as const)('after a storm, payloads that %s', async (_what, has, mayHaveTaken, expected) => {
  expect(await concluded(has, mayHaveTaken)).toEqual(expected);
});
