import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { readDefinition, writtenDefinition } from '../../../../../harness/cluster/plan/schema.ts';

test('a definition is read back from JSON unchanged, including large numbers and lists', () => {
  const definition = parseDefinition(
    {
      seed: '18446744073709551615',
      nodes: [{ count: 2, options: { 'welcome-message': '12n' } }],
      swap: { deposit: '123456789012345678901234567890' },
      funds: { native: 5n, tokens: 0 },
      batches: [{ depth: 18 }, { ttl: '1h' }],
      ports: { first: 17_000, stride: 2, debug: 'free' },
      chain: { blockTime: '5s' },
    },
    'options',
  );
  const written = JSON.parse(JSON.stringify(writtenDefinition(definition))) as unknown;
  expect(readDefinition(written)).toEqual(definition);
});
