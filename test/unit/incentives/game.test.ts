import { describe, expect, test } from 'vitest';
import { createKeyedHasher } from '../../../formats/crypto/bmt/tree.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createPlayer, type Player } from '../../../node/incentives/game.ts';
import { SAMPLES_ON_DEMAND_MAX } from '../../../node/incentives/on-demand.ts';
import type { GameState } from '../../../node/incentives/ports.ts';
import { inclusionProofs } from '../../../node/incentives/proofs.ts';
import { commitmentHash, type SampleItem, transformedAddress } from '../../../node/incentives/sample.ts';
import type { SampleRequest } from '../../../node/incentives/sampler.ts';
import { Head } from '../../../node/onchain/head.ts';
import { encodeClaim } from '../../../node/onchain/incentive-contracts.ts';
import { TOKEN } from '../onchain/addresses.ts';
import { CrashError, MemoryState } from '../onchain/memory-state.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { chunkOf, stampFor } from './chunks.ts';
import { ACCOUNT, COST, FakeGame, GAME, OVERLAY, POT, ROUND_LENGTH } from './fake-game.ts';

const POLL_MS = 100;
const DEPTH = 3;
/** Whose claim phase the tests begin in. */
const ROUND = 20;
const CLAIM = ROUND_LENGTH / 2;

const CHUNKS = Array.from({ length: 16 }, (_, n) => chunkOf(`chunk ${n}`, n % 2 === 0 ? 'cac' : 'soc'));

function sampleFor(anchor: Uint8Array): SampleItem[] {
  const hasher = createKeyedHasher(anchor);
  return CHUNKS.map((chunk) => ({
    chunk,
    stamp: stampFor(chunk),
    transformed: transformedAddress(chunk, hasher),
  })).sort((a, b) => Buffer.compare(a.transformed, b.transformed));
}

/** A player, and the world that outlives it. */
class Bench {
  readonly game = new FakeGame();
  readonly clock = new ManualClock();
  readonly disk = new Map<string, Uint8Array>();
  readonly node = { frozenUntil: 0, synced: true, healthy: true, chunks: CHUNKS.length };
  readonly samples: SampleRequest[] = [];
  /** What other parts have polled. */
  readonly head = new Head(this.clock);
  /** Held up until it resolves. */
  sampling: Promise<void> = Promise.resolve();
  expiry: () => Promise<void> = () => Promise.resolve();
  metrics = createMetrics({ prefix: 'svc' });
  state = new MemoryState(this.disk);
  player: Player;
  #keys = 0;

  constructor(block = ROUND * ROUND_LENGTH + CLAIM) {
    this.game.head = block;
    this.player = this.#create();
    this.player.start();
  }

