import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test, vi } from 'vitest';
import { UNITS } from '../../../dashboards/board.ts';
import { BOARDS } from '../../../dashboards/boards.ts';
import { generatedFiles } from '../../../dashboards/generate.ts';
import { dashboard } from '../../../dashboards/grafana.ts';
import { ALERT_RULES, RECORDING_RULES } from '../../../dashboards/rules.ts';
import { TestbedMetrics } from '../../../harness/metrics/testbed.ts';
import { createProcessMetrics } from '../../../node/env/process-metrics.ts';
import { readSources } from '../source-tree.ts';

const FOLDER = 'dashboards/generated';
const OF_SCRAPES = ['up', 'scrape_duration_seconds'];

const panels = BOARDS.flatMap(({ title, rows }) =>
  rows.flatMap(({ panels: row }) => row.map((panel) => ({ where: `${title} / ${panel.title}`, panel }))),
);
const queries = panels.flatMap(({ where, panel }) =>
  ('queries' in panel ? panel.queries : [panel.query]).map((query) => ({ where, ...query })),
);

/** Those of nodes stand behind `NODE_`. */
const known = new Set<string>(OF_SCRAPES);

beforeAll(async () => {
  for (const { path } of readSources().filter(({ text }) => /kind: '(counter|gauge|histogram)'/.test(text))) {
    const tables = Object.values((await import(pathToFileURL(path).href)) as object) as unknown[];
    for (const table of tables.filter((each) => typeof each === 'object' && each !== null)) {
      for (const spec of Object.values(table) as ({ kind?: string; name?: string } | undefined)[]) {
        if (spec?.kind === undefined) continue;
        known.add(`NODE_${spec.name}`);
        if (spec.kind === 'histogram') known.add(`NODE_${spec.name}_bucket`);
      }
    }
  }
  const ofProcess = createProcessMetrics();
  // Delays are known from the second exposition on.
  const texts = await vi.waitUntil(async () => {
    const series = await ofProcess();
    return series.some((text) => text.includes('nodejs_eventloop_lag_p99_seconds')) && series;
  });
  for (const text of [await new TestbedMetrics('any').expose(), ...texts]) {
    for (const [, name = '', kind] of text.matchAll(/^# TYPE (\S+) (\w+)$/gm)) {
      known.add(name);
      if (kind === 'histogram') for (const part of ['_bucket', '_sum', '_count']) known.add(`${name}${part}`);
    }
  }
  for (const { record } of RECORDING_RULES) known.add(record);
});

function metricsIn(expr: string): string[] {
  const ofNodes = [...expr.matchAll(/__name__=~"(?:\$\{namespace\}|\(svc\|bee\))_(\w+)"/g)];
  const named = expr
    .replaceAll(/"[^"]*"/g, '')
    // Recording rules have colons.
    .replaceAll(/\b\w+:[\w:]+/g, '')
    .matchAll(/\b((?:testbed|process|nodejs)_\w+|up(?=\{)|scrape_\w+)/g);
  return [...ofNodes.map(([, name]) => `NODE_${name}`), ...Array.from(named, ([name]) => name)];
}

test('the committed files are what the boards and rules generate: npm run dashboards', () => {
  const files = generatedFiles();
  expect(readdirSync(FOLDER).toSorted()).toEqual([...files.keys()].toSorted());
  for (const [name, content] of files) expect(readFileSync(join(FOLDER, name), 'utf8'), name).toBe(content);
});

test('every panel describes itself in sentences', () => {
  const wrong = panels.filter(({ panel }) => !/^[A-Z].*\.$/s.test(panel.about)).map(({ where }) => where);
  expect(wrong).toEqual([]);
});

test('every panel has a unit, and every query a legend', () => {
  for (const { panel, where } of panels) expect(UNITS, where).toHaveProperty(panel.unit);
  expect(queries.filter(({ legend }) => legend === '').map(({ where }) => where)).toEqual([]);
});

test('the titles of a board differ, and so do the addresses of boards', () => {
  expect(new Set(panels.map(({ where }) => where)).size).toBe(panels.length);
  expect(new Set(BOARDS.map(({ uid }) => uid)).size).toBe(BOARDS.length);
});

test('no panel reaches beyond the 24 columns', () => {
  const boards = BOARDS.map((board) => dashboard(board));
  const places = boards.flatMap(({ panels: placed = [] }) => placed.map(({ gridPos }) => gridPos));
  expect(places.filter((place) => place === undefined || place.x + place.w > 24)).toEqual([]);
});

test('every metric that a board or a rule uses exists in nodes or the harness', () => {
  const rules = [
    ...RECORDING_RULES.map(({ record, expr }) => ({ where: record, expr })),
    ...ALERT_RULES.map(({ alert, value, condition }) => ({ where: alert, expr: `${value} ${condition}` })),
  ];
  const unknown = [...queries, ...rules].flatMap(({ where, expr }) => {
    const names = metricsIn(expr);
    const ofRules = rules.some((rule) => rule.where === where) && /\b\w+:\w+:\w+/.test(expr);
    if (names.length === 0 && !ofRules) return [`${where} asks for no metric`];
    return names.filter((name) => !known.has(name)).map((name) => `${where} asks for ${name}`);
  });
  expect(unknown).toEqual([]);
});

test('every window follows the scrapes of Prometheus, or the time that is shown', () => {
  const marks = BOARDS.flatMap((board) => dashboard(board).annotations?.list ?? []);
  const exprs = [...queries.map(({ expr }) => expr), ...marks.map(({ expr }) => expr ?? '')];
  const windows = exprs.flatMap((expr) =>
    [...expr.matchAll(/\[([^\]]+)\]|offset ([^\s)]+)/g)].map(([text]) => text),
  );
  expect(new Set(windows)).toEqual(
    // A value before a restart is looked for up to an hour back.
    new Set(['[$__rate_interval]', '[$__range]', 'offset $__rate_interval', '[1h]']),
  );
  // Grafana would take them for the time between two scrapes.
  expect(
    marks.filter((mark) => mark.step !== undefined || Object.hasOwn(mark.target ?? {}, 'interval')),
  ).toEqual([]);
});

test('a percentile is computed from buckets and never averaged', () => {
  const averaged = queries.filter(
    ({ expr }) => /\bavg/.test(expr) || (expr.includes('histogram_quantile') && !/_bucket[,"{]/.test(expr)),
  );
  expect(averaged.map(({ where }) => where)).toEqual([]);
});
