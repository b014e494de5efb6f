import { join } from 'node:path';
import { inspect } from 'node:util';
import { open } from 'lmdb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import type { RedistributionState } from '../../../harness/client/money-types.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { nextSecond } from '../../../scenarios/steps/steps.ts';
import { bytesOf, eventually, http, stateFolder } from './kit.ts';

const ROUND_LENGTH = 152;
const REVEAL = 38;
const CLAIM = 76;
const PLAYERS = 3;
const SMALL_STAKE = 10n ** 17n;
const LARGE_STAKE = 10n ** 26n;
const CONTENT = 130 * 4096;

const stateDir = stateFolder();
let net: Cluster;
/** The head is in the claim phase before it. */
let round: number;

beforeAll(async () => {
  net = await Cluster.start({
    nodes: [
      {
        count: PLAYERS,
        options: { 'reserve-capacity': 200, 'cache-capacity': 0, 'pull-rate-window': '500ms' },
      },
    ],
    seed: 5,
    stateDir,
    chain: { blockTime: '1000s', gate: true },
    batches: { ttl: '2000h', depth: 18 },
  });
});
afterAll(() => net.stop());

const game = () => net.chain.contracts.redistribution;
const height = () => net.chain.height();

async function mineTo(block: number): Promise<void> {
  const missing = block - (await height());
  expect(missing).toBeGreaterThan(0);
  await net.chain.mine(missing);
}

async function mined(count: number, what: string): Promise<void> {
  await inPool(count, what);
  await net.chain.mine();
}

function inPool(count: number, what: string): Promise<true> {
  return eventually(`not every node sent: ${what}`, async () => {
    const { pending } = await net.chain.call<{ pending: string }>('txpool_status');
    return Number(pending) === count ? undefined : `${Number(pending)} transactions in the pool`;
  });
}

const stateOf = (node: ClusterNode) => node.redistribution.state();

function allStates(
  what: string,
  isSo: (state: RedistributionState) => boolean,
  nodes = net.nodes,
): Promise<true> {
  return eventually(what, async () => {
    for (const node of nodes) {
      const state = await stateOf(node);
      if (!isSo(state)) return `${node.name}: ${inspect(state)}`;
    }
    return undefined;
  });
}

async function tokens(): Promise<{ nodes: bigint[]; postage: bigint; stakes: bigint }> {
  const { postageStamp, stakeRegistry } = net.chain.contracts;
  return {
    nodes: await Promise.all(net.nodes.map((node) => net.chain.tokenBalance(node.ethereum))),
    postage: await net.chain.tokenBalance(postageStamp),
    stakes: await net.chain.tokenBalance(stakeRegistry),
  };
}

const digits = (word: bigint, bytes: number) => word.toString(16).padStart(2 * bytes, '0');

async function revealed(count: number): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (let n = 0; n < count; n++) {
    const [, owner = 0n, , , , hash = 0n] = await net.chain.words(game(), 'currentReveals(uint256)', [n]);
    hashes.set(digits(owner, 20), `0x${digits(hash, 32)}`);
  }
  return hashes;
}

const start = () => round * ROUND_LENGTH;

async function toSample(players = net.nodes): Promise<void> {
  await allStates('not every node is selected', (state) => state.lastSelectedRound === round, players);
  for (const node of players) {
    await eventually(`${node.name} has no sample`, async () => {
      const messages = (await node.logs({ lines: 10_000 }))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ module }) => module === 'incentives');
      // A node killed before it acknowledged the message has it when it starts.
      const taken = messages.some(
        ({ msg, round: of }) =>
          (msg === 'sample taken' || msg === 'sample of the round was taken before') && of === round - 1,
      );
      return taken ? undefined : JSON.stringify(messages.at(-1));
    });
  }
}

async function winnerOf(): Promise<ClusterNode> {
  let winners: ClusterNode[] = [];
  await eventually('nobody wins', async () => {
    const states = await Promise.all(net.nodes.map(stateOf));
    winners = net.nodes.filter((_, n) => states[n]!.lastWonRound === round);
    return winners.length > 0 ? undefined : 'no winner';
  });
  await inPool(1, 'claim');
  expect(winners).toHaveLength(1);
  return winners[0]!;
}

async function expectPaid(
  winner: ClusterNode,
  before: Awaited<ReturnType<typeof tokens>>,
  rewardBefore: bigint,
) {
  await allStates('the reward is not counted', (state) => state.reward > rewardBefore, [winner]);
  const after = await tokens();
  const paid = before.postage - after.postage;
  expect(paid).toBeGreaterThan(0n);
  expect((await stateOf(winner)).reward - rewardBefore).toBe(paid);
  expect(after.stakes).toBe(before.stakes);
  expect(after.nodes).toEqual(
    before.nodes.map((balance, n) => (net.nodes[n] === winner ? balance + paid : balance)),
  );
}