  #create(): Player {
    const { game, clock, node } = this;
    return createPlayer(
      { game: GAME, token: TOKEN, overlay: OVERLAY, roundLength: ROUND_LENGTH, pollMs: POLL_MS },
      {
        chain: game,
        head: this.head,
        transactions: game,
        signer: { address: ACCOUNT },
        staking: {
          staked: async () => ((await game.blockNumber()) >= 0 && game.staked ? 10n ** 17n : 0n),
          isFrozen: async (block) => (await game.blockNumber()) < Infinity && node.frozenUntil >= block,
        },
        sampler: async (request) => {
          this.samples.push(request);
          await this.sampling;
          const items = sampleFor(request.anchor).slice(0, node.chunks);
          return { items, hash: commitmentHash(items) };
        },
        expireBatches: () => this.expiry(),
        committedDepth: () => DEPTH,
        isFullySynced: () => node.synced,
        isHealthy: () => node.healthy,
        state: this.state,
        clock,
        // Other keys after every start, as a real node has them.
        random: { bytes: (length) => new Uint8Array(length).fill(++this.#keys), below: () => 0 },
        log: silentLogger(),
        metrics: this.metrics,
      },
    );
  }

  /** Mines up to a block, with time to look at each one. */
  async to(block: number): Promise<void> {
    await this.clock.advance(2 * POLL_MS);
    while (this.game.head < block) {
      this.game.mine();
      await this.clock.advance(2 * POLL_MS);
    }
  }

  offset(round: number, offset: number): Promise<void> {
    return this.to(round * ROUND_LENGTH + offset);
  }

  async restart(): Promise<void> {
    await this.player.stop();
    this.state = new MemoryState(this.disk);
    this.metrics = createMetrics({ prefix: 'svc' });
    this.player = this.#create();
    this.player.start();
  }

  async metric(name: string): Promise<number> {
    const lines = (await this.metrics.expose()).split('\n');
    return Number(lines.find((line) => line.startsWith(`svc_storageincentives_${name} `))?.split(' ')[1]);
  }
}

/** Everything that one round leaves, of a player that won it. */
function expectWon(bench: Bench, round: number): void {
  const { game, player } = bench;
  const anchor1 = game.anchorOf(round);
  const items = sampleFor(anchor1);
  expect(game.reveals).toEqual([{ round, depth: DEPTH, hash: toHex(commitmentHash(items)) }]);
  const proofs = inclusionProofs(items, { anchor1, anchor2: game.seedOf(round) });
  expect(game.claims).toEqual([{ round, data: encodeClaim(proofs) }]);
  expect(game.sent.map(({ description, outcome }) => [description, outcome])).toEqual([
    [
      'commit transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'success' }) }),
    ],
    [
      'reveal transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'success' }) }),
    ],
    [
      'claim win transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'success' }) }),
    ],
  ]);
  expect(player.state()).toMatchObject({
    // For the next one already.
    lastSelectedRound: round + 1,
    lastPlayedRound: round,
    lastWonRound: round,
    reward: POT,
    fees: 3n * COST,
  });
}

describe('a round', () => {
  test('is sampled, committed to, revealed, won and claimed', async () => {
    const bench = new Bench();
    await bench.offset(ROUND, ROUND_LENGTH - 1);
    expect(bench.samples).toEqual([{ anchor: bench.game.anchorOf(ROUND + 1), depth: DEPTH, round: ROUND }]);
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
    expect(bench.game.sent.every(({ tipBoostPercent }) => tipBoostPercent === 50)).toBe(true);
    for (const [name, value] of Object.entries({
      commit_phases: 1,
      reveal_phases: 1,
      claim_phases: 1,
      winner: 1,
      neighborhood_selected: 2,
      round: ROUND + 1,
      current_phase: 3,
      commit_phase_errors: 0,
      reveal_phase_errors: 0,
      claim_phase_errors: 0,
      backend_errors: 0,
    }))
      expect([name, await bench.metric(name)]).toEqual([name, value]);
    await bench.player.stop();
    expect(bench.clock.running).toBe(0);
  });

  test('follows the previous one, as long as the neighbourhood is selected', async () => {
    const bench = new Bench();
    await bench.offset(ROUND + 3, ROUND_LENGTH - 1);
    const rounds = [ROUND + 1, ROUND + 2, ROUND + 3];
    expect(bench.game.commits.map(({ round }) => round)).toEqual(rounds);
    expect(bench.game.claims.map(({ round }) => round)).toEqual(rounds);
    expect(bench.player.state()).toMatchObject({ reward: 3n * POT, fees: 9n * COST });
    expect(new Set(bench.game.commits.map(({ hash }) => hash)).size).toBe(3);
  });

  test('that another player has won is not claimed', async () => {
    const bench = new Bench();
    bench.game.winner = 'other';
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expect(bench.game.claims).toEqual([]);
    expect(bench.player.state()).toMatchObject({
      lastPlayedRound: ROUND + 1,
      lastWonRound: 0,
      reward: 0n,
      fees: 2n * COST,
    });
  });

  test('is claimed even if old batches cannot be expired', async () => {
    const bench = new Bench();
    bench.expiry = () => Promise.reject(new Error('out of gas'));
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });

  test('shows its place from block to block', async () => {
    const bench = new Bench();
    const seen: Partial<GameState>[] = [];
    for (const offset of [0, 3, 4, 7, 8, 15]) {
      await bench.offset(ROUND + 1, offset);
      const { round, phase, block } = bench.player.state();
      seen.push({ round, phase, block: block - (ROUND + 1) * ROUND_LENGTH });
    }
    const phases = ['commit', 'commit', 'reveal', 'reveal', 'claim', 'claim'];
    const blocks = [0, 3, 4, 7, 8, 15];
    expect(seen).toEqual(phases.map((phase, n) => ({ round: ROUND + 1, phase, block: blocks[n] })));
  });
});

describe('no part is taken in a round', () => {
  test.each<[string, (bench: Bench) => void, Partial<GameState>]>([
    [
      'the stake is frozen',
      ({ node }) => void (node.frozenUntil = 1e9),
      { isFrozen: true, lastFrozenRound: ROUND },
    ],
    [
      'another neighbourhood is selected',
      ({ game }) => void (game.participating = false),
      { lastSelectedRound: 0 },
    ],
    ['nothing is staked', ({ game }) => void (game.staked = false), { lastSelectedRound: 0 }],
    [
      'the reserve is not synced',
      ({ node }) => void (node.synced = false),
      { isFullySynced: false, lastSelectedRound: ROUND + 1 },
    ],
    [
      'the radius is another one',
      ({ node }) => void (node.healthy = false),
      { isHealthy: false, lastSelectedRound: ROUND + 1 },
    ],
    // 15 transactions of 250,000 gas at a fee cap of 2 × 1 + 3.
    [
      'there is not more than the least coin',
      ({ game }) => void (game.balance = 15n * 250_000n * 5n),
      { lastSelectedRound: ROUND + 1 },
    ],
    [
      'there are too few chunks for a sample',
      ({ node }) => void (node.chunks = 15),
      { lastSelectedRound: ROUND + 1 },
    ],
  ])('when %s', async (_why, turn, expected) => {
    const bench = new Bench();
    turn(bench);
    await bench.offset(ROUND, ROUND_LENGTH - 1);
    expect(bench.player.state()).toMatchObject(expected);
    await bench.offset(ROUND + 1, 7);
    expect(bench.game.sent).toEqual([]);
  });

  test('until the missing condition is met, which is early enough as long as the phase lasts', async () => {
    const bench = new Bench();
    Object.assign(bench.node, { synced: false, healthy: false });
    bench.game.balance = 0n;
    await bench.offset(ROUND, 10);
    bench.node.synced = true;
    await bench.offset(ROUND, 11);
    bench.node.healthy = true;
    await bench.offset(ROUND, 12);
    expect(bench.samples).toEqual([]);
    bench.game.balance = 10n ** 18n;
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });

  test('while frozen, and the stake plays again once it has thawed', async () => {
    const bench = new Bench();
    bench.node.frozenUntil = (ROUND + 1) * ROUND_LENGTH;
    await bench.offset(ROUND + 2, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 2);
    expect(bench.player.state()).toMatchObject({ isFrozen: false, lastFrozenRound: ROUND });
  });
});

describe('a sample that takes long', () => {
  test('is committed to as long as the commit phase lasts', async () => {
    const bench = new Bench();
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.sampling = promise;
    await bench.offset(ROUND + 1, 1);
    expect(bench.game.sent).toEqual([]);
    resolve();
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });

  test('is given up when it is too late', async () => {
    const bench = new Bench();
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.sampling = promise;
    await bench.offset(ROUND + 1, 3);
    resolve();
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expect(bench.game.sent).toEqual([]);
    // Nothing was committed to, so there is nothing to ask the contract.
    expect(await bench.metric('reveal_phase_errors')).toBe(0);
  });
});

test('samples on demand do not keep the game from its own, however many are requested', async () => {
  const bench = new Bench();
  const held = Promise.withResolvers<void>();
  bench.sampling = held.promise;
  const ask = (n: number) =>
    bench.player.prove(
      { depth: 0, anchor1: Uint8Array.of(n), anchor2: Uint8Array.of(n) },
      new AbortController().signal,
    );
  const asked = Array.from({ length: SAMPLES_ON_DEMAND_MAX }, (_, n) => ask(n));
  await bench.clock.advance(POLL_MS);
  await expect(ask(99)).rejects.toMatchObject({ code: 'SAMPLING_BUSY' });
  expect(new Set(bench.samples.map(({ depth }) => depth))).toEqual(new Set([0, DEPTH]));
  expect(bench.samples).toHaveLength(2);
  held.resolve();
  expect((await Promise.all(asked)).map(({ hash }) => hash.length)).toEqual(asked.map(() => 32));
  await bench.player.stop();
});

test('without a stake the chain is not asked for its height while another component polls it', async () => {
  const bench = new Bench();
  await bench.player.stop();
  bench.game.staked = false;
  const polled = () => bench.head.seen({ number: bench.game.head, hash: `0x${bench.game.head}` });
  polled();
  let asked = 0;
  bench.game.blockNumber = async () => {
    asked++;
    return bench.game.head;
  };
  await bench.restart();
  await bench.clock.advance(0);
  const timers = bench.clock.running;
  for (let blocks = 0; blocks < 5; blocks++) {
    await bench.clock.advance(10 * POLL_MS);
    bench.game.head++;
    polled();
    await bench.clock.advance(0);
    expect(bench.player.state().block).toBe(bench.game.head);
  }
  expect(bench.clock.running).toBe(timers);
  // The stake and whether it is frozen, once in the phase.
  expect(asked).toBe(2);
  await bench.clock.advance(20 * POLL_MS);
  expect(asked).toBe(3);
});

test('without a stake a failure is not repeated at every poll of another component', async () => {
  const bench = new Bench();
  bench.game.staked = false;
  bench.game.blockNumber = async () => Promise.reject(new Error('no answer'));
  await bench.restart();
  await bench.clock.advance(0);
  const errors = () => bench.metric('backend_errors');
  const before = await errors();
  for (let polls = 0; polls < 20; polls++) {
    bench.head.seen({ number: bench.game.head, hash: '0x01' });
    await bench.clock.advance(POLL_MS);
  }
  expect((await errors()) - before).toBe(2);
});

test('without a stake the chain is looked at rarely, until there is one', async () => {
  const bench = new Bench();
  bench.game.staked = false;
  await bench.restart();
  await bench.clock.advance(0);
  const looks = () => bench.metric('backend_calls');
  const before = await looks();
  await bench.clock.advance(40 * POLL_MS);
  expect((await looks()) - before).toBe(2);
  bench.game.staked = true;
  bench.game.head = (ROUND + 1) * ROUND_LENGTH;
  await bench.clock.advance(20 * POLL_MS);
  const after = await looks();
  await bench.clock.advance(20 * POLL_MS);
  expect((await looks()) - after).toBe(20);
});

test('nothing is sent in a block that is followed by another phase', async () => {
  // The last commit comes two blocks before the phase ends, the last of the others one block.
  for (const [step, last] of [
    ['commit transaction', 1],
    ['reveal transaction', 6],
    ['claim win transaction', 14],
  ] as const) {
    for (const offset of [last, last + 1]) {
      const bench = new Bench();
      const before = { 'commit transaction': 15, 'reveal transaction': 3, 'claim win transaction': 7 }[step];
      await bench.offset(step === 'commit transaction' ? ROUND : ROUND + 1, before);
      bench.game.down = true;
      await bench.offset(ROUND + 1, offset);
      bench.game.down = false;
      await bench.offset(ROUND + 1, offset + 1);
      const sent = bench.game.sent.filter(({ description }) => description === step);
      expect([step, offset, sent.length]).toEqual([step, offset, offset === last ? 1 : 0]);
      await bench.offset(ROUND + 2, 0);
      for (const { outcome } of sent) expect(outcome).toMatchObject({ receipt: { status: 'success' } });
    }
  }
});

describe('an endpoint that is unavailable', () => {
  test.each([
    ['when the sample is taken', ROUND, 8, 12],
    ['when it is committed', ROUND + 1, 0, 1],
    ['when it is revealed', ROUND + 1, 4, 6],
    ['when it is claimed', ROUND + 1, 8, 13],
  ])('for a while %s costs no round', async (_when, round, from, until) => {
    const bench = new Bench(ROUND * ROUND_LENGTH);
    await bench.to(round * ROUND_LENGTH + from - 1);
    bench.game.down = true;
    await bench.to(round * ROUND_LENGTH + until);
    bench.game.down = false;
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });

  test('at the height of every phase, as its calls are answered a block behind, costs no round', async () => {
    const bench = new Bench(ROUND * ROUND_LENGTH + CLAIM - 1);
    bench.game.behind = 1;
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });

  test('until after the claim phase does not lose what was won', async () => {
    const bench = new Bench();
    await bench.offset(ROUND + 1, 8);
    expect(bench.game.sent).toHaveLength(3);
    bench.game.down = true;
    await bench.offset(ROUND + 2, 0);
    bench.game.down = false;
    bench.game.participating = false;
    await bench.offset(ROUND + 2, 1);
    expect(bench.player.state()).toMatchObject({ reward: POT, lastWonRound: ROUND + 1 });
  });
});

describe('a sample whose anchor was undone by a reorganisation', () => {
  test('is not committed to', async () => {
    const bench = new Bench();
    await bench.offset(ROUND, ROUND_LENGTH - 1);
    bench.game.fork = 1e6;
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expect(bench.game.sent).toEqual([]);
  });

  test('is not committed to anew when the commit was cancelled', async () => {
    const bench = new Bench();
    await bench.offset(ROUND + 1, 0);
    bench.game.cancel(bench.game.sent[0]!.hash);
    bench.game.commits.length = 0;
    bench.game.fork = 1e6;
    await bench.restart();
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expect(bench.game.sent).toHaveLength(1);
  });

  test('is committed to once the anchor is the same again', async () => {
    const bench = new Bench();
    await bench.offset(ROUND, ROUND_LENGTH - 1);
    bench.game.fork = 1e6;
    await bench.offset(ROUND + 1, 0);
    bench.game.fork = 0;
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });
});

test('a height that is wrong once, far ahead, makes no round forgotten', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 1, 2);
  expect(bench.game.commits).toHaveLength(1);
  const { head } = bench.game;
  bench.game.head = head + 100_000;
  await bench.clock.advance(2 * POLL_MS);
  bench.game.head = head;
  await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
  expectWon(bench, ROUND + 1);
});

