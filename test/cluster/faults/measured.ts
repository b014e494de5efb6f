/** Every kind of fault has a test that measures what it does: which file that is, by layer, and whether it has. */
import { expect } from 'vitest';
import { type Fault, type FaultLayer, hadEffect } from '../../../harness/faults/fault.ts';
import { FAULT_KINDS } from '../../../harness/faults/table.ts';

/** Each of these files calls `everyKindMeasured` for its layers. */
export const MEASURED_IN: Readonly<Record<FaultLayer, string>> = {
  link: 'test/cluster/harness/links/faults.test.ts',
  machine: 'test/cluster/faults/machines.test.ts',
  disk: 'test/cluster/faults/machines.test.ts',
  clock: 'test/cluster/faults/machines.test.ts',
  chain: 'test/cluster/faults/machines.test.ts',
  memory: 'test/docker/cluster.test.ts',
};

/** @param history of all faults that the tests of a file have begun; the last of its tests calls this */
export function everyKindMeasured(history: readonly Fault[], ...layers: readonly FaultLayer[]): void {
  const kinds = FAULT_KINDS.filter(({ layer }) => layers.includes(layer)).map(({ name }) => name);
  const measured = new Set(history.filter(hadEffect).map(({ kind }) => kind));
  expect(
    kinds.filter((kind) => !measured.has(kind)),
    `kinds of ${layers.join(', ')} without a test that measures their effect`,
  ).toEqual([]);
}
