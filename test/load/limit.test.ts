/** The search for a limit with the real k6. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { runLimit } from '../../harness/load/limit/limit-run.ts';
import { LOAD_PARAMETERS, loadPlan } from '../../harness/load/parameters.ts';
import type { LoadPlan } from '../../harness/load/plan.ts';

/** Answers per second of the server that stands in for a network: a limit that is known, on any machine. */
const CAPACITY = 40;

const folder = mkdtempSync(join(tmpdir(), 'svcnet-limit-'));
let cluster: Cluster;
let server: Server;

beforeAll(async () => {
  cluster = await Cluster.start({
    name: 'limit',
    driver: 'embedded',
    nodes: 2,
    seed: 5,
    stateDir: join(folder, 'state'),
  });
  let freeAtMs = 0;
  server = createServer((_, response) => {
    freeAtMs = Math.max(performance.now(), freeAtMs) + 1000 / CAPACITY;
    setTimeout(() => response.end('done'), freeAtMs - performance.now());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await cluster.stop();
  rmSync(folder, { recursive: true });
});

function planOf(
  script: string,
  objective: string,
  rate: string,
  more: Partial<typeof LOAD_PARAMETERS> = {},
): LoadPlan {
  const defaults = Object.fromEntries(
    Object.entries({ ...LOAD_PARAMETERS, ...more }).map(([key, spec]) => [key, spec.default]),
  );
  return loadPlan(
    { ...defaults, script, rate, findLimit: objective } as unknown as Parameters<typeof loadPlan>[0],
    1n,
  );
}

function search(plan: LoadPlan, name: string) {
  const seen: string[] = [];
  const found = runLimit(cluster, plan, {
    signal: AbortSignal.timeout(500_000),
    folder: join(folder, name),
    async around(title, work) {
      const done = await work(() => undefined);
      seen.push(`${title} ${done.outcome}`);
      return done;
    },
  });
  return found.finally(() => console.log(`${name}: ${seen.join(', ')}`));
}

test('the limit of a server with a known capacity is found twice within a fifth', async () => {
  const script = join(folder, 'answers.js');
  const { port } = server.address() as AddressInfo;
  writeFileSync(
    script,
    `import http from 'k6/http';\nexport default function () { http.get('http://127.0.0.1:${port}/'); }\n`,
  );
  const plan = planOf(script, 'p95<600ms', '20/s');
  const rates: number[] = [];
  for (const name of ['first', 'second']) {
    const { limit } = await search(plan, name);
    expect(limit.end).toBe('found');
    rates.push(limit.rate as number);
  }
  const [first = 0, second = 0] = rates;
  expect(Math.max(first, second) / Math.min(first, second)).toBeLessThan(1.2);
  expect(Math.abs(first / CAPACITY - 1)).toBeLessThan(0.25);
}, 600_000);

test('the limit of a cluster is named, and k6 is not it', async () => {
  const plan = planOf('upload', 'p95<150ms', '40/s');
  const { limit, limiters } = await search(plan, 'cluster');
  expect(['found', 'none']).toContain(limit.end);
  expect(limiters.length).toBeGreaterThan(0);
  for (const { text } of limiters) expect(text).toMatch(/\d/);
}, 600_000);
