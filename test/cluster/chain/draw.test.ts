import { concat, keccak256, toBeHex, type Wallet } from 'ethers';
import { describe, expect, test } from 'vitest';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { player, second, stranger, third, useNetwork } from './network.ts';
import {
  commitAll,
  type Part,
  preparePlayer,
  revealAll,
  revealArguments,
  slotOf,
  stakeAll,
} from './round.ts';
import { claimProofs, vectorSample } from './sample.ts';

const ROUND = 152;
const { redistributionScenario: scenario, selection, seeds } = vectors;
const { blocks } = scenario.setup;
const truth = scenario.reserveCommitment;
const lie = keccak256('0x11');

const seedSlot = slotOf('seed');
const roundsSlot = slotOf('currentRevealRound');
const winnerSlot = slotOf('winner');
const net = useNetwork(preparePlayer);
const game = () => net.current.redistribution;

const random = (seed: string, draw: '0' | '1', number: number) =>
  keccak256(concat([seed, draw === '0' ? '0x30' : '0x31', toBeHex(number, 32)]));
const low128 = (hash: string) => BigInt(`0x${hash.slice(-32)}`);

interface Player extends Part {
  from: Wallet;
  tokens: number;
  silent?: boolean;
}

/** As specified: the index of the chosen candidate. */
function chosen(seed: string, draw: '0' | '1', candidates: { number: number; density: bigint }[]): number {
  let sum = 0n;
  let result = -1;
  for (const [index, { number, density }] of candidates.entries()) {
    sum += density;
    if (low128(random(seed, draw, number)) * sum < density << 128n) result = index;
  }
  return result;
}

const densityOf = (tokens: number) => ((BigInt(tokens) * 10n ** 16n) / 24_000n) * 24_000n;

function expectedOutcome(seed: string, players: readonly Player[]) {
  const revealed = players
    .map((p, number) => ({ ...p, number, density: densityOf(p.tokens) }))
    .filter(({ silent }) => silent !== true);
  const hash = revealed[chosen(seed, '0', revealed)]?.commitment ?? '';
  const agreeing = revealed.filter(({ commitment }) => commitment === hash);
  // The second draw counts only those that agree.
  const winner =
    agreeing[
      chosen(
        seed,
        '1',
        agreeing.map((p, number) => ({ ...p, number })),
      )
    ];
  return { hash, agreeing: agreeing.length, winner: winner?.from.address };
}

async function play(players: readonly Player[], seed: string) {
  const parts = players.map(({ tokens, ...part }) => ({ ...part, stake: BigInt(tokens) * 10n ** 16n }));
  const overlays = await stakeAll(net.current, parts);
  await commitAll(net.current, parts);
  await revealAll(
    net.current,
    parts.filter((_, i) => players[i]?.silent !== true),
  );
  await net.current.rpc.call('anvil_setStorageAt', game().address, seedSlot(), seed);
  await net.current.before(blocks.claim);
  return overlays;
}

const seedOf = (n: number) => keccak256(toBeHex(n, 32));
const claim = (seed: string) =>
  net.current.send(game(), 'claim', claimProofs(vectorSample, seed, scenario.anchor1), { from: stranger });
const wins = (overlay: string | undefined) => net.current.view(game(), 'isWinner', [overlay]);
const frozen = (who: Wallet, overlay: string | undefined, rounds: number) =>
  `StakeFrozen(${who.address},${overlay},${rounds * ROUND})`;

test('the random numbers of a draw match the vectors', () => {
  expect(random(selection.seed, '0', 2)).toBe(selection.truth2);
  expect(low128(selection.truth2)).toBe(BigInt(selection.truth2Low128));
  expect(random(selection.seed, '1', 0)).toBe(selection.winner0);
});

test.each(seeds.cases)(
  'the seed of round $round after a reveal in round $currentRevealRound',
  async (row) => {
    const { rpc } = net.current;
    await rpc.call('anvil_setStorageAt', game().address, seedSlot(), row.seed);
    const word = BigInt(String(await rpc.call('eth_getStorageAt', game().address, roundsSlot(), 'latest')));
    expect(word, 'the rounds share the slot with nothing that is set').toBe(word & ~((1n << 192n) - 1n));
    // Commit, reveal and claim round, 64 bits each from the right.
    const rounds = word | (BigInt(row.currentRevealRound) << 64n);
    await rpc.call('anvil_setStorageAt', game().address, roundsSlot(), toBeHex(rounds, 32));
    expect(await net.current.view(game(), 'currentRevealRound')).toBe(BigInt(row.currentRevealRound));
    await net.current.before(row.round * ROUND + 1);
    expect(await net.current.view(game(), 'currentSeed')).toBe(row.currentSeed);
  },
);

