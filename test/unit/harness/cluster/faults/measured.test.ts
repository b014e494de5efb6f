import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULT_KINDS } from '../../../../../harness/cluster/faults/table.ts';
import { MEASURED_IN } from '../../../../cluster/faults/measured.ts';

test('every kind of fault has a file of tests that measures its effect', () => {
  for (const { name, layer } of FAULT_KINDS) {
    const tests = readFileSync(new URL(`../../../../../${MEASURED_IN[layer]}`, import.meta.url), 'utf8');
    const calls = /everyKindMeasured\(([^;]*)\);/.exec(tests)?.[1];
    expect(calls, `${name} in ${MEASURED_IN[layer]}`).toContain(`'${layer}'`);
  }
});
