import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { CLUSTER_FILE } from '../../../../../harness/cluster/plan/editor/cluster-file.ts';
import {
  definitionSchema,
  type JsonSchema,
  keyPaths,
  keysAt,
} from '../../../../../harness/cluster/plan/editor/json-schema.ts';

function complete(): unknown {
  const needsMore = /^\s*#(?:store|keys|binary|image|neighbourhoods|network): /;
  const lines = CLUSTER_FILE.split('\n').map((line) =>
    needsMore.test(line) ? line : line.replace(/^(\s*)#(?=[a-zA-Z]+:)/, '$1'),
  );
  return parse(lines.join('\n'));
}

test('the keys allowed at a path are those of every form that its value may have', () => {
  expect(keysAt([])).toEqual(Object.keys(definitionSchema().properties ?? {}));
  expect(keysAt(['nodes', 0, 'batches', 1])).toEqual(['depth', 'ttl', 'immutable']);
  expect(keysAt(['prepare', 'uploads', 3])).toEqual(['node', 'size', 'path']);
  expect(keysAt(['topology'])).toEqual(['random', 'links']);
});

test('every key of the schema is described', () => {
  const silent = (at: JsonSchema, path: string): string[] => [
    ...Object.entries(at.properties ?? {}).flatMap(([key, value]) => {
      const inner = value as JsonSchema;
      return [
        ...(inner.description === undefined ? [`${path}${key}`] : []),
        ...silent(inner, `${path}${key}.`),
      ];
    }),
    ...[...(at.anyOf ?? []), ...(at.items === undefined ? [] : [at.items])].flatMap((one) =>
      silent(one as JsonSchema, path),
    ),
  ];
  expect(silent(definitionSchema(), '')).toEqual([]);
});

test('an editor can show what a key means, what it may be and what its default is', () => {
  const { properties = {} } = definitionSchema();
  expect(properties['dialect']).toMatchObject({
    description: 'API dialect of svc nodes; swarm is the dialect of a Bee.',
    enum: ['svc', 'swarm'],
    default: 'svc',
  });
  const [, groups] = (properties['nodes'] as JsonSchema).anyOf ?? [];
  const group = groups?.items as JsonSchema;
  expect(group.additionalProperties).toBe(false);
  expect(group.properties?.['mode']).toMatchObject({
    description: expect.stringContaining('full stores and forwards'),
    default: 'full',
  });
  const { properties: options = {} } = (group.properties?.['options'] ?? {}) as JsonSchema;
  expect(options['cache-capacity']).toMatchObject({
    description: 'chunks kept for repeated reads (chunks); default: 1000000',
  });
  expect(Object.keys(options)).not.toContain('data-dir');
});

test('nothing in the schema allows arbitrary values', () => {
  const walk = (at: JsonSchema): void => {
    for (const one of at.anyOf ?? []) {
      expect(Object.keys(one)).not.toEqual([]);
      walk(one);
    }
    for (const one of Object.values(at.properties ?? {})) walk(one as JsonSchema);
  };
  walk(definitionSchema());
});

test('the starter file names every key, is valid, and shows the defaults', () => {
  for (const path of keyPaths()) {
    const key = path.split('.').at(-1) ?? '';
    expect(CLUSTER_FILE, path).toMatch(new RegExp(`\\b${key}:|\\b${key}\\b.*\\(\\{`));
  }
  const defaults = parseDefinition({ name: 'local' }, 'options');
  expect(parseDefinition(parse(CLUSTER_FILE), 'cluster.yaml')).toEqual(defaults);
  const { nodes: groups, ...others } = complete() as { nodes: Record<string, unknown>[] };
  const { dishonest, ...honest } = groups[0] as Record<string, unknown>;
  expect(dishonest).toEqual(['wrong-data', 'forged-receipts']);
  const { preset, seed, credit, otlp, ...rest } = parseDefinition(
    { ...others, nodes: [honest], driver: 'docker' },
    'cluster.yaml',
  );
  expect([preset, seed, credit, otlp]).toEqual(['factory', 42n, 'high', 'http://127.0.0.1:4318']);
  const [group] = rest.nodes;
  expect(group).toMatchObject({ batches: defaults.batches, resources: { cpus: 1, memory: 512 * 2 ** 20 } });
  expect({ ...rest, nodes: [], driver: 'process' }).toEqual({ ...defaults, nodes: [] });
});
