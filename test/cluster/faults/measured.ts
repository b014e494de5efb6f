import { expect } from 'vitest';
import { type Fault, type FaultLayer, hadEffect } from '../../../harness/cluster/faults/fault.ts';
import { FAULT_KINDS } from '../../../harness/cluster/faults/table.ts';

/** Each of these files calls `everyKindMeasured`. */
export const MEASURED_IN: Readonly<Record<FaultLayer, string>> = {
  link: 'test/cluster/harness/links/faults.test.ts',
  message: 'test/cluster/harness/links/message-faults.test.ts',
  members: 'test/cluster/growth/churn.test.ts',
  machine: 'test/cluster/faults/machines.test.ts',
  disk: 'test/cluster/faults/machines.test.ts',
  power: 'test/cluster/simulated/power.test.ts',
  clock: 'test/cluster/faults/machines.test.ts',
  chain: 'test/cluster/faults/machines.test.ts',
  memory: 'test/docker/cluster.test.ts',
};

export function everyKindMeasured(history: readonly Fault[], ...layers: readonly FaultLayer[]): void {
  const kinds = FAULT_KINDS.filter(({ layer }) => layers.includes(layer)).map(({ name }) => name);
  const measured = new Set(history.filter(hadEffect).map(({ kind }) => kind));
  expect(
    kinds.filter((kind) => !measured.has(kind)),
    `kinds of ${layers.join(', ')} without a test that measures their effect`,
  ).toEqual([]);
}
