import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../node/env/logger.ts';
import type { Anchor } from '../../../node/postage/batch-store.ts';
import {
  followPostage,
  type ListenerOptions,
  nextPage,
  PAGE_BLOCKS,
} from '../../../node/postage/listener.ts';
import { POSTAGE, TOKEN } from '../onchain/addresses.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';
import { away, FakeChain, id32, OTHER } from './fake-chain.ts';

describe('which blocks are read next', () => {
  const rules = { startBlock: 1, tailBlocks: 4, batchFactor: 5 };

  test.each([
    ['the newest blocks are left for later', 1, 14, { kind: 'page', from: 2, to: 10, full: false }],
    ['the end is rounded down', 10, 23, { kind: 'page', from: 11, to: 15, full: false }],
    ['until a whole group is there nothing is new', 10, 18, { kind: 'nothing-new' }],
    ['a chain that is too short is waited for', 1, 8, { kind: 'wait' }],
    ['a chain shorter than its tail is waited for', 1, 3, { kind: 'wait' }],
    ['a chain shorter than what was read is waited for', 20, 19, { kind: 'wait' }],
    ['a long way is read page by page', 1, 5_010, { kind: 'page', from: 2, to: 5_001, full: true }],
    ['exactly one page is the last one', 1, 5_005, { kind: 'page', from: 2, to: 5_000, full: false }],
  ])('%s', (_, lastBlock, head, expected) => {
    expect(nextPage(rules, lastBlock, head)).toEqual(expected);
  });

  test('without tail and factor every block is read at once', () => {
    const eager = { startBlock: 1, tailBlocks: 0, batchFactor: 1 };
    expect(nextPage(eager, 16, 17)).toEqual({ kind: 'page', from: 17, to: 17, full: false });
    expect(nextPage(eager, 17, 17)).toEqual({ kind: 'nothing-new' });
  });

  test('a page has as many blocks as the platform allows', () => {
    const short = { ...rules, logBlocks: 8 };
    expect(nextPage(short, 1, 24)).toEqual({ kind: 'page', from: 2, to: 9, full: true });
    expect(nextPage(short, 9, 19)).toEqual({ kind: 'page', from: 10, to: 15, full: false });
  });

  test('every block is read once, in order', () => {
    let last = 1;
    for (let head = 2; head < 20_000; head += 37) {
      const page = nextPage(rules, last, head);
      if (page.kind !== 'page') continue;
      expect(page.from).toBe(last + 1);
      expect(page.to - page.from).toBeLessThan(PAGE_BLOCKS);
      last = page.to;
    }
    expect(last).toBeGreaterThan(19_900);
  });
});

interface Following {
  readonly chain: FakeChain;
  readonly clock: VirtualClock;
  readonly applied: { to: number; events: number }[];
  /** The state before any page is last. */
  readonly anchors: (Anchor | undefined)[];
  readonly wentBack: (number | undefined)[];
  readonly outcomes: string[];
  /** Whether its blocks were empty, for every page. */
  readonly found: boolean[];
  readonly warnings: unknown[];
  onOutcome: () => void;
  caughtUp: number;
  last: number;
  stop(): void;
  run(options?: Partial<ListenerOptions>): Promise<unknown>;
}

function following(): Following {
  const stopping = new AbortController();
  const clock = new VirtualClock();
  const setup: Following = {
    chain: new FakeChain(OTHER),
    clock,
    applied: [],
    anchors: [undefined],
    wentBack: [],
    outcomes: [],
    found: [],
    warnings: [],
    onOutcome: () => undefined,
    caughtUp: 0,
    last: 1,
    stop: () => stopping.abort(new Error('stopped')),
    run: (options = {}) =>
      followPostage(
        {
          contract: POSTAGE,
          token: TOKEN,
          startBlock: 1,
          tailBlocks: 4,
          batchFactor: 5,
          pollIntervalMs: 5000,
          ...options,
        },
        {
          chain: setup.chain,
          clock,
          pace: {
            found: ({ empty }) => void setup.found.push(empty),
            nothing: () => undefined,
            pause: (signal) => clock.sleep(options.pollIntervalMs ?? 5000, signal),
          },
          log: {
            ...silentLogger(),
            info: () => undefined,
            warn: (...words: unknown[]) => setup.warnings.push(words),
          },
          lastBlock: () => setup.last,
          applied: () => setup.anchors[0],
          anchors: () => setup.anchors,
          async apply(events, { block, hash }) {
            setup.applied.push({ to: block, events: events.length });
            setup.anchors.unshift({ block, hash });
            setup.last = block;
          },
          async revert(pages) {
            setup.wentBack.push(pages);
            setup.anchors.splice(0, pages ?? setup.anchors.length);
            if (setup.anchors.length === 0) setup.anchors.push(undefined);
            setup.last = setup.anchors[0]?.block ?? 1;
          },
          caughtUp: () => setup.caughtUp++,
          counted(outcome) {
            setup.outcomes.push(outcome);
            setup.onOutcome();
          },
        },
        stopping.signal,
      ).catch((error: unknown) => error),
  };
  return setup;
}

