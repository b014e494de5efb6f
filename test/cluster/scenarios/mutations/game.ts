import { Chain } from '../../../../harness/chain/chain.ts';
import { RedistributionClient } from '../../../../harness/client/money.ts';
import { all, answers, changes, type Lie, type Mutation } from './lies.ts';

const ROUND = { rounds: '1' };

function otherSamples(): Lie {
  let taken = 0;
  return changes(RedistributionClient.prototype, 'sample', (sample) => ({ ...sample, hash: `${++taken}` }));
}
const noReveals = changes(Chain.prototype, 'words', (words, _contract, signature, values) =>
  signature === 'currentReveals(uint256)' ? [0n, 0n, 0n, 0n, 0n, BigInt(String(values?.[0]))] : words,
);
const unwell = changes(RedistributionClient.prototype, 'state', (state) => ({
  ...state,
  isHealthy: false,
  isFrozen: true,
}));
const allWin = changes(RedistributionClient.prototype, 'state', (state) => ({
  ...state,
  lastWonRound: state.round,
}));

export const GAME: readonly Mutation[] = [
  [
    'redistribution-round',
    ROUND,
    all(otherSamples(), noReveals, unwell),
    /every player is healthy, not frozen, and can pay for the game/,
    /the same anchors give every player the same sample/,
    /round \d+: every player reveals/,
    /round \d+: all reveal the same hash/,
    /round \d+: no player is frozen/,
  ],
  [
    'redistribution-round',
    ROUND,
    allWin,
    /round \d+ has one winner/,
    /round \d+: the winner gets the whole pot, the others nothing/,
    /round \d+: the nodes count the reward as it was paid/,
  ],
  [
    'redistribution-round',
    ROUND,
    answers(Chain.prototype, 'tokenBalance', () => 5n),
    /round \d+ pays something/,
    /round \d+: the nodes count the reward as it was paid/,
  ],
];
