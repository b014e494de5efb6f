import { MaxUint256, toBeHex, type Wallet } from 'ethers';
import { beforeAll } from 'vitest';
import { compileSources } from '../../../chain/compile.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { type Network, player, type Receipt, second, third } from './network.ts';

const { redistributionScenario: scenario } = vectors;
const { setup } = scenario;

/** By default of the player of the vectors. */
export interface Part {
  from: Wallet;
  commitment?: string;
  depth?: number;
  stakeNonce?: string;
  stake?: bigint;
  height?: number;
}

const partOf = (part: Part): Required<Part> => ({
  commitment: scenario.reserveCommitment,
  depth: scenario.depth,
  stakeNonce: setup.stakeNonce,
  stake: BigInt(setup.stakeAmount),
  height: setup.height,
  ...part,
});

interface StorageLayout {
  storage: { label: string; slot: string }[];
}

let slots: Map<string, string> | undefined;

/** As reported by the compiler, once per test file. */
function storageSlots(): Map<string, string> {
  const output = compileSources(['storageLayout']);
  const { storage }: StorageLayout = output.contracts['Redistribution.sol'].Redistribution.storageLayout;
  return new Map(storage.map(({ label, slot }) => [label, toBeHex(BigInt(slot), 32)]));
}

/** Known once the compiler has run. */
export function slotOf(label: string): () => string {
  let slot: string | undefined;
  beforeAll(() => {
    slots ??= storageSlots();
    slot = slots.get(label);
  });
  return () => {
    if (slot === undefined) throw new Error(`Redistribution has no variable ${label}`);
    return slot;
  };
}

/** Leaves the head just before the vectors' stake. */
export async function preparePlayer(network: Network): Promise<void> {
  for (const from of [player, second, third]) {
    for (const { address } of [network.postageStamp, network.stakeRegistry]) {
      await network.send(network.token, 'approve', [address, MaxUint256], { from });
    }
  }
  const creation = [player.address, 10_000_000n, 17, 16, setup.batch.nonce, false];
  await network.send(network.postageStamp, 'createBatch', creation, { from: player });
  await network.send(network.postageStamp, 'topUp', [setup.batch.id, 5_000_000n], { from: player });
  await network.send(network.postageStamp, 'increaseDepth', [setup.batch.id, 18], { from: player });
  await network.before(setup.blocks.stake);
}

/** @returns the overlay of each part */
export async function stakeAll(network: Network, parts: readonly Part[]): Promise<string[]> {
  const overlays: string[] = [];
  for (const part of parts) {
    const { from, stakeNonce, stake, height } = partOf(part);
    await network.send(network.stakeRegistry, 'manageStake', [stakeNonce, stake, height], { from });
    overlays.push(String(await network.view(network.stakeRegistry, 'overlayOfAddress', [from.address])));
  }
  return overlays;
}

export async function commitAll(network: Network, parts: readonly Part[]): Promise<Receipt[]> {
  await network.before(setup.blocks.commit);
  const receipts: Receipt[] = [];
  for (const part of parts) receipts.push(await commit(network, part, scenario.round));
  return receipts;
}

export async function commit(network: Network, part: Part, round: number): Promise<Receipt> {
  const { from, depth, commitment } = partOf(part);
  const game = network.redistribution;
  const overlay = await network.view(network.stakeRegistry, 'overlayOfAddress', [from.address]);
  const obfuscated = await network.view(game, 'wrapCommit', [
    overlay,
    depth,
    commitment,
    scenario.revealNonce,
  ]);
  return network.send(game, 'commit', [obfuscated, round], { from });
}

export async function revealAll(network: Network, parts: readonly Part[]): Promise<Receipt[]> {
  await network.before(setup.blocks.reveal);
  const receipts: Receipt[] = [];
  for (const part of parts) receipts.push(await reveal(network, part));
  return receipts;
}

export function reveal(network: Network, part: Part): Promise<Receipt> {
  return network.send(network.redistribution, 'reveal', revealArguments(part), { from: part.from });
}

export function revealArguments(part: Part): unknown[] {
  const { depth, commitment } = partOf(part);
  return [depth, commitment, scenario.revealNonce];
}
