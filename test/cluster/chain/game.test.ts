import { concat, keccak256, toBeHex } from 'ethers';
import { describe, expect, test } from 'vitest';
import artifact from '../../../chain/artifacts/Redistribution.json' with { type: 'json' };
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { deployer, player, second, stranger, third, useNetwork } from './network.ts';
import { commit, preparePlayer, reveal, revealArguments, stakeAll } from './round.ts';

const ROUND = 152;
const SETTLED = 2 * ROUND;
const { redistributionScenario: scenario, roles } = vectors;
const { round, setup, overlay, anchor1 } = scenario;
const start = round * ROUND;
const ZERO = toBeHex(0, 32);
const me = { from: player };

const net = useNetwork(preparePlayer);
const game = () => net.current.redistribution;
const view = (method: string, ...args: unknown[]) => net.current.view(game(), method, args);
const refusal = (method: string, args: unknown[] = [], from = player) =>
  net.current.refusal(game(), method, args, { from });
/** Views are answered at the head. */
const headAt = (block: number) => net.current.before(block + 1);
const anchorOf = (seed: string, rounds: number) => keccak256(concat([seed, toBeHex(rounds, 32)]));

async function staked(height = 0): Promise<void> {
  await stakeAll(net.current, [{ ...me, height, stake: 10n ** 17n * 2n ** BigInt(height) }]);
}

async function committed(): Promise<void> {
  await staked();
  await net.current.before(start);
  await commit(net.current, me, round);
}

test('the game knows its contracts and administrators, and nothing of earlier rounds', async () => {
  expect(await view('Stakes')).toBe(net.current.stakeRegistry.address);
  expect(await view('PostageContract')).toBe(net.current.postageStamp.address);
  expect(await view('OracleContract')).toBe(net.current.priceOracle.address);
  expect(await view('hasRole', roles.DEFAULT_ADMIN_ROLE, deployer.address)).toBe(true);
  for (const counter of [
    'currentCommitRound',
    'currentRevealRound',
    'currentClaimRound',
    'currentMinimumDepth',
  ]) {
    expect(await view(counter)).toBe(0n);
  }
  expect(await view('winner')).toEqual([ZERO, `0x${'00'.repeat(20)}`, 0n, 0n, 0n, ZERO]);
  for (const list of ['currentCommits', 'currentReveals'])
    expect(await refusal(list, [0])).toBe('Panic(0x32)');
});

test.each([
  [0, 'Commit'],
  [37, 'Commit'],
  [38, 'Reveal'],
  [75, 'Reveal'],
  [76, 'Claim'],
  [151, 'Claim'],
])('block %i of a round is in phase %s', async (offset, phase) => {
  await headAt(start + offset);
  expect(await view('currentRound')).toBe(BigInt(round));
  for (const name of ['Commit', 'Reveal', 'Claim'])
    expect(await view(`currentPhase${name}`)).toBe(name === phase);
});

describe('proximity', () => {
  const a = `0x${'00'.repeat(32)}`;
  test.each([
    [a, a, 0, true],
    [a, a, 255, true],
    [a, `0x80${'00'.repeat(31)}`, 0, true],
    [a, `0x80${'00'.repeat(31)}`, 1, false],
    [a, `0x10${'00'.repeat(31)}`, 3, true],
    [a, `0x10${'00'.repeat(31)}`, 4, false],
    [a, `0x${'00'.repeat(31)}01`, 255, true],
    [`0x${'ff'.repeat(32)}`, `0x${'ff'.repeat(31)}fd`, 254, true],
    [`0x${'ff'.repeat(32)}`, `0x${'ff'.repeat(31)}fd`, 255, false],
  ])('of %s and %s within %i bits is %s', async (one, other, bits, expected) => {
    expect(await view('inProximity', one, other, bits)).toBe(expected);
  });
});

