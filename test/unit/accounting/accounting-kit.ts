import { bookkeeper, fakePeer } from './fake-peers.ts';

export const PRICE = 320_000n;

export function connectedTo(given: Parameters<typeof bookkeeper>[0] & { fullNode?: boolean } = {}) {
  const keeper = bookkeeper(given);
  const peer = fakePeer(7, given);
  keeper.accounting.connected(peer);
  const row = () => keeper.accounting.balance(peer.overlayHex);
  return { ...keeper, keeper, peer, row };
}

export type Setup = ReturnType<typeof connectedTo>;

export function owe({ accounting, peer, row }: Setup, debt: bigint): void {
  while (-(row()?.consumedBalance ?? 0n) < debt) accounting.prepareCredit(peer, PRICE, true).apply();
}
