import { type ClusterNode, HarnessError, type RedistributionState } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext, until } from 'svcnet/scenario';
import { checkBooks, minedOf } from './steps/money.ts';
import { batchOf, chosenNode, nextSecond } from './steps/steps.ts';

const parameters = {
  rounds: parameter('integer', 10, 'number of rounds to play', { min: 1 }),
  size: parameter('size', 2 ** 20, 'amount of content in the reserves; at least half of their capacity', {
    min: 1,
  }),
  stake: parameter('text', '100000000000000000', 'token units that each player stakes'),
};
type Context = ScenarioContext<typeof parameters>;

/** Blocks, as in the contract. */
const ROUND = 152;
const REVEAL = 38;
const CLAIM = 76;
/** A stake must be two rounds old, and so must the uploads. */
const ROUNDS_AHEAD = 4;
/** Players look at the head several times a second; a small reserve's sample takes about as long. */
const STEP_WITHIN_MS = 60_000;
const within = ({ cluster: { clock }, signal }: Pick<ScenarioContext, 'cluster' | 'signal'>) => ({
  clock,
  timeoutMs: STEP_WITHIN_MS,
  signal,
});
/** Words of a reveal. */
const OWNER = 1;
const HASH = 5;
const ANCHOR = '5a'.repeat(32);

export default defineScenario({
  name: 'redistribution-round',
  group: 'economics',
  about:
    'Plays rounds of the storage game with staked nodes: all must agree on the sample, and one must win the whole pot.',
  parameters,
  needs: { nodes: 3, control: true, started: true },
  cluster: {
    nodes: 3,
    // Every node keeps every chunk, more than half of its reserve.
    options: { 'reserve-capacity': 400, 'cache-capacity': 0, 'pull-rate-window': '500ms' },
  },
  timeoutMs: 600_000,
  async run(context) {
    const { cluster } = context;
    if (cluster.chain.steady)
      context.skip('rounds are played on blocks on demand, which a node of the cluster forbids');
    const players = cluster.nodes.filter((node) => node.running && node.mode === 'full');
    await stakeAll(context, players);
    await fill(context, players);
    const before = await checkBooks(context);
    // No block comes by itself: every player gets the time to act in each phase.
    await cluster.chain.pause();
    try {
      const height = await cluster.chain.height();
      let round = Math.floor(height / ROUND) + ROUNDS_AHEAD;
      await mineTo(context, (round - 1) * ROUND + CLAIM);
      await sameSample(context, players);
      for (let played = 0; played < context.parameters.rounds; played++)
        await play(context, players, round++);
    } finally {
      await cluster.chain.resume();
    }
    await checkBooks(context, { before });
  },
});

function stakeAll(context: Context, players: readonly ClusterNode[]): Promise<void> {
  return context.step('stake', async (progress) => {
    const amount = BigInt(context.parameters.stake);
    const stake = async (node: ClusterNode) => {
      if ((await node.stake.staked(context.signal)) > 0n) return;
      const work = async () => minedOf(context, await node.stake.deposit(amount, context.signal));
      await context.measure({ operation: 'stake', node: node.name }, work, () => 0);
    };
    await Promise.all(players.map(stake));
    progress.detail(`${players.length} players, ${amount} token units each`);
  });
}

function fill(context: Context, players: readonly ClusterNode[]): Promise<void> {
  return context.step('reserves', async (progress) => {
    const { cluster, signal } = context;
    const node = chosenNode(context, '');
    const data = context.random('content').bytes(context.parameters.size);
    const { reference } = await node.bytes.upload(data, { batch: batchOf(node), signal });
    await cluster.synced(reference, { signal });
    const states = await allStates(context, players, 'is not synced', ({ isFullySynced }) => isFullySynced);
    const unwell = states.filter(
      ({ isHealthy, isFrozen, hasSufficientFunds }) => !isHealthy || isFrozen || !hasSufficientFunds,
    );
    context.expect('every player is healthy, not frozen, and can pay for the game', unwell.length === 0, {
      observed: `${unwell.length} are not`,
      expected: 0,
    });
    // A sample leaves out later stamps than its block, and block times are whole seconds.
    await nextSecond(cluster.clock, signal);
    progress.detail('full enough, and the same everywhere');
  });
}