describe('before the game', () => {
  test('a stake below the minimum is refused, and costs nothing', async () => {
    const { status, json } = await http(net.node(0), `/stake/${SMALL_STAKE - 1n}`, { method: 'POST' });
    expect([status, json['message']]).toEqual([400, 'insufficient stake amount']);
  });

  test('all nodes stake, and the registry has each stake to the last unit', async () => {
    const stakes = [LARGE_STAKE, LARGE_STAKE, SMALL_STAKE];
    for (const { ethereum } of net.nodes) {
      const funded = net.chain.fund(ethereum, { tokens: 2n * LARGE_STAKE });
      await mined(1, 'mint');
      await funded;
    }
    const before = await tokens();
    const answers = net.nodes.map((node, n) => http(node, `/stake/${stakes[n]}`, { method: 'POST' }));
    await mined(PLAYERS, 'approval');
    await mined(PLAYERS, 'stake');
    for (const { status, json } of await Promise.all(answers)) {
      expect([status, json]).toEqual([200, { txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) }]);
    }
    for (const [n, node] of net.nodes.entries()) {
      expect((await http(node, '/stake')).json).toEqual({ stakedAmount: String(stakes[n]) });
    }
    const after = await tokens();
    expect(after.stakes - before.stakes).toBe(2n * LARGE_STAKE + SMALL_STAKE);
    expect(after.nodes).toEqual(before.nodes.map((balance, n) => balance - stakes[n]!));
  });

  test('the remainder of the division is surplus, and is withdrawn to the last unit', async () => {
    const node = net.node(2);
    const { json } = await http(node, '/stake/withdrawable');
    const surplus = BigInt(json['withdrawableAmount'] as string);
    expect(surplus).toBe(16_000n);
    const before = await net.chain.tokenBalance(node.ethereum);
    const answer = http(node, '/stake/withdrawable', { method: 'DELETE' });
    await mined(1, 'withdrawal');
    expect((await answer).status).toBe(200);
    expect((await net.chain.tokenBalance(node.ethereum)) - before).toBe(surplus);
    expect((await http(node, '/stake/withdrawable', { method: 'DELETE' })).json).toEqual({
      code: 400,
      message: 'insufficient stake to withdraw',
    });
  });

  test('a stake can be migrated only from a paused registry', async () => {
    const { status, json } = await http(net.node(0), '/stake', { method: 'DELETE' });
    expect([status, json]).toEqual([400, { code: 400, message: 'contract is not paused' }]);
  });

  test('reserves are filled, and all nodes are synced and healthy', async () => {
    const { reference } = await net.node(0).bytes.upload(bytesOf('content', CONTENT));
    await net.synced(reference);
    await allStates('not every node is synced', (state) => state.isFullySynced && state.isHealthy);
    // A sample omits what was stamped after its block.
    await nextSecond(net.clock, AbortSignal.timeout(120_000));
    const head = await height();
    // Two rounds after the stake and after the uploads.
    round = Math.floor(head / ROUND_LENGTH) + 4;
    await mineTo(start() - ROUND_LENGTH + CLAIM);
  });

  test('the same anchors give all nodes the same sample, also on demand', async () => {
    const anchor = '5a'.repeat(32);
    const answers = await Promise.all(net.nodes.map((node) => http(node, `/rchash/0/${anchor}/${anchor}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [first, ...others] = answers.map(({ json }) => ({ hash: json['hash'], proofs: json['proofs'] }));
    expect(others).toEqual([first, first]);
  });
});

test('a round is played by all nodes, won by one and paid to the last unit', async () => {
  await toSample();
  const before = await tokens();
  const rewards = await Promise.all(net.nodes.map(async (node) => (await stateOf(node)).reward));
  await mineTo(start());
  await mined(PLAYERS, 'commit');
  await allStates('not every node played', (state) => state.lastPlayedRound === round);
  await mineTo(start() + REVEAL);
  await mined(PLAYERS, 'reveal');
  const hashes = await revealed(PLAYERS);
  expect(hashes.size).toBe(PLAYERS);
  expect(new Set(hashes.values()).size).toBe(1);
  await mineTo(start() + CLAIM);
  const winner = await winnerOf();
  await net.chain.mine();
  await expectPaid(winner, before, rewards[net.nodes.indexOf(winner)]!);
  for (const node of net.nodes) {
    const { fees, lastFrozenRound, reward } = await stateOf(node);
    expect(fees).toBeGreaterThan(0n);
    expect(lastFrozenRound).toBe(0);
    if (node !== winner) expect(reward).toBe(0n);
  }
  round++;
});

test('nodes that are killed in every phase still play the round to its end', async () => {
  const again = async (node: ClusterNode) => {
    await node.kill();
    await node.start();
  };
  await again(net.node(0));
  await toSample();
  await again(net.node(1));
  const before = await tokens();
  const rewards = await Promise.all(net.nodes.map(async (node) => (await stateOf(node)).reward));
  await mineTo(start());
  await inPool(PLAYERS, 'commit');
  await again(net.node(2));
  await mined(PLAYERS, 'commit');
  await again(net.node(0));
  await allStates('not every node played', (state) => state.lastPlayedRound === round);
  await mineTo(start() + REVEAL);
  await inPool(PLAYERS, 'reveal');
  await again(net.node(1));
  await mined(PLAYERS, 'reveal');
  await again(net.node(2));
  expect(new Set((await revealed(PLAYERS)).values()).size).toBe(1);
  await mineTo(start() + CLAIM);
  const winner = await winnerOf();
  await again(winner);
  await mined(1, 'claim');
  await again(winner);
  await expectPaid(winner, before, rewards[net.nodes.indexOf(winner)]!);
  round++;
});

test('an endpoint that is away at the beginning of every phase costs no round', async () => {
  const away = async (step: () => Promise<void>) => {
    await net.chain.setRpcFault({ kind: 'down' });
    await step();
    await eventually('nobody has noticed', async () => {
      const counts = Object.values(await net.chain.rpcCalls()).map(({ met }) => met);
      return counts.every((count) => count > 0) ? undefined : `met ${counts.join(', ')}`;
    });
    await net.chain.setRpcFault({ kind: 'none' });
  };
  await toSample();
  const before = await tokens();
  const rewards = await Promise.all(net.nodes.map(async (node) => (await stateOf(node)).reward));
  await away(() => mineTo(start()));
  await mined(PLAYERS, 'commit');
  await away(() => mineTo(start() + REVEAL));
  await mined(PLAYERS, 'reveal');
  await away(() => mineTo(start() + CLAIM));
  const winner = await winnerOf();
  await net.chain.setRpcFault({ kind: 'down' });
  await net.chain.mine();
  await net.chain.setRpcFault({ kind: 'none' });
  await expectPaid(winner, before, rewards[net.nodes.indexOf(winner)]!);
  round++;
});

async function lose({ dataDir }: ClusterNode, address: string): Promise<void> {
  const environment = open({ path: join(dataDir, 'store', 'index.mdb'), maxDbs: 32 });
  const chunks = environment.openDB('chunks', { encoding: 'binary', keyEncoding: 'binary' });
  expect(chunks.removeSync(Buffer.from(fromHex(address)))).toBe(true);
  await environment.close();
}

test('a node that lacks one chunk reveals another hash, wins nothing and is frozen', async () => {
  const [careless] = net.nodes.slice(2);
  await toSample();
  await mineTo(start());
  await mined(PLAYERS, 'commit');
  await mineTo(start() + REVEAL);
  await mined(PLAYERS, 'reveal');
  // From the reveals on, the next anchor is known.
  const seed = (await net.chain.view(game(), 'nextSeed()')).toString(16).padStart(64, '0');
  const { json } = await http(careless!, `/rchash/0/${seed}/${seed}`);
  const { proofLast } = json['proofs'] as { proofLast: { proveSegment: string } };
  await careless!.stop();
  await lose(careless!, proofLast.proveSegment);
  await careless!.start();
  await mineTo(start() + CLAIM);
  await winnerOf();
  await net.chain.mine();

  round++;
  await toSample();
  await mineTo(start());
  await mined(PLAYERS, 'commit');
  await mineTo(start() + REVEAL);
  await mined(PLAYERS, 'reveal');
  const hashes = await revealed(PLAYERS);
  const own = hashes.get(careless!.ethereum.replace('0x', ''));
  const others = [...hashes.values()].filter((hash) => hash !== own);
  expect(others).toHaveLength(2);
  expect(new Set(others).size).toBe(1);
  await mineTo(start() + CLAIM);
  const winner = await winnerOf();
  expect(winner).not.toBe(careless);
  // A node that looks at its stake only after the claim is frozen a round earlier.
  await allStates('not every node has checked its stake', (state) => state.lastSelectedRound === round + 1);
  await net.chain.mine();

  round++;
  await toSample(net.nodes.slice(0, 2));
  await mineTo(start());
  await allStates('it is not frozen', (state) => state.isFrozen && state.lastFrozenRound === round, [
    careless!,
  ]);
  await mined(2, 'commit');
  expect(await stateOf(careless!)).toMatchObject({
    lastPlayedRound: round - 1,
    lastWonRound: 0,
    reward: 0n,
  });
});

test('a paused registry returns whole stakes', async () => {
  const node = net.node(2);
  const paused = net.chain.pauseContract('stakeRegistry');
  await mined(1, 'pause');
  await paused;
  const staked = BigInt((await http(node, '/stake')).json['stakedAmount'] as string);
  const before = await net.chain.tokenBalance(node.ethereum);
  const answer = http(node, '/stake', { method: 'DELETE' });
  await mined(1, 'migration');
  expect((await answer).status).toBe(200);
  expect((await net.chain.tokenBalance(node.ethereum)) - before).toBe(staked);
  expect((await http(node, '/stake')).json).toEqual({ stakedAmount: '0' });
});

test('the metrics of the game are exported', async () => {
  const text = Buffer.from((await http(net.node(0), '/metrics')).body).toString();
  for (const name of ['commit_phases', 'reveal_phases', 'current_phase', 'round']) {
    expect(text).toMatch(new RegExp(`^svc_storageincentives_${name} [1-9]`, 'm'));
  }
});
