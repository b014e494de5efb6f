/**
 * StakeRegistry and Redistribution: what a node needs of them. `contracts.md` 6 and 7. Vectors:
 * test/vectors/abi-signatures.json, test/vectors/contracts.json.
 */
import { toHex } from '../../formats/crypto/hex.ts';
import { encodeCall, readWords, selectorOf } from '../../formats/ethereum/abi.ts';
import { bytes, type Encoded, list, tuple, word } from '../../formats/ethereum/abi-dynamic.ts';
import { toAddress } from './contracts.ts';
import type { Chain } from './ports.ts';

const PROOF =
  '(bytes32[],bytes32,bytes32[],bytes32,uint64,bytes32[],(bytes,bytes32,uint64,uint64),(address,bytes,bytes32,bytes32)[])';

export const STAKE_FUNCTIONS = {
  manageStake: 'manageStake(bytes32,uint256,uint8)',
  migrateStake: 'migrateStake()',
  paused: 'paused()',
  stakes: 'stakes(address)',
  withdrawableStake: 'withdrawableStake()',
  withdrawFromStake: 'withdrawFromStake()',
} as const;

export const GAME_FUNCTIONS = {
  claim: `claim(${PROOF},${PROOF},${PROOF})`,
  commit: 'commit(bytes32,uint64)',
  currentRoundAnchor: 'currentRoundAnchor()',
  isParticipating: 'isParticipatingInUpcomingRound(address,uint8)',
  isWinner: 'isWinner(bytes32)',
  reveal: 'reveal(uint8,bytes32,bytes32)',
} as const;

const stakeSelector = selectorsOf(STAKE_FUNCTIONS);
const gameSelector = selectorsOf(GAME_FUNCTIONS);

type Reader = Pick<Chain, 'call'>;

/** All zero without a stake. */
export interface Stake {
  /** 32 bytes. */
  readonly overlay: Uint8Array;
  /** Base units. */
  readonly amount: bigint;
  /** In the future while the stake is frozen. */
  readonly lastUpdatedBlock: bigint;
  readonly height: number;
}

/** @param registry `0x` and 40 hex @param owner 20 bytes */
export async function stakeOf(
  chain: Reader,
  registry: string,
  owner: Uint8Array,
  signal?: AbortSignal,
): Promise<Stake> {
  const result = await chain.call({ to: registry, data: encodeCall(stakeSelector.stakes, owner) }, signal);
  const words = readWords(result, 'stakes');
  return {
    overlay: words.bytes32(0),
    amount: words.uint(2),
    lastUpdatedBlock: words.uint(3),
    height: words.small(4),
  };
}

/** Beyond the stake required at the current price. @param owner 20 bytes: the contract answers its caller */
export async function withdrawableStake(
  chain: Reader,
  registry: string,
  owner: Uint8Array,
  signal?: AbortSignal,
): Promise<bigint> {
  const call = { to: registry, data: stakeSelector.withdrawableStake, from: toAddress(owner) };
  return readWords(await chain.call(call, signal), 'withdrawableStake').uint(0);
}

export async function stakingPaused(chain: Reader, registry: string, signal?: AbortSignal): Promise<boolean> {
  return readWords(await chain.call({ to: registry, data: stakeSelector.paused }, signal), 'paused').bool(0);
}

/** @param nonce of the overlay, 32 bytes @param amount zero changes only overlay and height */
export function encodeManageStake(nonce: Uint8Array, amount: bigint, height: number): string {
  return encodeCall(stakeSelector.manageStake, nonce, amount, height);
}

export const WITHDRAW_STAKE = stakeSelector.withdrawFromStake;
export const MIGRATE_STAKE = stakeSelector.migrateStake;

/**
 * In the claim phase, the next round's. @returns 32 bytes
 * @throws ChainError REVERTED after the first reveal, until the claim phase
 */
export async function currentRoundAnchor(
  chain: Reader,
  game: string,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const result = await chain.call({ to: game, data: gameSelector.currentRoundAnchor }, signal);
  return readWords(result, 'currentRoundAnchor').bytes32(0);
}

/** @param owner 20 bytes @throws ChainError REVERTED without a stake, or with a recent one */
export async function isParticipating(
  chain: Reader,
  game: string,
  { owner, depth }: { owner: Uint8Array; depth: number },
  signal?: AbortSignal,
): Promise<boolean> {
  const data = encodeCall(gameSelector.isParticipating, owner, depth);
  return readWords(await chain.call({ to: game, data }, signal), 'isParticipatingInUpcomingRound').bool(0);
}

/** @param overlay 32 bytes @throws ChainError REVERTED when there is nothing to win */
export async function isWinner(
  chain: Reader,
  game: string,
  overlay: Uint8Array,
  signal?: AbortSignal,
): Promise<boolean> {
  const result = await chain.call({ to: game, data: encodeCall(gameSelector.isWinner, overlay) }, signal);
  return readWords(result, 'isWinner').bool(0);
}

/** @param obfuscatedHash 32 bytes */
export function encodeCommit(obfuscatedHash: Uint8Array, round: number): string {
  return encodeCall(gameSelector.commit, obfuscatedHash, round);
}

/** @param hash,key 32 bytes each */
export function encodeReveal(depth: number, hash: Uint8Array, key: Uint8Array): string {
  return encodeCall(gameSelector.reveal, depth, hash, key);
}

/** Named as in the contract. 32 bytes unless stated. */
export interface InclusionProof {
  readonly proofSegments: readonly Uint8Array[];
  readonly proveSegment: Uint8Array;
  readonly proofSegments2: readonly Uint8Array[];
  readonly proveSegment2: Uint8Array;
  readonly chunkSpan: bigint;
  /** The same segment, transformed by the first anchor. */
  readonly proofSegments3: readonly Uint8Array[];
  readonly postageProof: {
    /** 65 bytes. */
    readonly signature: Uint8Array;
    readonly postageId: Uint8Array;
    readonly index: bigint;
    readonly timeStamp: bigint;
  };
  /** One for a single-owner chunk. */
  readonly socProof: readonly SocProof[];
}

export interface SocProof {
  /** 20 bytes. */
  readonly signer: Uint8Array;
  /** 65 bytes. */
  readonly signature: Uint8Array;
  readonly identifier: Uint8Array;
  readonly chunkAddr: Uint8Array;
}

export type InclusionProofs = readonly [proof1: InclusionProof, proof2: InclusionProof, last: InclusionProof];

export function encodeClaim(proofs: InclusionProofs): string {
  return gameSelector.claim + toHex(tuple(...proofs.map(encodeProof)).data);
}

function encodeProof(proof: InclusionProof): Encoded {
  const { postageProof, socProof } = proof;
  const words = (values: readonly Uint8Array[]) => list(values.map(word));
  return tuple(
    words(proof.proofSegments),
    word(proof.proveSegment),
    words(proof.proofSegments2),
    word(proof.proveSegment2),
    word(proof.chunkSpan),
    words(proof.proofSegments3),
    tuple(
      bytes(postageProof.signature),
      word(postageProof.postageId),
      word(postageProof.index),
      word(postageProof.timeStamp),
    ),
    list(
      socProof.map(({ signer, signature, identifier, chunkAddr }) =>
        tuple(word(signer), bytes(signature), word(identifier), word(chunkAddr)),
      ),
    ),
  );
}

function selectorsOf<T extends Readonly<Record<string, string>>>(
  functions: T,
): { readonly [K in keyof T]: string } {
  const selectors = Object.entries(functions).map(([name, signature]) => [name, selectorOf(signature)]);
  return Object.fromEntries(selectors) as { readonly [K in keyof T]: string };
}