function eachLook(setup: Following, step: (look: number) => boolean): void {
  let look = 0;
  setup.chain.onBlockNumber = () => {
    if (step(look++)) return;
    setup.stop();
  };
}

describe('following', () => {
  test('a block without transactions that directly follows the last one needs no logs', async () => {
    const setup = following();
    setup.chain.tellsMore = true;
    const reads: number[] = [];
    let read = 0;
    setup.chain.onRead = () => read++;
    setup.onOutcome = () => reads.push(read);
    eachLook(setup, (look) => {
      if (look === 3) setup.chain.setPrice(24_000n);
      else if (look > 0) setup.chain.mine();
      return look < 5;
    });
    await setup.run({ tailBlocks: 0, batchFactor: 1 });
    expect(setup.applied.slice(1)).toEqual([
      { to: 13, events: 0 },
      { to: 14, events: 1 },
      { to: 15, events: 0 },
      { to: 16, events: 0 },
    ]);
    expect(setup.found).toEqual([false, true, false, true, true]);
    const perLook = reads.map((count, n) => count - (reads[n - 1] ?? 0));
    expect([perLook[1], perLook[3]]).toEqual([1, 1]);
    expect(perLook[2]).toBeGreaterThan(1);
    expect(setup.chain.ranges.map(([from]) => from)).not.toContain(13);
  });

  test('an empty block of another branch is not mistaken for the next one', async () => {
    const setup = following();
    setup.chain.tellsMore = true;
    setup.chain.setPrice(24_000n);
    const base = setup.chain.head - 1;
    eachLook(setup, (look) => {
      if (look === 2) {
        setup.chain.reorganise(base);
        setup.chain.mine(2);
      }
      return look < 6;
    });
    await setup.run({ tailBlocks: 0, batchFactor: 1 });
    expect(setup.wentBack).not.toEqual([]);
  });

  test('events are delivered once, with the blocks they are in', async () => {
    const setup = following();
    setup.chain.setPrice(24_000n);
    setup.chain.createBatch(OTHER, id32(1), { amount: 10_000_000n, depth: 17, immutable: false });
    eachLook(setup, (look) => {
      setup.chain.mine(5);
      return look < 4;
    });
    expect(await setup.run()).toMatchObject({ message: 'stopped' });
    expect(setup.applied.reduce((sum, { events }) => sum + events, 0)).toBe(2);
    expect(setup.chain.ranges[0]?.[0]).toBe(2);
    for (const [i, [from]] of setup.chain.ranges.entries()) {
      if (i > 0) expect(from).toBe((setup.chain.ranges[i - 1]?.[1] ?? 0) + 1);
    }
    expect(setup.caughtUp).toBeGreaterThan(0);
  });

  test('a long history is read in full pages without a pause until it has caught up', async () => {
    const setup = following();
    setup.chain.head = 12_345;
    const before = setup.clock.now();
    eachLook(setup, () => setup.caughtUp === 0);
    await setup.run();
    expect(setup.applied.map(({ to }) => to)).toEqual([5001, 10_001, 12_340]);
    expect(setup.clock.now() - before).toBeLessThanOrEqual(5000);
  });

  test('a restart on a chain that stands still counts as caught up', async () => {
    const setup = following();
    setup.last = 10;
    setup.chain.head = 14;
    eachLook(setup, () => setup.caughtUp === 0);
    await setup.run();
    expect(setup.caughtUp).toBeGreaterThan(0);
    expect(setup.applied).toEqual([]);
  });

  test('a chain that is briefly unavailable is asked again', async () => {
    const setup = following();
    setup.chain.head = 50;
    setup.chain.failure = away();
    setup.onOutcome = () => {
      if (setup.outcomes.length === 2) setup.chain.failure = undefined;
    };
    eachLook(setup, () => setup.caughtUp === 0);
    await setup.run();
    expect(setup.outcomes.slice(0, 3)).toEqual(['failed', 'failed', 'answered']);
    expect(setup.applied).toEqual([{ to: 45, events: 0 }]);
    expect(setup.warnings.length).toBe(1);
  });

  test('a truncated event is read again, not applied', async () => {
    const setup = following();
    setup.chain.head = 50;
    setup.chain.emit('BatchCreated', [id32(1)], [1n]);
    setup.chain.head = 60;
    eachLook(setup, (look) => look < 4);
    await setup.run();
    expect([setup.applied, setup.caughtUp]).toEqual([[], 0]);
  });
});

