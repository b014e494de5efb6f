import { HarnessError } from '../../base/errors.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import type { RowResult } from '../row.ts';

/**
 * Grades a node by these rows alone. The first call loads the peer's stack.
 * @param node.peer multiaddress with peer id @param ids as `svcnet conformance wire --list` shows them
 * @returns a result for each row, in order; its verdict may be `skipped`
 */
export async function wireVerdicts(
  node: { readonly peer: string; readonly networkId: bigint },
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly RowResult[]> {
  const [{ grade }, { wireConformance }] = await Promise.all([
    import('../grade.ts'),
    import('./conformance.ts'),
  ]);
  const wire = wireConformance(node);
  const rows = ids.map((id) => {
    const row = wire.rows.find((one) => one.id === id);
    if (row === undefined)
      throw new HarnessError('ARGUMENT_INVALID', `no row of wire conformance is named '${id}'`);
    return row;
  });
  const report = await grade({ ...wire, rows }, { clock: MACHINE_CLOCK, level: 'read', signal });
  return report.rows;
}