test.each([
  ['commit phase', ROUND * ROUND_LENGTH + CLAIM - 1],
  ['reveal phase', (ROUND + 1) * ROUND_LENGTH - 4],
  ['claim phase', (ROUND + 1) * ROUND_LENGTH + 3],
])('a height that is wrong once, in the %s before it begins, costs no round', async (_phase, before) => {
  const bench = new Bench(ROUND * ROUND_LENGTH);
  await bench.to(before);
  bench.game.head += 9;
  await bench.clock.advance(2 * POLL_MS);
  bench.game.head -= 9;
  await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
  expectWon(bench, ROUND + 1);
});

test('a transaction that was cancelled is sent again', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 1, 0);
  const [commit] = bench.game.sent;
  // As if it had been replaced before it was mined.
  bench.game.cancel(commit!.hash);
  bench.game.commits.length = 0;
  await bench.restart();
  await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
  expect(bench.game.sent.map(({ description }) => description)).toEqual([
    'commit transaction',
    'commit transaction',
    'reveal transaction',
    'claim win transaction',
  ]);
  expect(bench.game.claims).toHaveLength(1);
});

test('a transaction that reverts in its block is an error, once, and the round is over', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 1, 0);
  // Included before it, in the same block.
  bench.game.commits.push({ round: ROUND + 1, hash: 'of another transaction' });
  await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
  expect(bench.game.sent.map(({ description, outcome }) => [description, outcome])).toEqual([
    [
      'commit transaction',
      expect.objectContaining({ receipt: expect.objectContaining({ status: 'reverted' }) }),
    ],
  ]);
  expect(await bench.metric('commit_phase_errors')).toBe(1);
  expect(await bench.metric('reveal_phase_errors')).toBe(0);
  expect(bench.player.state()).toMatchObject({ lastWonRound: 0, reward: 0n });
});