describe('the anchor', () => {
  test('changes with every round without reveals, and in the claim phase is that of the next round', async () => {
    await headAt(start);
    expect(await view('currentRoundAnchor')).toBe(anchor1);
    expect(await view('currentSeed')).toBe(anchor1);
    expect(await view('nextSeed')).toBe(anchorOf(ZERO, round));
    await headAt(start + 38);
    expect(await view('currentRoundAnchor')).toBe(anchor1);
    await headAt(start + 76);
    expect(await view('currentRoundAnchor')).toBe(anchorOf(ZERO, round));
    await headAt(start + ROUND);
    expect(await view('currentRoundAnchor')).toBe(anchorOf(ZERO, round));
  });

  test('is the seed itself in the first two rounds', async () => {
    const fresh = await net.current.deploy(artifact, [game().address, game().address, game().address]);
    expect(await net.current.view(fresh, 'currentSeed')).toBe(ZERO);
    expect(await net.current.view(fresh, 'nextSeed')).toBe(ZERO);
  });

  test('is hidden after the first reveal, and then changes', async () => {
    await committed();
    await net.current.before(start + 38);
    await reveal(net.current, me);
    expect(await refusal('currentRoundAnchor')).toBe('FirstRevealDone()');
    const block = await net.current.rpc.call('eth_getBlockByNumber', toBeHex(start + 38), false);
    const seed = keccak256(concat([ZERO, String(Object(block).mixHash)]));
    await headAt(start + 76);
    expect(await view('currentRoundAnchor')).toBe(seed);
    await headAt(start + ROUND);
    expect(await view('currentRoundAnchor')).toBe(seed);
    await headAt(start + 2 * ROUND);
    expect(await view('currentRoundAnchor')).toBe(anchorOf(seed, 1));
  });
});

describe('participation', () => {
  const participates = (depth = 0) => view('isParticipatingInUpcomingRound', player.address, depth);
  const refused = (depth = 0, owner = player.address) =>
    refusal('isParticipatingInUpcomingRound', [owner, depth]);

  test('requires a stake that is older than two rounds', async () => {
    expect(await refused(0, stranger.address)).toBe('NotStaked()');
    await staked();
    expect(await refused()).toBe('Panic(0x11)');
    const late = { from: second };
    await net.current.before(start);
    await stakeAll(net.current, [late]);
    await net.current.before(start + SETTLED);
    expect(await refused(0, second.address)).toBe('MustStake2Rounds()');
    await headAt(start + SETTLED + 1);
    expect(await view('isParticipatingInUpcomingRound', second.address, 0)).toBe(true);
  });

  test('is unknown in the reveal phase', async () => {
    await staked();
    await headAt(start + 38);
    expect(await refused()).toBe('WrongPhase()');
  });

  test('is limited to overlays near the anchor, with a larger range for greater heights', async () => {
    await staked(1);
    await headAt(start);
    const near = 256 - (BigInt(overlay) ^ BigInt(anchor1)).toString(2).length;
    expect(await participates(1 + near)).toBe(true);
    expect(await participates(2 + near)).toBe(false);
    expect(await refused(0)).toBe('Panic(0x11)');
  });
});

describe('a commit', () => {
  const hash = scenario.obfuscatedHash;
  const attempt = (given = round, from = player) => refusal('commit', [hash, given], from);

  test('is the hash given by the vectors', async () => {
    const { depth, reserveCommitment, nonce, obfuscatedHash } = vectors.wrapCommit;
    expect(await view('wrapCommit', vectors.wrapCommit.overlay, depth, reserveCommitment, nonce)).toBe(
      obfuscatedHash,
    );
  });

  test('is stored and emitted as an event', async () => {
    await staked(1);
    await net.current.before(start);
    const { events } = await commit(net.current, me, round);
    expect(events).toEqual([`Committed(${round},${overlay},1)`]);
    const effective = 2n * 4_166_666_666_666n * 24_000n;
    expect(await view('currentCommits', 0)).toEqual([
      overlay,
      player.address,
      false,
      1n,
      effective,
      hash,
      0n,
    ]);
    expect(await view('currentCommitRound')).toBe(BigInt(round));
  });

  test('requires a stake that is older than two rounds', async () => {
    await net.current.before(start);
    expect(await attempt()).toBe('NotStaked()');
    await staked();
    expect(await attempt()).toBe('MustStake2Rounds()');
  });

  test('names its round', async () => {
    await staked();
    await net.current.before(start);
    expect(await attempt(round - 1)).toBe('CommitRoundOver()');
    expect(await attempt(round + 1)).toBe('CommitRoundNotStarted()');
  });

  test('is accepted in the commit phase except in its last block', async () => {
    await staked();
    await net.current.before(start + 36);
    const snapshot = await net.current.rpc.call('evm_snapshot');
    await commit(net.current, me, round);
    await net.current.rpc.call('evm_revert', snapshot);
    await net.current.before(start + 37);
    expect(await attempt()).toBe('PhaseLastBlock()');
    await net.current.before(start + 38);
    expect(await attempt()).toBe('NotCommitPhase()');
    await net.current.before(start + 76);
    expect(await attempt()).toBe('NotCommitPhase()');
  });

  test('is accepted once per overlay and round', async () => {
    await committed();
    expect(await attempt()).toBe('AlreadyCommitted()');
    await net.current.before(start + ROUND);
    await commit(net.current, me, round + 1);
    expect(await refusal('currentCommits', [1])).toBe('Panic(0x32)');
  });
});

