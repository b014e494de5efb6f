import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MACHINE_CLOCK } from '../../harness/base/machine/clock.ts';
import { createRecorder } from '../../harness/metrics/recorder.ts';
import type { SeriesId } from '../../harness/metrics/series.ts';
import { SeriesFile } from '../../harness/metrics/series-file.ts';
import type { RunEvent, RunResult, ScenarioResult } from '../../harness/report/result.ts';
import type { NetworkPicture, PictureLink } from '../../harness/web/picture/picture.ts';

const START_MS = Date.UTC(2026, 10, 22, 12);

/** Reproducible numbers. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export interface Size {
  readonly nodes: number;
  readonly seconds: number;
}

/** All nodes are linked to each other. @param folder gets its series and logs */
export async function longRun(folder: string, { nodes, seconds }: Size): Promise<RunResult> {
  const random = generator(7);
  const names = Array.from({ length: nodes }, (_, i) => `node-${i}`);
  const recorder = createRecorder(MACHINE_CLOCK, () => 'unknown');
  for (let second = 0; second < seconds; second++) {
    for (const operation of ['upload file', 'download file', 'upload chunk', 'download chunk']) {
      const node = names[Math.floor(random() * nodes)] as string;
      const latencyMs = 5 + 60 * random() ** 4 * (operation.endsWith('file') ? 10 : 1);
      const endMs = START_MS + second * 1000 + random() * 900;
      const bytes = operation.endsWith('file') ? 1_000_000 : 4096;
      recorder.succeeded({ operation, node }, { endMs, latencyMs, bytes, subject: 'ab'.repeat(32) });
    }
    if (random() < 0.01)
      recorder.failed(
        { operation: 'download file', node: names[0] as string },
        { endMs: START_MS + second * 1000, class: 'client.timeout', message: 'no answer within 10 s' },
      );
  }
  await writeSeries(folder, names, seconds);
  const faults = Array.from({ length: 12 }, (_, i): RunEvent => {
    const at = START_MS + ((i + 0.5) * seconds * 1000) / 12;
    return {
      kind: 'fault',
      at,
      endAt: at + seconds * 20,
      part: `node-${i % nodes}`,
      text: `node-${i % nodes} was paused`,
    };
  });
  const phases = ['warm-up', 'load', 'verify'].map((text, i): RunEvent => {
    const [from, to] = [[0, 0.05, 0.95][i] as number, [0.05, 0.95, 1][i] as number];
    return {
      kind: 'phase',
      at: START_MS + from * seconds * 1000,
      endAt: START_MS + to * seconds * 1000,
      text,
    };
  });
  const scenario: ScenarioResult = {
    name: 'mixed-load',
    result: 'passed',
    durationMs: seconds * 1000,
    startedAt: START_MS,
    assertions: [
      {
        name: 'every acknowledged chunk is held by a node',
        passed: true,
        observed: '0 missing',
        expected: '0 missing',
      },
    ],
    metrics: recorder.summaries(),
    timelines: recorder.timelines(),
    slowest: recorder.slowest(),
    figures: [{ name: 'cheques sent', value: '12345678901234567890', unit: 'token units' }],
    parameters: { duration: '1h', rate: '4/s' },
    ledger: { acknowledged: 100_000, found: 100_000, missing: 0 },
    picture: picture(names, random),
  };
  return {
    run: 'long',
    seed: 7,
    driver: 'process',
    passed: true,
    startedAt: new Date(START_MS).toISOString(),
    durationMs: seconds * 1000,
    command: 'svcnet run mixed-load --seed 7',
    scenarios: [scenario],
    events: [...phases, ...faults].toSorted((a, b) => a.at - b.at),
    environment: { svcnet: '0.1.0', node: process.version, cores: 2 },
    report: folder,
  };
}