describe('what ends it', () => {
  test('ten minutes without a new block', async () => {
    const setup = following();
    setup.chain.head = 14;
    const before = setup.clock.now();
    expect(await setup.run()).toMatchObject({ code: 'SYNC_STALLED', message: 'postage syncing stalled' });
    expect(setup.clock.now() - before).toBeGreaterThanOrEqual(600_000);
    expect(setup.clock.now() - before).toBeLessThan(610_000);
    expect(setup.applied.length).toBe(1);
  });

  test('ten minutes without the chain', async () => {
    const setup = following();
    setup.onOutcome = () => {
      setup.chain.failure = away();
    };
    expect(await setup.run()).toMatchObject({ code: 'SYNC_STALLED' });
  });

  test('ten seconds without the chain at the start', async () => {
    const setup = following();
    setup.chain.failure = away();
    const before = setup.clock.now();
    expect(await setup.run()).toMatchObject({ code: 'RPC_UNREACHABLE', message: 'connection refused' });
    expect(setup.clock.now() - before).toBe(10_000);
  });

  test.each([
    ['no contract', '', 'but there is none'],
    [
      'a contract for another token',
      `0x${'71'.repeat(20)}`,
      `but the one there takes the token 0x${'71'.repeat(20)}`,
    ],
  ])('%s at the address', async (_what, token, message) => {
    const setup = following();
    setup.chain.token = token;
    expect(await setup.run()).toMatchObject({
      code: 'CONTRACT_MISSING',
      message: `expected a postage stamp contract for the token ${TOKEN} at ${POSTAGE}, ${message}`,
    });
  });

  test('a contract that is missing only once is accepted', async () => {
    const setup = following();
    let asked = 0;
    Object.defineProperty(setup.chain, 'token', { get: () => (asked++ === 0 ? '' : TOKEN) });
    eachLook(setup, () => setup.caughtUp === 0);
    expect(await setup.run()).toMatchObject({ message: 'stopped' });
  });

  test('a contract that is paused at the start', async () => {
    const setup = following();
    setup.chain.paused = true;
    expect(await setup.run()).toMatchObject({
      code: 'CONTRACT_PAUSED',
      message: 'postage contract is paused',
    });
  });

  test('a pause in the history', async () => {
    const setup = following();
    setup.chain.emit('Paused', [], [OTHER]);
    setup.chain.head = 50;
    expect(await setup.run()).toMatchObject({ code: 'CONTRACT_PAUSED' });
    expect(setup.applied).toEqual([]);
  });

  test('a chain that is shorter than the stored state at the start', async () => {
    const setup = following();
    setup.last = 100;
    expect(await setup.run()).toMatchObject({
      code: 'CHAIN_RESET',
      message: expect.stringMatching(/up to block 100, but the chain ends at block 11/) as string,
    });
  });

  test('a short head that is seen only once is tolerated', async () => {
    const setup = following();
    setup.last = 100;
    eachLook(setup, (look) => {
      setup.chain.head = look === 0 ? 99 : 104;
      return setup.caughtUp === 0;
    });
    expect(await setup.run()).toMatchObject({ message: 'stopped' });
  });
});

