/** A node that dies at any write must come back with what was committed. */
import { describe, expect, test } from 'vitest';
import { PAYMENT_TIMEOUT_MS } from '../../../../node/protocols/swap/swap.ts';
import type { KeyValueStore } from '../../../../node/store/ports.ts';
import { memoryRecords, testKey } from '../../p2p/memory-nodes.ts';
import { FUNDS, meet, type SwapNode, swapNode, world } from './swap-nodes.ts';

const WRITES_MAX = 4;

/** The last write is committed and never answered, later ones do not happen. */
function dying(records: KeyValueStore, writes: number): KeyValueStore {
  let left = writes;
  const write = async (work: () => Promise<void>): Promise<void> => {
    if (left-- <= 0) return new Promise<void>(() => undefined);
    await work();
    if (left === 0) await new Promise<void>(() => undefined);
  };
  return {
    get: (key) => records.get(key),
    entries: (prefix) => records.entries(prefix),
    put: (key, value) => write(() => records.put(key, value)),
    remove: (key) => write(() => records.remove(key)),
    batch: (changes) => write(() => records.batch(changes)),
  };
}

const total = (node: SwapNode) => node.credited.reduce((sum, { amount }) => sum + amount, 0n);

describe.each(['payer', 'payee'] as const)('the %s dies', (who) => {
  test.each(Array.from({ length: WRITES_MAX + 1 }, (_, n) => n))('after %i writes', async (writes) => {
    const parts = world();
    const { clock, chain } = parts;
    const states = [memoryRecords(), memoryRecords()] as const;
    const books = [chain.deploy(testKey(1), FUNDS), chain.deploy(testKey(2), FUNDS)] as const;
    const start = (n: 1 | 2, state: KeyValueStore = states[n - 1]!) =>
      swapNode(n, parts, { state, chequebook: books[n - 1]! });
    const mortal = (n: 1 | 2) =>
      (who === 'payer') === (n === 1) ? dying(states[n - 1]!, writes) : undefined;

    let payer = await start(1, mortal(1));
    let payee = await start(2, mortal(2));
    const paying = payer.protocol.pay(await meet(payer, payee, clock), 500n).then(
      () => 'paid',
      (error: { code?: string }) => error.code,
    );
    await clock.settle();
    const dead = who === 'payer' ? payer : payee;
    await dead.host.stop();
    await clock.advance(PAYMENT_TIMEOUT_MS + 1_000);
    // Dead before it has the cheque, it resets the stream.
    if (who === 'payee') expect(await paying).toBe(writes < 2 ? 'STREAM_RESET' : 'paid');

    // Its issuer must know every cheque that the peer has.
    const reborn = await start(who === 'payer' ? 1 : 2);
    if (who === 'payer') payer = reborn;
    else payee = reborn;
    const sent = () => payer.services.settlement(payee.id)?.sent ?? 0n;
    const received = () => payee.services.settlement(payer.id)?.received ?? 0n;
    expect(received()).toBeLessThanOrEqual(sent());

    // Both must count the same, and this session credits what it pays.
    const before = total(payee);
    const peer = await meet(payer, payee, clock);
    await clock.settle();
    expect(received()).toBe(sent());
    // Both show the repeated cheque as paid ahead.
    expect(payer.ahead.get(payee.id) ?? 0n).toBe(total(payee) - before);
    await payer.protocol.pay(peer, 2_000n);
    await clock.settle();
    expect(received()).toBe(sent());
    expect(total(payee) - before).toBe(2_000n);
    expect(payer.ahead.get(payee.id)).toBe(0n);
  });
});
