/** What nodes call and listen to, by contract: signatures, and words of views' answers. `contracts.md` 3 to 11. */
import type { Contracts } from '../../chain/contracts.ts';

export interface ContractRequirements {
  /** Their selectors are in the code. */
  readonly transactions: readonly string[];
  /** Views without arguments, or with this many zeros, and words of the answer. */
  readonly views: readonly (readonly [signature: string, words: number])[];
  readonly events: readonly string[];
}

export const REQUIREMENTS: Readonly<Record<keyof Contracts, ContractRequirements>> = {
  token: {
    transactions: [
      'transfer(address,uint256)',
      'approve(address,uint256)',
      'transferFrom(address,address,uint256)',
    ],
    views: [
      ['balanceOf(address)', 1],
      ['allowance(address,address)', 1],
      ['decimals()', 1],
      ['totalSupply()', 1],
    ],
    events: ['Transfer(address,address,uint256)', 'Approval(address,address,uint256)'],
  },
  postageStamp: {
    transactions: [
      'createBatch(address,uint256,uint8,uint8,bytes32,bool)',
      'topUp(bytes32,uint256)',
      'increaseDepth(bytes32,uint8)',
      'expireLimited(uint256)',
      'withdraw(address)',
      'setPrice(uint256)',
    ],
    views: [
      ['batches(bytes32)', 6],
      ['lastPrice()', 1],
      ['minimumValidityBlocks()', 1],
      ['minimumBucketDepth()', 1],
      ['currentTotalOutPayment()', 1],
      ['expiredBatchesExist()', 1],
      ['validChunkCount()', 1],
      ['paused()', 1],
      ['bzzToken()', 1],
    ],
    events: [
      'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)',
      'BatchTopUp(bytes32,uint256,uint256)',
      'BatchDepthIncrease(bytes32,uint8,uint256)',
      'PriceUpdate(uint256)',
      'Paused(address)',
    ],
  },
  postagePriceOracle: {
    transactions: ['setPrice(uint32)', 'adjustPrice(uint16)'],
    views: [
      ['currentPrice()', 1],
      ['minimumPrice()', 1],
      ['isPaused()', 1],
      ['currentRound()', 1],
      ['postageStamp()', 1],
    ],
    events: ['PriceUpdate(uint256)'],
  },
  stakeRegistry: {
    transactions: [
      'manageStake(bytes32,uint256,uint8)',
      'withdrawFromStake()',
      'migrateStake()',
      'freezeDeposit(address,uint256)',
    ],
    views: [
      ['stakes(address)', 5],
      ['nodeEffectiveStake(address)', 1],
      ['withdrawableStake()', 1],
      ['lastUpdatedBlockNumberOfAddress(address)', 1],
      ['overlayOfAddress(address)', 1],
      ['heightOfAddress(address)', 1],
      ['paused()', 1],
      ['bzzToken()', 1],
      ['OracleContract()', 1],
    ],
    events: [
      'StakeUpdated(address,uint256,uint256,bytes32,uint256,uint8)',
      'OverlayChanged(address,bytes32)',
    ],
  },
  redistribution: {
    transactions: ['commit(bytes32,uint64)', 'reveal(uint8,bytes32,bytes32)', claimSignature()],
    views: [
      ['currentSeed()', 1],
      ['currentRound()', 1],
      ['currentPhaseCommit()', 1],
      ['currentPhaseReveal()', 1],
      ['currentPhaseClaim()', 1],
      ['currentMinimumDepth()', 1],
      ['paused()', 1],
      ['PostageContract()', 1],
      ['OracleContract()', 1],
      ['Stakes()', 1],
    ],
    events: ['Committed(uint256,bytes32,uint8)', 'Revealed(uint256,bytes32,uint256,uint256,bytes32,uint8)'],
  },
  chequebookFactory: {
    transactions: ['deploySimpleSwap(address,uint256,bytes32)'],
    views: [
      ['deployedContracts(address)', 1],
      ['ERC20Address()', 1],
      ['master()', 1],
    ],
    events: ['SimpleSwapDeployed(address)'],
  },
  swapPriceOracle: {
    transactions: [],
    views: [['getPrice()', 2]],
    events: [],
  },
};

/** The master that the factory copies. */
export const CHEQUEBOOK: ContractRequirements = {
  transactions: [
    'init(address,address,uint256)',
    'cashChequeBeneficiary(address,uint256,bytes)',
    'cashCheque(address,address,uint256,bytes,uint256,bytes)',
    'withdraw(uint256)',
  ],
  views: [
    ['issuer()', 1],
    ['balance()', 1],
    ['liquidBalance()', 1],
    ['paidOut(address)', 1],
    ['totalPaidOut()', 1],
    ['bounced()', 1],
    ['token()', 1],
  ],
  events: ['ChequeCashed(address,address,address,uint256,uint256,uint256)', 'ChequeBounced()'],
};

function claimSignature(): string {
  const proof =
    '(bytes32[],bytes32,bytes32[],bytes32,uint64,bytes32[],(bytes,bytes32,uint64,uint64),(address,bytes,bytes32,bytes32)[])';
  return `claim(${proof},${proof},${proof})`;
}