describe('a reorganised chain', () => {
  /** Reads block by block up to `head`, then waits for `then` at the next look. */
  async function readTo(setup: Following, head: number, then: () => void): Promise<void> {
    let done = false;
    eachLook(setup, () => {
      if (done) return setup.wentBack.length === 0 || setup.last < setup.chain.head;
      if (setup.last === setup.chain.head && setup.chain.head === head) {
        done = true;
        then();
      } else if (setup.last === setup.chain.head) setup.chain.mine();
      return true;
    });
    await setup.run({ tailBlocks: 0, batchFactor: 1 });
  }

  test('within its tail goes unnoticed', async () => {
    const setup = following();
    setup.chain.head = 50;
    eachLook(setup, (look) => {
      if (look === 3) setup.chain.reorganise(46);
      if (look > 3) setup.chain.mine(5);
      return look < 8;
    });
    await setup.run();
    expect(setup.applied[0]).toEqual({ to: 45, events: 0 });
    expect([setup.wentBack, setup.last > 60]).toEqual([[], true]);
  });

  test.each([
    [1, 1],
    [3, 3],
    [8, 8],
  ])('%i blocks deep reverts the %i pages behind it, and reads the other branch', async (depth, pages) => {
    const setup = following();
    await readTo(setup, 25, () => {
      setup.chain.reorganise(25 - depth);
      setup.chain.mine(depth + 1);
    });
    expect(setup.wentBack).toEqual([pages]);
    expect(setup.last).toBe(26);
  });

  test('that has become shorter is followed as soon as one of the remembered blocks tells', async () => {
    const setup = following();
    await readTo(setup, 25, () => {
      setup.chain.reorganise(20);
      setup.chain.mine(2);
    });
    expect(setup.wentBack).toEqual([5]);
    expect(setup.last).toBe(22);
  });

  test('that has only lost its newest blocks is waited for', async () => {
    const setup = following();
    let looks = 0;
    await readTo(setup, 25, () => {
      setup.chain.head = 22;
      setup.chain.onBlockNumber = () => {
        if (++looks === 10) setup.stop();
      };
    });
    expect([setup.wentBack, setup.last]).toEqual([[], 25]);
  });

  test('without a remembered block in common is read from the start', async () => {
    const setup = following();
    await readTo(setup, 20, () => {
      // The state before the first page is forgotten, as it is after many pages.
      setup.anchors.pop();
      setup.chain.reorganise(5);
      setup.chain.mine(30);
    });
    expect(setup.wentBack[0]).toBeUndefined();
    expect(setup.wentBack).toHaveLength(1);
  });

  test('between the logs and the end of a look: the page is not applied', async () => {
    const setup = following();
    setup.chain.head = 12;
    const applied: number[] = [];
    let ranges = 0;
    setup.chain.onRead = () => {
      if (setup.chain.ranges.length === ranges) return;
      ranges = setup.chain.ranges.length;
      applied.push(setup.applied.length);
      if (ranges > 3) return;
      setup.chain.reorganise(11);
      setup.chain.mine();
    };
    eachLook(setup, () => setup.applied.length === 0);
    await setup.run({ tailBlocks: 0, batchFactor: 1 });
    expect(applied.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(setup.anchors[0]).toEqual({ block: 12, hash: (await setup.chain.header(12))?.hash });
  });

  test('again and again is not followed in a loop without a pause', async () => {
    const setup = following();
    setup.chain.head = 20;
    const times: number[] = [];
    eachLook(setup, (look) => {
      times.push(setup.clock.now());
      if (setup.last === 1) return true;
      setup.chain.reorganise(setup.last - 1);
      setup.chain.mine();
      return look < 20;
    });
    await setup.run({ tailBlocks: 0, batchFactor: 1 });
    expect(setup.wentBack.length).toBeGreaterThan(3);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(5 * 5000);
  });

  test('at the start, shorter than what is stored: no reset when a remembered block can tell', async () => {
    const setup = following();
    setup.chain.head = 30;
    setup.anchors.unshift({ block: 20, hash: (await setup.chain.header(20))?.hash ?? '' });
    setup.anchors.unshift({ block: 40, hash: `0x${'40'.repeat(32)}` });
    setup.last = 40;
    setup.chain.reorganise(15);
    setup.chain.mine(15);
    eachLook(setup, () => setup.caughtUp === 0);
    expect(await setup.run({ tailBlocks: 0, batchFactor: 1 })).toMatchObject({ message: 'stopped' });
    expect([setup.wentBack, setup.last]).toEqual([[2], 30]);
  });
});
