export interface ReportedBalance {
  readonly peer: string;
  readonly balance: bigint;
}

export interface Debt {
  readonly debtor: string;
  readonly creditor: string;
  /** Accounting units as the debtor counts them, or the creditor if nothing is known from the debtor. */
  readonly units: bigint;
  /** The creditor's count, if different. */
  readonly creditorCounts?: bigint;
}

export function debtsOf(books: ReadonlyMap<string, readonly ReportedBalance[]>): Debt[] {
  const claimed = (creditor: string, debtor: string) => debtBetween(books.get(creditor), debtor, 1n);
  const admitted = (debtor: string, creditor: string) => debtBetween(books.get(debtor), creditor, -1n);
  const debts = new Map<string, Debt>();
  for (const [name, rows] of books) {
    for (const { peer, balance } of rows) {
      if (balance === 0n) continue;
      const [debtor, creditor] = balance > 0n ? [peer, name] : [name, peer];
      const [own, other] = [admitted(debtor, creditor), claimed(creditor, debtor)];
      debts.set(`${debtor} ${creditor}`, {
        debtor,
        creditor,
        units: own ?? other ?? 0n,
        ...(own === undefined || other === undefined || own === other ? {} : { creditorCounts: other }),
      });
    }
  }
  return [...debts.values()].sort((a, b) => Number(b.units - a.units));
}

function debtBetween(
  rows: readonly ReportedBalance[] | undefined,
  peer: string,
  sign: bigint,
): bigint | undefined {
  if (rows === undefined) return undefined;
  const units = sign * (rows.find((row) => row.peer === peer)?.balance ?? 0n);
  return units > 0n ? units : 0n;
}
