import type { DefinitionInput } from '../../../../harness/cluster/plan/definition-input.ts';
import { type ExportRequest, parseExported } from '../../../../harness/export/export-request.ts';

export function requestFor(input: DefinitionInput, more: Partial<ExportRequest> = {}): ExportRequest {
  return {
    input,
    definition: parseExported(input, 'options'),
    seed: 42n,
    image: undefined,
    sources: '.',
    machines: [],
    ...more,
  };
}

export const MIXED: DefinitionInput = {
  name: 'demo',
  nodes: [
    { count: 3, resources: { cpus: 0.5, memory: '256MiB' } },
    { count: 2, mode: 'light' },
  ],
};