test('a reveal that reverts in its block is an error, once, and nothing is claimed', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 1, 4);
  expect(bench.game.sent).toHaveLength(2);
  // Taken back by a reorganisation, as the reveal comes into its block.
  bench.game.commits.length = 0;
  await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
  expect(bench.game.sent.at(-1)).toMatchObject({ outcome: { receipt: { status: 'reverted' } } });
  expect(bench.game.claims).toEqual([]);
  for (const [name, value] of Object.entries({
    reveal_phase_errors: 1,
    claim_phase_errors: 0,
    win_phase_errors: 0,
  }))
    expect([name, await bench.metric(name)]).toEqual([name, value]);
});

test('rounds that are long past are forgotten', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 14, ROUND_LENGTH - 1);
  const samples = [...bench.disk.keys()].filter((key) => key.startsWith('sample/'));
  expect(samples.length).toBeLessThan(13);
  expect(Buffer.from(bench.disk.get('game')!).length).toBeLessThan(8000);
});

describe('a node that stops', () => {
  test.each([
    ['in the sample phase', ROUND, 9],
    ['between sample and commit', ROUND, 15],
    ['in the commit phase', ROUND + 1, 0],
    ['after the commit', ROUND + 1, 2],
    ['in the reveal phase', ROUND + 1, 4],
    ['after the reveal', ROUND + 1, 6],
    ['in the claim phase', ROUND + 1, 8],
    ['after the claim', ROUND + 1, 10],
  ])('%s plays the round to its end after the restart', async (_when, round, offset) => {
    const bench = new Bench();
    await bench.offset(round, offset);
    await bench.restart();
    await bench.offset(ROUND + 1, ROUND_LENGTH - 1);
    expectWon(bench, ROUND + 1);
  });
});