async function writeSeries(folder: string, names: readonly string[], seconds: number): Promise<void> {
  const random = generator(11);
  const ids = names.flatMap((node): SeriesId[] => [
    { name: 'testbed_node_cpu_seconds_total', labels: { node }, kind: 'counter' },
    { name: 'testbed_node_rss_bytes', labels: { node }, kind: 'gauge' },
    { node, name: 'nodejs_eventloop_lag_p99_seconds', labels: {}, kind: 'gauge' },
  ]);
  const traffic = ['retrieval', 'pushsync', 'pullsync'].map(
    (protocol): SeriesId => ({
      name: 'testbed_network_bytes_total',
      labels: { protocol, direction: 'sent' },
      kind: 'counter',
    }),
  );
  const all = [...ids, ...traffic];
  const file = new SeriesFile(folder);
  const cpu = new Map<number, number>();
  for (let second = 0; second < seconds; second += 5) {
    const values = new Map<number, number>();
    for (const [i, { name }] of all.entries()) {
      cpu.set(i, (cpu.get(i) ?? 0) + random());
      if (name.endsWith('cpu_seconds_total')) values.set(i, cpu.get(i) as number);
      else if (name.endsWith('rss_bytes')) values.set(i, 90e6 + second * 5000 + random() * 1e6);
      else if (name.endsWith('bytes_total')) values.set(i, (second + 1) * 1e5 * (i + 1));
      else values.set(i, 0.002 + random() ** 6 * 0.2);
    }
    await file.append({ at: START_MS + second * 1000, values }, all);
  }
}

function picture(names: readonly string[], random: () => number): NetworkPicture {
  const digits = () => Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('');
  const links = names.flatMap((a, i) =>
    names.slice(i + 1).map(
      (b): PictureLink => ({
        a,
        b,
        connected: true,
        balance: String(Math.floor((random() - 0.5) * 1e8)),
        chequesFromA: random() < 0.05 ? String(Math.floor(random() * 1e12)) : '0',
        chequesFromB: '0',
        timeFromA: String(Math.floor(random() * 1e7)),
        timeFromB: '0',
      }),
    ),
  );
  return {
    at: new Date(START_MS).toISOString(),
    cluster: 'long',
    height: 1200,
    links,
    nodes: names.map((name, i) => ({
      name,
      overlay: digits(),
      flavour: i % 10 === 9 ? 'bee' : 'svc',
      mode: i % 8 === 7 ? 'light' : 'full',
      state: 'running',
      answers: true,
      version: '0.1.0',
      depth: 3,
      storageRadius: 3,
      reserve: Math.floor(random() * 20_000),
      cache: 100,
      waiting: 0,
      block: 1200,
      chequebook: { total: '1000000', available: '900000' },
      peers: names.filter((other) => other !== name),
    })),
  };
}

/** Every name tries to become an element. */
export async function hostileRun(folder: string): Promise<RunResult> {
  const evil = `</script><script>document.title='owned'</script><img src=x onerror="document.title='owned'">"'&`;
  const run = await longRun(folder, { nodes: 3, seconds: 3 });
  await mkdir(join(folder, 'logs'), { recursive: true });
  await writeFile(join(folder, 'logs', 'node-0.log'), '');
  await appendFile(
    join(folder, 'logs', 'node-0.log'),
    `${JSON.stringify({ level: 'error', time: new Date(START_MS + 500).toISOString(), module: evil, msg: evil, peer: evil })}\n${evil}\n`,
  );
  const [scenario] = run.scenarios as [ScenarioResult];
  const drawn = scenario.picture as NetworkPicture;
  const hostile: ScenarioResult = {
    ...scenario,
    name: evil,
    result: 'failed',
    assertions: [
      { name: evil, passed: false, observed: evil, expected: evil, evidence: evil, at: START_MS + 600 },
    ],
    metrics: scenario.metrics.map((row) => ({
      ...row,
      operation: evil,
      errorClasses: { [evil]: 1 },
      errorExamples: { [evil]: evil },
    })),
    timelines: scenario.timelines.map((one) => ({ ...one, operation: evil })),
    slowest: [{ operation: evil, node: evil, ms: 1, endMs: START_MS, subject: evil }],
    figures: [{ name: evil, of: evil, value: '1', unit: evil }],
    parameters: { [evil]: evil },
    unchecked: [evil],
    ledger: {
      acknowledged: 1,
      found: 0,
      missing: 1,
      losses: [{ chunk: evil, reference: evil, uploader: evil, batch: evil, closest: evil }],
    },
    picture: {
      ...drawn,
      cluster: evil,
      nodes: drawn.nodes.map((node) => ({
        ...node,
        name: `${node.name}${evil}`,
        state: evil,
        version: evil,
        flavour: evil,
      })),
      links: [],
    },
  };
  return {
    ...run,
    run: evil,
    command: evil,
    passed: false,
    environment: { [evil]: evil },
    events: [{ kind: 'fault', at: START_MS, part: 'node-0', text: evil }],
    scenarios: [hostile],
  };
}
