import { describe, expect, test } from 'vitest';
import { SAMPLES_ON_DEMAND_MAX } from '../../../node/incentives/on-demand.ts';
import type { GameState } from '../../../node/incentives/ports.ts';
import { COST, POT, ROUND_LENGTH } from './fake-game.ts';
import { Bench, CLAIM, DEPTH, expectWon, POLL_MS, ROUND } from './game-kit.ts';

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
  // Stake and freeze, once in the phase.
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
  // Two blocks before the phase ends the last commit comes, one block before the others.
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

test('rounds that are long past are forgotten', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 14, ROUND_LENGTH - 1);
  const samples = [...bench.disk.keys()].filter((key) => key.startsWith('sample/'));
  expect(samples.length).toBeLessThan(13);
  expect(Buffer.from(bench.disk.get('game')!).length).toBeLessThan(8000);
});