function sameSample(context: Context, players: readonly ClusterNode[]): Promise<void> {
  return context.step('sample', async (progress) => {
    const hashes = await samples(context, players);
    context.expect('the same anchors give every player the same sample', new Set(hashes).size === 1, {
      observed: hashes.join(', '),
      expected: 'one hash',
    });
    progress.detail(`${hashes[0]?.slice(0, 8)} on ${hashes.length} nodes`);
  });
}

function samples(context: Context, players: readonly ClusterNode[]): Promise<string[]> {
  const { signal } = context;
  const take = (node: ClusterNode) =>
    context.measure(
      { operation: 'sample', node: node.name },
      () => node.redistribution.sample({ depth: 0, anchors: [ANCHOR, ANCHOR] }, signal),
      () => 0,
    );
  return Promise.all(players.map(async (node) => (await take(node)).hash));
}

async function allStates(
  context: Context,
  players: readonly ClusterNode[],
  what: string,
  is: (state: RedistributionState) => boolean,
): Promise<readonly RedistributionState[]> {
  return until<readonly RedistributionState[]>(
    `a player ${what}`,
    async (signal) => {
      const states: RedistributionState[] = [];
      for (const node of players) {
        const state = await node.redistribution.state(signal);
        if (!is(state)) return { missing: `${node.name} in ${state.phase} of round ${state.round}` };
        states.push(state);
      }
      return { done: states };
    },
    within(context),
  );
}

async function mineTo({ cluster }: Context, block: number): Promise<void> {
  const missing = block - (await cluster.chain.height());
  if (missing <= 0) throw new HarnessError('CHAIN_FAILED', `block ${block} has passed`);
  await cluster.chain.mine(missing);
}

async function mineTogether(context: Context, count: number, what: string): Promise<void> {
  const { chain } = context.cluster;
  await until<true>(
    `not everybody has sent its ${what}`,
    async (signal) => {
      const { pending } = await chain.call<{ pending: string }>('txpool_status', [], signal);
      return Number(pending) >= count ? { done: true } : { missing: `${Number(pending)} of ${count} wait` };
    },
    within(context),
  );
  await chain.mine();
}

/** Commit, reveal, claim. */
function play(context: Context, players: readonly ClusterNode[], round: number): Promise<void> {
  return context.step(`round ${round}`, async (progress) => {
    const { chain } = context.cluster;
    const startedAt = context.cluster.clock.monotonic();
    const start = round * ROUND;
    await allStates(context, players, 'is not selected', (state) => state.lastSelectedRound === round);
    // A player does last what it was asked last: its sample of the round is then taken.
    await samples(context, players);
    await mineTo(context, start);
    await mineTogether(context, players.length, 'commit');
    await allStates(context, players, 'has not played', (state) => state.lastPlayedRound === round);
    await mineTo(context, start + REVEAL);
    await mineTogether(context, players.length, 'reveal');
    await expectAgreement(context, players, round);
    const rewards = await rewardsOf(context, players);
    const before = await holdings(context, players);
    await mineTo(context, start + CLAIM);
    const winners = await winnersOf(context, players, round);
    context.expect(`round ${round} has one winner`, winners.length === 1, {
      observed: winners.map(({ name }) => name).join(', '),
      expected: 'one name',
    });
    await mineTogether(context, 1, 'claim');
    await expectPaid(context, players, { round, winners, rewards, before });
    context.figure({
      name: 'duration',
      of: `round ${round}`,
      value: ((context.cluster.clock.monotonic() - startedAt) / 1000).toFixed(1),
      unit: 's',
    });
    progress.detail(`${winners.map(({ name }) => name).join(', ')} wins at block ${await chain.height()}`);
  });
}

