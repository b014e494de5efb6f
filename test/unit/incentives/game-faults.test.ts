import { describe, expect, test } from 'vitest';
import { CrashError } from '../onchain/memory-state.ts';
import { POT, ROUND_LENGTH } from './fake-game.ts';
import { Bench, CLAIM, expectWon, POLL_MS, ROUND } from './game-kit.ts';

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

test('a transaction that was cancelled is sent again', async () => {
  const bench = new Bench();
  await bench.offset(ROUND + 1, 0);
  const [commit] = bench.game.sent;
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
  // A reorganisation took it back as the reveal comes.
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
      // Nothing that the old process writes reaches the disk.
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