describe('the draw among three players', () => {
  const players: Player[] = [
    { from: player, tokens: 10, commitment: truth },
    { from: second, tokens: 25, commitment: lie },
    { from: third, tokens: 17, commitment: truth },
  ];
  const addresses = players.map(({ from }) => from.address);

  test('chooses truth and winner by stake, for any seed', async () => {
    const overlays = await play(players, seedOf(0));
    const seen = new Set<string>();
    for (let n = 0; n < 24; n++) {
      await net.current.rpc.call('anvil_setStorageAt', game().address, seedSlot(), seedOf(n));
      const { winner = '' } = expectedOutcome(seedOf(n), players);
      const won = await Promise.all(overlays.map(wins));
      expect(won, `seed ${n}`).toEqual(addresses.map((address) => address === winner));
      seen.add(winner);
    }
    expect(seen.size).toBe(3);
  });

  /** With it the true sample is chosen and one player wins. */
  const seedFor = (winner: Wallet, list: readonly Player[] = players): string => {
    for (let n = 0; ; n++) {
      const outcome = expectedOutcome(seedOf(n), list);
      if (outcome.hash === truth && outcome.winner === winner.address) return seedOf(n);
    }
  };

  test.each([
    ['first', player],
    ['last', third],
  ])('freezes a dissenter for one round and pays the %s of the others', async (_, winner) => {
    const seed = seedFor(winner);
    const overlays = await play(players, seed);
    const { events } = await claim(seed);
    expect(events.slice(0, 4)).toEqual([
      'CountCommits(3)',
      'CountReveals(3)',
      `TruthSelected(${truth},0)`,
      frozen(second, overlays[1], 1),
    ]);
    expect(events.find((event) => event.startsWith('PotWithdrawn'))).toContain(winner.address);
    expect(events).toContain('PriceUpdate(24067)');
  });

  test('freezes for two rounds a player that did not reveal', async () => {
    const silent = players.map((p, i) => ({ ...p, silent: i === 2 }));
    const seed = seedFor(player, silent);
    const overlays = await play(silent, seed);
    const { events } = await claim(seed);
    expect(events.slice(0, 5)).toEqual([
      'CountCommits(3)',
      'CountReveals(2)',
      `TruthSelected(${truth},0)`,
      frozen(second, overlays[1], 1),
      frozen(third, overlays[2], 2),
    ]);
  });

  test('counts the same sample at a different depth as disagreement', async () => {
    const deeper: Player = { from: second, tokens: 20, commitment: truth, height: 1, depth: 1 };
    const list = [players[0] ?? deeper, deeper];
    const overlays = await play(list, seedOf(1));
    const firstOnly = list.map((p, i) => ({ ...p, commitment: String(i) }));
    for (let n = 0; ; n++) {
      if (expectedOutcome(seedOf(n), firstOnly).winner !== player.address) continue;
      await net.current.rpc.call('anvil_setStorageAt', game().address, seedSlot(), seedOf(n));
      const { events } = await claim(seedOf(n));
      expect(events.slice(2, 4)).toEqual([`TruthSelected(${truth},0)`, frozen(second, overlays[1], 1)]);
      break;
    }
    expect(await net.current.view(net.current.stakeRegistry, 'nodeEffectiveStake', [second.address])).toBe(
      0n,
    );
  });

  test.each([
    ['always', 100, 3],
    ['never', 0, 0],
  ])('punishes disagreement %s when configured to', async (_, percentage, disagreementRounds) => {
    await net.current.send(game(), 'setFreezingParams', [3, 5, percentage]);
    const silent = players.map((p, i) => ({ ...p, silent: i === 2 }));
    const seed = seedFor(player, silent);
    const overlays = await play(silent, seed);
    const { events } = await claim(seed);
    const expected = [frozen(second, overlays[1], disagreementRounds), frozen(third, overlays[2], 5)];
    expect(events.filter((event) => event.startsWith('StakeFrozen'))).toEqual(
      expected.slice(disagreementRounds === 0 ? 1 : 0),
    );
  });

  test('cannot be claimed when the registry does not allow the game to freeze', async () => {
    const { REDISTRIBUTOR_ROLE } = vectors.roles;
    await net.current.send(net.current.stakeRegistry, 'revokeRole', [REDISTRIBUTOR_ROLE, game().address]);
    const seed = seedFor(player);
    await play(players, seed);
    const proofs = claimProofs(vectorSample, seed, scenario.anchor1);
    expect(await net.current.refusal(game(), 'claim', proofs)).toBe('OnlyRedistributor()');
  });
});

test('the depth of a winner limits the next rounds, by one less each round', async () => {
  const { rpc } = net.current;
  const depthWord = toBeHex((3n << 160n) | BigInt(player.address), 32);
  await rpc.call('anvil_setStorageAt', game().address, toBeHex(BigInt(winnerSlot()) + 1n, 32), depthWord);
  expect(await net.current.view(game(), 'winner')).toMatchObject({ 1: player.address, 2: 3n });
  expect(await net.current.view(game(), 'currentMinimumDepth')).toBe(2n);

  const part = { from: player };
  await stakeAll(net.current, [part]);
  const word = BigInt(String(await rpc.call('eth_getStorageAt', game().address, roundsSlot(), 'latest')));
  await rpc.call('anvil_setStorageAt', game().address, roundsSlot(), toBeHex(word | (3n << 128n), 32));
  await commitAll(net.current, [part]);
  expect(await net.current.view(game(), 'currentMinimumDepth')).toBe(1n);
  await net.current.before(blocks.reveal);
  const refused = await net.current.refusal(game(), 'reveal', revealArguments(part), { from: player });
  expect(refused).toBe('OutOfDepth()');
});