test('a node that is killed between any two effects plays every round to its end, once', async () => {
  let died = true;
  for (let lives = 1; died; lives++) {
    const bench = new Bench();
    let effects = 0;
    died = false;
    const die = () => {
      if (++effects < lives || died) return;
      died = true;
      // Whatever the old process would still write does not reach the disk.
      bench.state.writesLeft = 0;
    };
    const dying = () => {
      die();
      if (bench.state.writesLeft === 0) throw new CrashError('the process is dead');
    };
    bench.game.effect = dying;
    const batch = bench.state.batch.bind(bench.state);
    bench.state.batch = async (changes) => {
      dying();
      await batch(changes);
      // Written, but the writer does not learn of it.
      dying();
    };
    for (let block = bench.game.head; block < (ROUND + 2) * ROUND_LENGTH - 1; block++) {
      await bench.to(block + 1);
      if (died && bench.state.writesLeft === 0) {
        bench.game.effect = () => undefined;
        await bench.restart();
      }
    }
    await bench.clock.advance(2 * POLL_MS);
    const context = `killed at effect ${lives}`;
    expect(
      bench.game.sent.filter(({ outcome }) => outcome?.kind !== 'mined'),
      context,
    ).toEqual([]);
    try {
      expectWon(bench, ROUND + 1);
    } catch (cause) {
      throw new Error(context, { cause });
    }
    await bench.player.stop();
    expect(lives, 'there is an end to what a round does').toBeLessThan(100);
    if (!died) expect(lives).toBeGreaterThan(15);
  }
});
