import type { ExportRequest } from '../../../../harness/export/export-request.ts';
import { parseDefinition } from '../../../../harness/plan/definition.ts';
import type { DefinitionInput } from '../../../../harness/plan/schema.ts';

export function requestFor(input: DefinitionInput, more: Partial<ExportRequest> = {}): ExportRequest {
  return {
    input,
    definition: parseDefinition(input, 'options'),
    seed: 42n,
    image: undefined,
    sources: '.',
    machines: [],
    ...more,
  };
}

/** Two kinds of nodes, one of them with limits. */
export const MIXED: DefinitionInput = {
  name: 'demo',
  nodes: [
    { count: 3, resources: { cpus: 0.5, memory: '256MiB' } },
    { count: 2, mode: 'light' },
  ],
};
