import { expect, test } from 'vitest';
import { BalanceStore, type StoredBalance } from '../../../node/accounting/balance-store.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { MemoryState } from '../onchain/memory-state.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const INTERVAL_MS = 5_000;

class SlowState extends MemoryState {
  next = () => Promise.resolve();

  override async batch(changes: Parameters<MemoryState['batch']>[0]): Promise<void> {
    const { next } = this;
    this.next = () => Promise.resolve();
    await next();
    await super.batch(changes);
  }
}

function bench() {
  const [clock, state] = [new ManualClock(), new SlowState()];
  const store = new BalanceStore({ clock, state, log: silentLogger() });
  const account: StoredBalance = { overlayHex: 'aa'.repeat(32), balance: 1n, surplus: 0n, originated: 0n };
  const onDisk = () => [...new BalanceStore({ clock, state, log: silentLogger() }).load()][0]?.balance;
  return { clock, state, store, account, onDisk };
}

test('a balance that changes while it is written is written again', async () => {
  const { clock, state, store, account, onDisk } = bench();
  const held = Promise.withResolvers<void>();
  state.next = () => held.promise;
  store.changed(account);
  await clock.advance(INTERVAL_MS);
  account.balance = 2n;
  store.changed(account);
  held.resolve();
  await clock.settle();
  expect(onDisk()).toBe(1n);
  await clock.advance(INTERVAL_MS);
  expect(onDisk()).toBe(2n);
  expect(clock.running).toBe(0);
});

test('a balance that could not be written is written later', async () => {
  const { clock, state, store, account, onDisk } = bench();
  state.next = () => Promise.reject(new Error('disk full'));
  store.changed(account);
  await clock.advance(INTERVAL_MS);
  expect(onDisk()).toBeUndefined();
  await clock.advance(INTERVAL_MS);
  expect(onDisk()).toBe(1n);
  expect(clock.running).toBe(0);
});

test('a balance that is forgotten while its write fails does not come back', async () => {
  const { clock, state, store, account, onDisk } = bench();
  const held = Promise.withResolvers<void>();
  state.next = () => held.promise;
  store.changed(account);
  await clock.advance(INTERVAL_MS);
  store.forgotten(account);
  held.reject(new Error('disk full'));
  await clock.advance(INTERVAL_MS);
  expect(onDisk()).toBeUndefined();
  expect(clock.running).toBe(0);
});
