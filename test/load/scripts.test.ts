import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerEntry } from '../../harness/inspect/ledger/ledger.ts';
import { failed, LoadKit } from './kit.ts';

const kit = new LoadKit();
beforeAll(() => kit.start());
afterAll(() => kit.stop());

function ledgerOf(folder: string): LedgerEntry[] {
  const text = readFileSync(join(folder, 'ledger.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LedgerEntry);
}

test.each([
  ['upload', { sizes: '1B..40KiB' }, ['upload'], 'bytes'],
  ['upload', { sizes: '9KiB', mode: 'deferred' }, ['upload'], 'bytes'],
  ['upload', { sizes: '9KiB', redundancy: '1' }, ['upload'], 'bytes'],
  ['directory', { sizes: '20KiB', files: '4' }, ['directory'], 'collection'],
  ['chunks', { sizes: '300KiB', rate: '3/s' }, ['chunks'], 'chunk'],
  ['chunks', { sizes: '9KiB', mode: 'deferred' }, ['chunks'], 'chunk'],
  ['feeds', {}, ['update', 'read'], 'feed-update'],
] as const)(
  '%s with %j: everything acknowledged is in the ledger and on the network',
  async (script, set, names, kind) => {
    const { load, folder } = await kit.load({ script, ...set });
    expect(failed(load)).toEqual([]);
    expect(load.result).toBe('passed');
    expect(new Set(load.metrics.map(({ operation }) => operation))).toEqual(new Set(names));
    const writes = load.metrics.filter(({ operation }) => operation === names[0]);
    const entries = ledgerOf(folder);
    expect(entries).toHaveLength(writes.reduce((sum, { count }) => sum + count, 0));
    expect(new Set(entries.map((entry) => entry.kind))).toEqual(new Set([kind]));
    expect(load.ledger.acknowledged).toBeGreaterThan(0);
    expect(load.ledger).toMatchObject({ missing: 0, found: load.ledger.acknowledged });
  },
);

test.each([{ reads: 'zipf:1.1' }, { reads: 'cold' }])(
  'download with %j compares everything that it reads',
  async (set) => {
    const { load } = await kit.load({ script: 'download', sizes: '4KiB..16KiB', ...set });
    expect(failed(load)).toEqual([]);
    expect(load.metrics.every(({ operation, errors }) => operation === 'download' && errors === 0)).toBe(
      true,
    );
  },
);

test('mixed reads and writes', async () => {
  const { load } = await kit.load({
    script: 'mixed',
    readShare: '50',
    sizes: 'lognormal:8KiB',
    rate: '15/s',
  });
  expect(failed(load)).toEqual([]);
  expect(new Set(load.metrics.map(({ operation }) => operation))).toEqual(new Set(['upload', 'download']));
});

test('messages are sent and delivered', async () => {
  const { load } = await kit.load({ script: 'messages', rate: '4/s' });
  expect(failed(load)).toEqual([]);
  expect(new Set(load.metrics.map(({ operation }) => operation))).toEqual(
    new Set(['subscribe', 'send', 'deliver']),
  );
});

test('encrypted uploads are read back, and the report says what cannot be checked', async () => {
  const { load } = await kit.load({ script: 'upload', encrypt: 'true', sizes: '9KiB', rate: '4/s' });
  expect(failed(load)).toEqual([]);
  expect(load.unchecked?.join()).toContain('encrypted references');
  expect(load.assertions.some(({ name }) => name.includes('reads an encrypted upload'))).toBe(true);
});

test.each([
  ['constant', { rate: '10/s' }, 30],
  ['ramp', { rate: '20/s' }, 33],
  ['spike', { rate: '20/s', duration: '5s' }, 28],
  ['soak', { rate: '10/s' }, 28],
] as const)('%s in an open model starts as many iterations as its area', async (profile, set, count) => {
  const { load } = await kit.load({ profile, sizes: '4KiB', ...set });
  expect(failed(load)).toEqual([]);
  const uploads = load.metrics.reduce((sum, row) => sum + row.count, 0);
  expect(Math.abs(uploads - count)).toBeLessThanOrEqual(2);
});

test.each(['constant', 'ramp', 'spike', 'soak'])('%s works in a closed model', async (profile) => {
  const { load } = await kit.load({ profile, vus: '3', sizes: '4KiB', duration: '4s' });
  expect(failed(load)).toEqual([]);
  expect(load.metrics.reduce((sum, row) => sum + row.count, 0)).toBeGreaterThan(3);
});

test('a warm-up is in the ledger, but not in the figures', async () => {
  const { load, folder } = await kit.load({ sizes: '4KiB', warmup: '2s' });
  expect(failed(load)).toEqual([]);
  const uploads = load.metrics.reduce((sum, row) => sum + row.count, 0);
  expect(Math.abs(uploads - 30)).toBeLessThanOrEqual(1);
  expect(ledgerOf(folder).length).toBeGreaterThanOrEqual(uploads + 19);
});

test('uploads go to a single node when it is named', async () => {
  const { load } = await kit.load({ sizes: '4KiB', node: 'node-1' });
  expect(failed(load)).toEqual([]);
  expect(load.metrics.map(({ node }) => node)).toEqual(['node-1']);
});

test('a user script may use the helper library', async () => {
  const script = join(kit.folder, 'own.js');
  writeFileSync(
    script,
    `import { ask, nodes, operation, upload } from 'svcnet/k6';
export const options = { vus: 2, duration: '2s' };
export default async function () {
  await upload({ size: 5000 });
  await operation('health', nodes[0].name, () => {
    const { ms } = ask(nodes[0], { method: 'GET', path: '/health' }, 'text');
    return { bytes: 0, ms };
  });
}
`,
  );
  const { load } = await kit.load({ script });
  expect(failed(load)).toEqual([]);
  expect(new Set(load.metrics.map(({ operation }) => operation))).toEqual(new Set(['upload', 'health']));
  expect(load.ledger.acknowledged).toBeGreaterThan(0);
  expect(load.ledger.missing).toBe(0);
});

test('a user script that knows nothing of svcnet works unchanged', async () => {
  const script = join(kit.folder, 'plain.js');
  writeFileSync(
    script,
    `import http from 'k6/http';
import { check } from 'k6';
export const options = { thresholds: { checks: ['rate>0.99'] } };
export default function () {
  check(http.get('${kit.cluster.node(1).api}/health'), { ok: (answer) => answer.status === 200 });
}
`,
  );
  const { load } = await kit.load({ script, rate: '20/s', thresholds: 'p95<30s,rate>=1/s' });
  expect(failed(load)).toEqual([]);
  expect(load.metrics).toHaveLength(1);
  expect(load.metrics[0]).toMatchObject({ operation: 'GET /health', node: 'node-1', errors: 0 });
  expect(load.assertions.map(({ name }) => name)).toContain('threshold checks rate>0.99 of the script');
});

test('requests to ever other paths are one operation, and their samples do not stay', async () => {
  const script = join(kit.folder, 'paths.js');
  const { api } = kit.cluster.node(1);
  const lines = [
    `import http, { post } from 'k6/http';`,
    `export const options = { thresholds: { 'http_reqs{named:yes}': ['count>0'] } };`,
    'export default function () {',
    '  http.setResponseCallback(http.expectedStatuses({ min: 200, max: 499 }));',
    `  http.get(\`${api}/x\${__VU}\${__ITER}0/\${Math.random()}\`, { tags: { named: 'yes' } });`,
    `  http.get(http.url\`${api}/health?n=\${__ITER}\`);`,
    `  post(\`${api}/bytes/\${Math.random()}\`, 'x');`,
    `  http.batch([['GET', '${api}/node'], { method: 'DELETE', url: \`${api}/tags/\${__ITER}\` }, '${api}/health']);`,
    '}',
  ];
  writeFileSync(script, lines.join('\n'));
  const { load, folder } = await kit.load({ script, duration: '2s' });
  expect(failed(load)).toEqual([]);
  expect(load.metrics.map(({ operation, node }) => `${operation} ${node}`).toSorted()).toEqual([
    'DELETE /tags node-1',
    'GET /* node-1',
    'GET /health node-1',
    'GET /node node-1',
    'POST /bytes node-1',
  ]);
  expect(existsSync(join(folder, 'k6', 'samples.json'))).toBe(false);
  const { metrics } = JSON.parse(readFileSync(join(folder, 'k6', 'summary.json'), 'utf8')) as {
    metrics: object;
  };
  expect(Object.keys(metrics)).toContain('http_reqs{named:yes}');
});

test('exceptions fail a load whose every operation succeeds, and so does a threshold without a sample', async () => {
  const script = join(kit.folder, 'throws.js');
  const lines = [
    `import { upload } from 'svcnet/k6';`,
    `export const options = { thresholds: { checks: ['rate>0.9'] } };`,
    'export default async function () {',
    '  const done = await upload({ size: 100 });',
    '  done.nothing.there;',
    '}',
  ];
  writeFileSync(script, lines.join('\n'));
  const { load } = await kit.load({ script, duration: '1s' });
  expect(load.metrics.every(({ errors }) => errors === 0)).toBe(true);
  expect(load.figures).toContainEqual(
    expect.objectContaining({ name: 'iterations without errors', value: 0 }),
  );
  expect(failed(load)).toEqual([
    expect.stringMatching(/^no iteration ends by an exception: \d+ iterations ended by an exception/),
    'threshold checks rate>0.9 of the script: no data: no sample of checks',
  ]);
  const { evidence } = load.assertions.find(({ name }) => name.startsWith('no iteration')) ?? {};
  expect(evidence).toContain(`${script}:5:`);
});

test('a setup() that throws is an error with its own words', async () => {
  const script = join(kit.folder, 'setup.js');
  writeFileSync(
    script,
    `export function setup() { throw new Error('the database is not there'); }\nexport default function () {}\n`,
  );
  const { load } = await kit.load({ script, duration: '1s' });
  expect(load.result).toBe('error');
  expect(load.error).toContain('Error: the database is not there');
});
