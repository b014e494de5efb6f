import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { metObjective, runLimit } from '../../harness/run/load/limit/limit-run.ts';
import { generatorOf, limitersOf } from '../../harness/run/load/limit/limiter.ts';
import { observationBetween, sampleOf } from '../../harness/run/load/limit/observation.ts';
import { runLoadStep } from '../../harness/run/load/load-run.ts';
import { LOAD_PARAMETERS, loadPlan } from '../../harness/run/load/parameters.ts';
import type { LoadPlan } from '../../harness/run/load/plan.ts';
import { prepareLoad } from '../../harness/run/load/prepare.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/**
 * Per second; stands in for a network: a known limit on any machine. No load is shorter than five seconds, and has the
 * samples for its percentile from 20/s on; k6 keeps five users ready for each.
 */
const CAPACITY = 20;

const folder = temporaryFolder('svcnet-limit');
let cluster: Cluster;
const servers: Server[] = [];

beforeAll(async () => {
  cluster = await Cluster.start({
    name: 'limit',
    driver: 'embedded',
    nodes: 2,
    seed: 5,
    stateDir: join(folder, 'state'),
  });
});

afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await cluster.stop();
});

/** @returns its URL; it answers one request at a time, as fast as its capacity allows */
async function slowServer(): Promise<string> {
  let freeAtMs = 0;
  const server = createServer((_, response) => {
    freeAtMs = Math.max(performance.now(), freeAtMs) + 1000 / CAPACITY;
    setTimeout(() => response.end('done'), freeAtMs - performance.now());
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

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

test('the limit of a server with a known capacity is found twice, to within a fifth', async () => {
  // A search takes a minute.
  const searches = ['first', 'second'].map(async (name) => {
    const script = join(folder, `${name}.js`);
    const url = await slowServer();
    writeFileSync(
      script,
      `import http from 'k6/http';\nexport default function () { http.get('${url}'); }\n`,
    );
    const { limit } = await search(planOf(script, 'p95<600ms', `${CAPACITY}/s`), name);
    expect(limit.end).toBe('found');
    return limit.rate as number;
  });
  const [first = 0, second = 0] = await Promise.all(searches);
  expect(Math.max(first, second) / Math.min(first, second)).toBeLessThan(1.2);
  expect(Math.abs(first / CAPACITY - 1)).toBeLessThan(0.25);
});

test('the limit of an overloaded cluster is named, and is not k6', async () => {
  const plan: LoadPlan = { ...planOf('upload', 'p95<150ms', '300/s'), durationMs: 5000, label: 'too much' };
  const { signal } = new AbortController();
  const prepared = await prepareLoad(cluster, plan, { signal });
  const before = await sampleOf(cluster);
  const load = await runLoadStep(cluster, plan, { signal, folder: join(folder, 'too-much'), prepared });
  const after = await sampleOf(cluster);
  const loadMs = load.endMs - load.startMs + plan.warmupMs;
  const observation = await observationBetween(cluster, { before, after, loadMs, k6Cores: load.k6Cpu });
  expect(metObjective(load)).toBe(false);
  expect(generatorOf(observation)).toBeUndefined();
  const limiters = limitersOf(observation);
  console.log(limiters.map(({ text }) => text).join('\n'));
  expect(limiters.length).toBeGreaterThan(0);
  for (const { text } of limiters) expect(text).toMatch(/\d/);
});
