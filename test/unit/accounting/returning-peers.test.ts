import { describe, expect, test } from 'vitest';
import type { AccountingService } from '../../../node/accounting/accounting.ts';
import { connectedTo, owe, PRICE, type Setup } from './accounting-kit.ts';
import { bookkeeper, type FakePeer, fakePeer } from './fake-peers.ts';

describe('a peer that was blocklisted', () => {
  const overdraw = ({ accounting }: Setup, peer: FakePeer) =>
    accounting.prepareDebit(peer, 22_000_000n).apply();

  test('gets nothing more over the connection that is being closed', () => {
    const setup = connectedTo();
    overdraw(setup, setup.peer);
    for (const use of ['prepareCredit', 'prepareDebit'] as const) {
      expect(() => setup.accounting[use](setup.peer, PRICE, true)).toThrow(
        expect.objectContaining({ code: 'PEER_NOT_CONNECTED' }),
      );
    }
    expect(() => setup.accounting.payableDebt(setup.peer)).toThrow('not connected');
    expect(setup.row()?.consumedBalance).toBe(22_000_000n);
  });

  test('is disconnected at least when the host refuses to blocklist', async () => {
    const setup = connectedTo({ offline: true });
    overdraw(setup, setup.peer);
    await setup.clock.settle();
    expect(setup.blocklisted).toEqual([]);
    expect(setup.disconnected).toEqual([
      { peer: setup.peer.overlayHex, reason: 'disconnect threshold exceeded' },
    ]);
  });

  test('is refused twice as long the next time, up to eight times, unless it has settled in between', async () => {
    const setup = connectedTo();
    const { accounting, blocklisted, clock } = setup;
    overdraw(setup, setup.peer);
    for (let n = 0; n < 5; n++) {
      await clock.advance(60_000);
      const again = fakePeer(7);
      accounting.connected(again);
      if (n === 4) accounting.refreshmentReceived(again, 1n);
      overdraw(setup, again);
    }
    expect(blocklisted.map(({ durationMs }) => durationMs)).toEqual([
      7_000, 14_000, 28_000, 56_000, 56_000, 7_000,
    ]);
  });

  test('by us for a bad refresh is forgiven with the next good one', async () => {
    const setup = connectedTo();
    const { accounting, blocklisted, clock, keeper } = setup;
    keeper.answer = () => Promise.reject(new Error('clock out of sync'));
    owe(setup, 7_000_000n);
    await clock.advance(10_000);
    const again = fakePeer(7);
    accounting.connected(again);
    keeper.answer = async (_peer, accepted) => ({ accepted, allegedSeconds: 1_000n });
    owe({ ...setup, peer: again }, 7_000_000n);
    await clock.advance(10_000);
    keeper.answer = () => Promise.reject(new Error('clock out of sync'));
    owe({ ...setup, peer: again }, 7_000_000n);
    await clock.advance(10_000);
    expect(blocklisted.map(({ durationMs }) => durationMs)).toEqual([4_000, 4_000]);
  });
});

describe('a peer that returns without having paid', () => {
  async function comesBack(times: number, debt: bigint, pauseMs: number) {
    const setup = connectedTo();
    const { accounting, clock } = setup;
    let refused = 0;
    for (let n = 0, peer = setup.peer; n < times; n++) {
      accounting.prepareDebit(peer, debt).apply();
      peer.leave();
      accounting.disconnected(peer);
      await clock.advance(pauseMs);
      peer = fakePeer(7);
      try {
        accounting.connected(peer);
      } catch {
        refused++;
      }
      if (refused > 0) break;
    }
    return { blocklisted: setup.blocklisted, refused };
  }

  test('is let in once, and refused until time has forgiven the debts of both sessions', async () => {
    expect(await comesBack(1, 18_000_000n, 0)).toEqual({ blocklisted: [], refused: 0 });
    const { blocklisted, refused } = await comesBack(2, 18_000_000n, 0);
    expect(refused).toBe(1);
    // (2 x 18,000,000 + 13,500,000) / 4,500,000
    expect(blocklisted).toEqual([
      { peer: fakePeer(7).overlayHex, durationMs: 11_000, reason: 'debts left behind' },
    ]);
  });

  test('is admitted repeatedly when it waits until its debt is forgiven', async () => {
    expect(await comesBack(20, 18_000_000n, 4_000)).toEqual({ blocklisted: [], refused: 0 });
  });

  test('before its departure was noticed is no exception', () => {
    const { accounting, blocklisted, peer } = connectedTo();
    accounting.prepareDebit(peer, 18_000_000n).apply();
    const second = fakePeer(7);
    accounting.prepareDebit(second, 18_000_000n).apply();
    expect(() => accounting.prepareDebit(fakePeer(7), 1n)).toThrow('not connected');
    expect(blocklisted).toHaveLength(1);
  });
});

describe('only a limited number of accounts is kept:', () => {
  function visitedBy(count: number, visit?: (accounting: AccountingService, peer: FakePeer) => void) {
    const { accounting } = bookkeeper();
    const first = fakePeer(1);
    accounting.connected(first);
    for (let n = 2; n <= count; n++) {
      const peer = fakePeer(n);
      accounting.connected(peer);
      visit?.(accounting, peer);
      peer.leave();
      accounting.disconnected(peer);
    }
    return {
      accounting,
      first,
      has: (n: number) => accounting.balance(fakePeer(n).overlayHex) !== undefined,
    };
  }

  test('those of connected peers always, of others the newest', () => {
    const { accounting, first, has } = visitedBy(10_100);
    expect(accounting.balances()).toHaveLength(10_000);
    expect(accounting.balance(first.overlayHex)).toBeDefined();
    expect([has(2), has(101), has(102)]).toEqual([false, false, true]);
  });

  test('those with the least at stake are forgotten first', () => {
    const { has } = visitedBy(10_002, (accounting, peer) => {
      if (peer.overlayHex === fakePeer(2).overlayHex) accounting.prepareDebit(peer, 5n).apply();
      if (peer.overlayHex === fakePeer(3).overlayHex) accounting.prepareCredit(peer, 5n, true).apply();
      if (peer.overlayHex === fakePeer(4).overlayHex) accounting.paymentReceived(peer, 5n);
    });
    expect([has(2), has(3), has(4), has(5), has(6), has(7)]).toEqual([true, true, true, false, false, true]);
  });

  test('the smallest debts are forgotten first when no account is at zero', () => {
    const { has } = visitedBy(10_003, (accounting, peer) => {
      accounting.prepareDebit(peer, peer.overlayHex === fakePeer(500).overlayHex ? 1n : 1_000n).apply();
    });
    expect([has(2), has(3), has(4), has(500)]).toEqual([false, false, true, false]);
  });
});
