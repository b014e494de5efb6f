/** What passes by itself while nodes are busy counts only if an earlier look has seen it. */
import type { DebtStatus, StatusDocument } from './document.ts';

export function mayPass({ debts, nodes }: StatusDocument): boolean {
  return (
    debts.some(({ creditorCounts }) => creditorCounts !== undefined) ||
    nodes.some(({ unheard }) => unheard.length > 0)
  );
}

/**
 * @param before an earlier look; undefined: none
 * @returns the look without pings answered before, and without new or changed differences of accounts
 */
export function lasting(now: StatusDocument, before: StatusDocument | undefined): StatusDocument {
  const differences = new Map(before?.debts.map((debt) => [linkOf(debt), differenceOf(debt)]));
  const unheard = new Map(before?.nodes.map((node) => [node.name, new Set(node.unheard)]));
  return {
    ...now,
    debts: now.debts.map((debt) => {
      const { creditorCounts: _counts, ...agreed } = debt;
      return differenceOf(debt) === differences.get(linkOf(debt)) ? debt : agreed;
    }),
    nodes: now.nodes.map((node) => ({
      ...node,
      unheard: node.unheard.filter((peer) => unheard.get(node.name)?.has(peer) === true),
    })),
  };
}

function linkOf({ debtor, creditor }: DebtStatus): string {
  return `${debtor} ${creditor}`;
}

/** Accounting units; undefined: both agree. */
function differenceOf({ units, creditorCounts }: DebtStatus): bigint | undefined {
  return creditorCounts === undefined ? undefined : BigInt(units) - BigInt(creditorCounts);
}
