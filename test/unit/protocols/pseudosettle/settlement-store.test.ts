import { expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { SettlementStore } from '../../../../node/protocols/pseudosettle/settlement-store.ts';
import { memoryRecords } from '../../p2p/memory-nodes.ts';

test('only a limited number of peers is remembered: those that never paid are forgotten first, then the oldest', () => {
  const state = memoryRecords();
  const deps = { state, log: silentLogger() };
  const store = new SettlementStore(deps);
  const note = (n: number, total: bigint) => store.noteReceived(`peer ${n}`, { timestamp: BigInt(n), total });
  const known = (n: number) => store.total(`peer ${n}`)?.received;
  for (let n = 0; n < 10_000; n++) note(n, n === 5_000 ? 0n : 7n);
  note(0, 8n);
  note(10_000, 7n);
  expect([known(0), known(1), known(5_000)]).toEqual([8n, 7n, undefined]);
  note(10_001, 7n);
  expect([known(0), known(1), known(2)]).toEqual([8n, undefined, 7n]);
  expect(store.totals()).toHaveLength(10_000);
  expect(new SettlementStore(deps).totals()).toHaveLength(10_000);
});

test('the two directions of a peer are remembered separately', () => {
  const store = new SettlementStore({ state: memoryRecords(), log: silentLogger() });
  const sent = { timestamp: 1n, checkedAt: 1n, checkedAtMs: 1_000, total: 5n };
  store.noteSent('creditor', sent);
  for (let n = 0; n <= 10_000; n++) store.noteReceived(`peer ${n}`, { timestamp: 1n, total: 0n });
  expect(store.sent('creditor')).toEqual(sent);
  expect(store.total('creditor')).toEqual({ peer: 'creditor', received: 0n, sent: 5n });
});
