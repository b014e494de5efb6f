import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import type { Cluster } from '../../../harness/cluster/cluster.ts';
import { servePage } from '../../../harness/inspect/live/page-server.ts';
import { partsOf } from '../../../harness/inspect/live/recorded/parts.ts';
import { RecordedView } from '../../../harness/inspect/live/recorded/recorded-view.ts';
import { recordingOf } from '../../../harness/inspect/live/recorded/recording.ts';
import { RecordedFigures } from '../../../harness/inspect/live/recorded-figures.ts';
import { readRun } from '../../../harness/report/read-run.ts';
import { chartFrame } from '../../../harness/report/timeline-charts.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import type { RunWatcher } from '../../../harness/run/run-options.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import type { Row } from '../../../harness/web/picture/live.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';
import { EventReader } from '../ui/event-reader.ts';

const folder = temporaryFolder('svcnet-played');
const stateDir = join(folder, 'state');

interface Seen {
  readonly at: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly state: string;
    readonly faults: readonly string[];
  }[];
  readonly row: Row;
}

/** What a run's page would show at each reading of its metrics. */
function witness(): { seen: Seen[]; watcher: RunWatcher } {
  const seen: Seen[] = [];
  const figures = new RecordedFigures({ isSimulated: true });
  let cluster: Cluster | undefined;
  return {
    seen,
    watcher: {
      follow: (followed) => void (cluster = followed),
      // The metrics are read once more after it.
      leave: () => undefined,
      scraped({ at, values }, ids) {
        const { nodes = [], faults } = cluster ?? {};
        const names = nodes.map(({ name }) => name);
        const { row } = figures.add({ at, read: (number) => values.get(number) }, ids, names);
        const of = (name: string) =>
          (faults?.active ?? []).filter(({ targets }) => targets.includes(name)).map(({ text }) => text);
        // By now all have answered.
        seen.push({
          at: cluster?.clock.now() ?? at,
          row,
          nodes: nodes.map(({ name, state }) => ({ name, state, faults: of(name) })),
        });
      },
    },
  };
}

test('the record of a storm that failed shows what its page showed, wherever the folder is', async () => {
  const { seen, watcher } = witness();
  const report = join(folder, 'storm');
  const run = await runScenarios({
    planned: planScenarios(
      [await loadScenario('storm')],
      new Map([
        ['duration', '15s'],
        ['faults', 'kill,pause,slow'],
        ['fault-every', '3s'],
        ['fault-for', '2s'],
      ]),
    ),
    nodes: 3,
    definition: { driver: 'simulated' },
    seed: 7n,
    stateDir,
    report,
    name: 'storm',
    command: 'none',
    signal: new AbortController().signal,
    watcher,
    observe: (context) => async () =>
      void context.expect('the moon is full', false, { observed: 'half', expected: 'full' }),
  });
  expect(run.passed).toBe(false);
  const states = new Set(seen.flatMap(({ nodes }) => nodes.map(({ state }) => state)));
  expect([...states].toSorted()).toEqual(['killed', 'paused', 'running']);
  const copied = join(folder, 'from-elsewhere');
  renameSync(report, copied);
  const parts = await partsOf(readRun(copied));
  const page = await servePage(
    { port: 0 },
    {
      clock: MACHINE_CLOCK,
      assets: new Map(),
      watcher: (told) => new RecordedView(parts, { ...told, clock: MACHINE_CLOCK }),
    },
  );
  onTestFinished(() => page.close());
  await using reader = new EventReader(page.url);
  const ask = async (action: string) =>
    (await fetch(`${page.url}control/${action}`, { method: 'POST' })).status;
  const { cluster } = await reader.until('it is there', () => true);
  // The last reading is answered after the end.
  const within = seen.filter(({ at }) => at <= (cluster.played?.toMs ?? 0));
  expect(within.length).toBeGreaterThan(10);
  for (const { at, nodes, row } of within.toReversed()) {
    expect(await ask(`seek-${at}`)).toBe(200);
    const model = await reader.until(`it stands at ${at}`, ({ time }) => time?.nowMs === at);
    expect(model.nodes.map(({ name, state, faults = [] }) => ({ name, state, faults }))).toEqual(nodes);
    expect(model.rows.at(-1)).toEqual(row);
  }
  expect(await ask('failure')).toBe(200);
  await reader.until('the failure is shown', ({ events }) =>
    events.some(
      ({ kind, text }) => kind === 'failure' && text.includes('the moon is full: half, expected full'),
    ),
  );
});

test('each cluster of a run is played for itself, though all simulated ones begin at the same instant', async () => {
  const scenarios = [await loadScenario('upload'), await loadScenario('storm')];
  const run = await runScenarios({
    planned: planScenarios(scenarios, new Map([['duration', '2s']])),
    nodes: 3,
    definition: { driver: 'simulated' },
    seed: 7n,
    stateDir,
    report: join(folder, 'two'),
    name: 'two',
    command: 'none',
    signal: new AbortController().signal,
  });
  const parts = await partsOf(readRun(run.report));
  expect(parts.map(({ originMs }) => originMs - (parts[0]?.originMs ?? 0))).toEqual([0, 0]);
  const steps = parts.map((_, place) => recordingOf(parts, place).steps.map(({ text }) => text));
  expect(steps[0]).toContain('upload');
  expect(steps[0]).not.toContain('storm');
  expect(steps[1]).toContain('storm');
  expect(steps[1]).not.toContain('upload');
  const times = parts.map(({ columns, rows: [from, to] }) => [...(columns?.times.slice(from, to) ?? [])]);
  for (const own of times) {
    expect(own.length).toBeGreaterThan(0);
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }
  const [upload] = run.scenarios;
  if (upload === undefined) throw new Error('no scenario');
  expect(chartFrame(run, upload).marks.map(({ text }) => text)).not.toContainEqual(
    expect.stringMatching(/^(short batch|storm)/),
  );
});

test('a run that is not there, or beside a cluster, is refused', async () => {
  const gone = await svcnetHere(['ui', '--run', 'gone'], { stateDir });
  expect(gone).toMatchObject({ code: 2, stderr: expect.stringContaining("no run 'gone'") });
  const both = await svcnetHere(['ui', '--run', 'last', '--name', 'net'], { stateDir });
  expect(both).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--run and --name exclude each other'),
  });
});
