import { expect, test } from 'vitest';
import { GameStore } from '../../../node/incentives/game-store.ts';
import { MemoryState } from '../onchain/memory-state.ts';

async function recorded(rounds: readonly number[]): Promise<GameStore> {
  const store = new GameStore(new MemoryState());
  for (const round of rounds) await store.changeRound(round, { key: 'ab' });
  return store;
}

const roundsOf = (store: GameStore) => Object.keys(store.game.rounds).map(Number);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

test('rounds of the last ten are kept, and the latest ten however long ago', async () => {
  const store = await recorded(range(1, 20));
  await store.forgetOld(21);
  expect(roundsOf(store)).toEqual(range(11, 20));
  await store.forgetOld(1000);
  expect(roundsOf(store)).toEqual(range(11, 20));
});

test('a chain that begins anew keeps its rounds beside the higher ones of the former', async () => {
  const store = await recorded([5, ...range(500, 510)]);
  await store.forgetOld(5);
  expect(store.round(5)).toEqual({ key: 'ab' });
});
