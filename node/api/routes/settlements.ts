import type { Dialect } from '../dialect.ts';

interface Settlement {
  /** Overlay, 64 hex. */
  readonly peer: string;
  readonly received: bigint;
  readonly sent: bigint;
}

export function settlementsBody(
  settlements: readonly Settlement[],
  dialect: Dialect,
): Record<string, unknown> {
  const sum = (of: 'received' | 'sent') => settlements.reduce((total, settled) => total + settled[of], 0n);
  return {
    totalReceived: dialect.settlementAmount(sum('received')),
    totalSent: dialect.settlementAmount(sum('sent')),
    settlements: settlements.map((settlement) => settlementBody(settlement, dialect)),
  };
}

export function settlementBody(
  { peer, received, sent }: Settlement,
  { settlementAmount }: Dialect,
): Record<string, unknown> {
  return { peer, received: settlementAmount(received), sent: settlementAmount(sent) };
}