async function expectAgreement(
  context: Context,
  players: readonly ClusterNode[],
  round: number,
): Promise<void> {
  const { chain } = context.cluster;
  const { redistribution } = chain.contracts;
  const reveals = await Promise.all(
    players.map((_, n) => chain.words(redistribution, 'currentReveals(uint256)', [n])),
  );
  const owners = new Set(reveals.map((words) => words[OWNER]));
  const known = players.filter(({ ethereum }) => owners.has(BigInt(`0x${ethereum}`)));
  context.expect(`round ${round}: every player reveals`, known.length === players.length, {
    observed: known.length,
    expected: players.length,
  });
  const hashes = new Set(reveals.map((words) => words[HASH]));
  context.expect(`round ${round}: all reveal the same hash`, hashes.size === 1, {
    observed: hashes.size,
    expected: 1,
  });
}

function rewardsOf({ signal }: Context, players: readonly ClusterNode[]): Promise<bigint[]> {
  return Promise.all(players.map(async (node) => (await node.redistribution.state(signal)).reward));
}

function holdings({ cluster }: Context, players: readonly ClusterNode[]): Promise<bigint[]> {
  const { chain } = cluster;
  const accounts = [chain.contracts.postageStamp, ...players.map(({ ethereum }) => ethereum)];
  return Promise.all(accounts.map((account) => chain.tokenBalance(account)));
}

function winnersOf(context: Context, players: readonly ClusterNode[], round: number): Promise<ClusterNode[]> {
  return until<ClusterNode[]>(
    `nobody wins round ${round}`,
    async (signal) => {
      const states = await Promise.all(players.map((node) => node.redistribution.state(signal)));
      const winners = players.filter((_, n) => states[n]?.lastWonRound === round);
      return winners.length > 0 ? { done: winners } : { missing: 'nobody says so' };
    },
    within(context),
  );
}

interface Claimed {
  readonly round: number;
  readonly winners: readonly ClusterNode[];
  readonly rewards: readonly bigint[];
  /** Tokens of the postage contract, then of players. */
  readonly before: readonly bigint[];
}

/** The winner alone gets the pot, to the last unit; and the nodes know it. */
async function expectPaid(
  context: Context,
  players: readonly ClusterNode[],
  { round, winners, rewards, before }: Claimed,
): Promise<void> {
  const after = await holdings(context, players);
  const changes = after.map((tokens, i) => tokens - (before[i] ?? 0n));
  const pot = -(changes[0] ?? 0n);
  context.expect(`round ${round} pays something`, pot > 0n, { observed: pot, expected: 'more than 0' });
  const expected = players.map((node) => (winners.includes(node) ? pot : 0n));
  context.expect(
    `round ${round}: the winner gets the whole pot, the others nothing`,
    changes.slice(1).join() === expected.join(),
    { observed: changes.slice(1).join(', '), expected: expected.join(', ') },
  );
  const told = await until<readonly bigint[]>(
    'no player counts the reward',
    async () => {
      const now = await rewardsOf(context, players);
      const gained = now.map((reward, n) => reward - (rewards[n] ?? 0n));
      return gained.some((gain) => gain > 0n) ? { done: gained } : { missing: 'all are as before' };
    },
    within(context),
  );
  context.expect(
    `round ${round}: the nodes count the reward as it was paid`,
    told.join() === expected.join(),
    {
      observed: told.join(', '),
      expected: expected.join(', '),
    },
  );
  const frozen = (await Promise.all(players.map((node) => node.redistribution.state(context.signal)))).filter(
    ({ isFrozen }) => isFrozen,
  );
  context.expect(`round ${round}: no player is frozen`, frozen.length === 0, {
    observed: frozen.length,
    expected: 0,
  });
  const of = `round ${round}`;
  context.figure({ name: 'pot', of, value: pot.toString(), unit: 'token units' });
  context.figure({ name: 'winner', of, value: winners.map(({ name }) => name).join(', '), unit: 'node' });
}
