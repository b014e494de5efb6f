/** What passes by itself while nodes are busy counts only if an earlier look has seen it. */
import type { DebtStatus, StatusDocument } from './document.ts';

export function mayPass({ debts, nodes }: StatusDocument): boolean {
  return (
    debts.some(({ creditorCounts }) => creditorCounts !== undefined) ||
    nodes.some(({ unheard, lacking }) => unheard.length + lacking.length > 0)
  );
}

/**
 * @param before an earlier look; undefined: none
 * @returns the look without pings answered before, without what nodes did not lack before, and without new or changed
 * differences of accounts
 */
export function lasting(now: StatusDocument, before: StatusDocument | undefined): StatusDocument {
  const differences = new Map(before?.debts.map((debt) => [linkOf(debt), differenceOf(debt)]));
  const unheard = new Map(before?.nodes.map((node) => [node.name, new Set(node.unheard)]));
  const lacked = new Set(before?.nodes.flatMap(({ lacking }) => lacking));
  const passing = now.nodes.flatMap(({ lacking }) => lacking.filter((lack) => !lacked.has(lack)));
  return {
    ...now,
    problems: now.problems.filter((problem) => !passing.some((lack) => problem.startsWith(lack))),
    debts: now.debts.map((debt) => {
      const { creditorCounts: _counts, ...agreed } = debt;
      return differenceOf(debt) === differences.get(linkOf(debt)) ? debt : agreed;
    }),
    nodes: now.nodes.map((node) => ({
      ...node,
      unheard: node.unheard.filter((peer) => unheard.get(node.name)?.has(peer) === true),
      lacking: node.lacking.filter((lack) => lacked.has(lack)),
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