describe('a reveal', () => {
  const attempt = (args = revealArguments(me), from = player) => refusal('reveal', args, from);

  test('is stored with its density', async () => {
    await staked(1);
    await net.current.before(start);
    const part = { ...me, depth: 1 };
    await commit(net.current, part, round);
    await net.current.before(start + 38);
    const { events } = await reveal(net.current, part);
    const stake = 2n * 4_166_666_666_666n * 24_000n;
    const { reserveCommitment } = scenario;
    expect(events).toEqual([
      `CurrentRevealAnchor(${round},${anchor1})`,
      `Revealed(${round},${overlay},${stake},${stake},${reserveCommitment},1)`,
    ]);
    const stored = [overlay, player.address, 1n, stake, stake, reserveCommitment];
    expect(await view('currentReveals', 0)).toEqual(stored);
    expect(await view('currentCommits', 0)).toMatchObject({ 2: true, 6: 0n });
    expect(await view('currentRevealRound')).toBe(BigInt(round));
    expect(await refusal('currentRoundReveals')).toBe('NotClaimPhase()');
    await headAt(start + 76);
    expect(await view('currentRoundReveals')).toEqual([stored]);
    await headAt(start + ROUND + 76);
    expect(await refusal('currentRoundReveals')).toBe('NoReveals()');
  });

  test('must follow a commit of the same round, in the reveal phase', async () => {
    await committed();
    expect(await attempt()).toBe('NotRevealPhase()');
    await net.current.before(start + 76);
    expect(await attempt()).toBe('NotRevealPhase()');
    await net.current.before(start + ROUND + 38);
    expect(await attempt()).toBe('NoCommitsReceived()');
  });

  test('must match its commit in every field', async () => {
    await committed();
    await net.current.before(start + 38);
    const [depth, commitment, nonce] = revealArguments(me);
    expect(await attempt([1, commitment, nonce])).toBe('NoMatchingCommit()');
    expect(await attempt([depth, anchor1, nonce])).toBe('NoMatchingCommit()');
    expect(await attempt([depth, commitment, anchor1])).toBe('NoMatchingCommit()');
    expect(await attempt(revealArguments(me), second)).toBe('NoMatchingCommit()');
  });

  test('is accepted once', async () => {
    await committed();
    await net.current.before(start + 38);
    await reveal(net.current, me);
    expect(await attempt()).toBe('AlreadyRevealed()');
  });

  test('is limited to overlays near the anchor', async () => {
    const far = { ...me, depth: 1 };
    await staked();
    await net.current.before(start);
    await commit(net.current, far, round);
    await net.current.before(start + 38);
    expect(await attempt(revealArguments(far))).toBe(`OutOfDepthReveal(${anchor1})`);
  });

  test('counts in the last block of its phase', async () => {
    await committed();
    await net.current.before(start + 75);
    await reveal(net.current, me);
  });
});

describe('administration', () => {
  test('is limited to administrators', async () => {
    expect(await refusal('setFreezingParams', [1, 2, 100])).toBe('NotAdmin()');
    expect(await refusal('setSampleMaxValue', [1n])).toBe('NotAdmin()');
    for (const method of ['pause', 'unPause']) expect(await refusal(method, [], third)).toBe('OnlyPauser()');
  });

  test('can pause all transactions, but not the views', async () => {
    await committed();
    const paused = await net.current.send(game(), 'pause');
    expect(paused.events).toEqual([`Paused(${deployer.address})`]);
    expect(await view('paused')).toBe(true);
    expect(await refusal('commit', [ZERO, round])).toBe('Pausable: paused');
    expect(await refusal('reveal', revealArguments(me))).toBe('Pausable: paused');
    expect(await view('currentRoundAnchor')).toBe(anchor1);
    expect((await net.current.send(game(), 'unPause')).events).toEqual([`Unpaused(${deployer.address})`]);
  });
});

test('no winner is known outside the claim phase or without reveals', async () => {
  await committed();
  expect(await refusal('isWinner', [overlay])).toBe('NotClaimPhase()');
  await headAt(start + 76);
  expect(await refusal('isWinner', [overlay])).toBe('NoReveals()');
  expect(setup.player).toBe(player.address);
});
