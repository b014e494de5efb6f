import type { NodeServices } from '../../../node/api/services.ts';
import { type Failing, failIf } from './failing.ts';
import type { PostageKnobs } from './fake-postage.ts';

export interface IncentivesKnobs extends Failing, Pick<PostageKnobs, 'buying'> {
  stakeError: Error | undefined;
  staked: unknown[];
}

export function incentivesKnobs(): Omit<IncentivesKnobs, 'failing' | 'buying'> {
  return { stakeError: undefined, staked: [] };
}

export function fakeStaking(turn: IncentivesKnobs): NodeServices['staking'] {
  const done = async (...what: unknown[]): Promise<string> => {
    await turn.buying;
    if (turn.stakeError !== undefined) throw turn.stakeError;
    turn.staked.push(what);
    return `0x${'5a'.repeat(32)}`;
  };
  const read = async (amount: bigint): Promise<bigint> => {
    if (turn.stakeError !== undefined) throw turn.stakeError;
    return amount;
  };
  return {
    staked: () => read(10n ** 18n),
    withdrawable: () => read(16_000n),
    deposit: (amount, gas) => done('deposit', amount, gas),
    withdraw: (gas) => done('withdraw', gas),
    migrate: (gas) => done('migrate', gas),
    isFrozen: () => Promise.resolve(false),
  };
}

const PROOF = {
  proofSegments: [new Uint8Array(32).fill(1)],
  proveSegment: new Uint8Array(32).fill(2),
  proofSegments2: [new Uint8Array(32).fill(3)],
  proveSegment2: new Uint8Array(32).fill(4),
  chunkSpan: 4096n,
  proofSegments3: [new Uint8Array(32).fill(5)],
  postageProof: {
    signature: new Uint8Array(65).fill(6),
    postageId: new Uint8Array(32).fill(7),
    index: 0x00ab_0000_0001n,
    timeStamp: 0x18_0000_0000_0000_0fn,
  },
  socProof: [],
};
const SOC = {
  signer: new Uint8Array(20).fill(8),
  signature: new Uint8Array(65).fill(9),
  identifier: new Uint8Array(32).fill(10),
  chunkAddr: new Uint8Array(32).fill(11),
};

export function fakeGame(turn: IncentivesKnobs): NodeServices['redistribution'] {
  return {
    state() {
      failIf(turn, 'game');
      return {
        phase: 'claim',
        round: 12,
        block: 1912,
        isFrozen: false,
        isFullySynced: true,
        isHealthy: true,
        lastWonRound: 11,
        lastPlayedRound: 12,
        lastFrozenRound: 3,
        lastSelectedRound: 13,
        lastSampleMs: 1500,
        reward: 10n ** 19n,
        fees: 3n * 10n ** 16n,
      };
    },
    async funds() {
      failIf(turn, 'funds');
      return { minimum: 123_456_789_012_345_678n, sufficient: true };
    },
    async prove(request) {
      failIf(turn, 'sample');
      turn.staked.push(request);
      const hash = new Uint8Array(32).fill(0xcd);
      return { hash, proofs: [PROOF, { ...PROOF, socProof: [SOC] }, PROOF], durationMs: 250 };
    },
  };
}
