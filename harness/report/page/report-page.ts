/**
 * `report.html`: one self-contained file, ordered as in `scenarios.md` 9. The script only draws from the embedded JSON, and
 * may load nothing.
 */
import { join } from 'node:path';
import type { PageBundle } from '../../web/pages/bundle.ts';
import { DATA_ID, type ReportPageData } from '../../web/report/page-data.ts';
import type { ReportMaterial } from '../material.ts';
import { type Headline, headlines, usageHeadlines } from '../measures.ts';
import { originOf, type RunResult, type ScenarioResult, titlesOf } from '../result.ts';
import { chartFrame, timelineCharts } from '../timeline-charts.ts';
import { embeddedJson, Html, html } from './html.ts';
import { messages } from './message-sections.ts';
import { durability, economics, network } from './network-sections.ts';
import { resources } from './resource-sections.ts';
import { environment, notRecorded, scenarioList, verdict, whatFailed } from './run-sections.ts';
import {
  assertions,
  errors,
  figures,
  headlineStrip,
  operations,
  parameters,
  slowest,
  timeline,
} from './scenario-sections.ts';

const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

export function reportPage(material: ReportMaterial, { script, style }: PageBundle): string {
  const { run, failures, used, baseline, messages: said } = material;
  const pictures = run.scenarios.flatMap(({ picture }) => (picture === undefined ? [] : [picture]));
  const data: ReportPageData = {
    scenarios: run.scenarios.map((scenario) => ({
      frame: chartFrame(run, scenario),
      charts: timelineCharts(scenario),
      picture: scenario.picture,
    })),
  };
  const titles = titlesOf(run.scenarios);
  const earlier = titlesOf(baseline?.scenarios ?? []);
  const before = (i: number) => baseline?.scenarios[earlier.indexOf(titles[i] ?? '')];
  const usage = run.scenarios.length === 1 ? usageHeadlines(run, used) : [];
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${run.passed ? '✔' : '✖'} ${run.scenarios.map(({ name }) => name).join(', ')} · seed ${run.seed} · svcnet</title>
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${verdict(run)}
<nav aria-label="Sections">${links(run.scenarios, failures.length)}</nav>
<main id="content">
${whatFailed(failures)}
${notRecorded(run)}
${scenarioList(run)}
${baseline !== undefined && html`<p class="muted">Changes are against run ${baseline.run}.</p>`}
${run.scenarios.map((scenario, i) => scenarioSection({ run, scenario, i, before: before(i), usage, said: said[i] }))}
${resources(used, [...new Set(run.scenarios.flatMap(({ folder }) => folder ?? []))])}
${environment(run, pictures)}
</main>
${embeddedJson(DATA_ID, data)}
<script>${new Html(script)}</script>
</body>
</html>
`;
  return page.markup;
}

function links(scenarios: readonly ScenarioResult[], failures: number): Html {
  return html`<ul>
${failures > 0 && html`<li><a href="#failures">What failed</a></li>`}
${scenarios.map(({ name }, i) => html`<li><a href="#scenario-${i}">${name}</a></li>`)}
<li><a href="#resources">Resources</a></li>
<li><a href="#environment">Environment</a></li>
</ul>`;
}

interface ScenarioPlace {
  readonly run: RunResult;
  readonly scenario: ScenarioResult;
  readonly i: number;
  readonly before: ScenarioResult | undefined;
  readonly usage: readonly Headline[];
  readonly said: ReportMaterial['messages'][number];
}

function scenarioSection({ run, scenario, i, before, usage, said }: ScenarioPlace): Html {
  const { name, result, skipReason } = scenario;
  const title = html`<h2>${name} <span class="result ${result}">${result}</span></h2>`;
  if (result === 'skipped' && scenario.assertions.length === 0)
    return html`<section id="scenario-${i}">${title}<p>${skipReason ?? 'Skipped.'}</p></section>`;
  return html`<section id="scenario-${i}">${title}
${skipReason !== undefined && html`<p>Skipped from here on: ${skipReason}</p>`}
${headlineStrip([...headlines(scenario), ...usage], before === undefined ? [] : headlines(before))}
${timeline(i, scenario, { ...chartFrame(run, scenario), isTapped: said !== undefined })}
${messages(i, said, { origin: originOf(run, scenario), folder: join(run.report, scenario.folder ?? '') })}
${operations(scenario)}
${errors(scenario)}
${slowest(scenario, originOf(run, scenario))}
${figures(scenario)}
${assertions(scenario)}
${network(i, scenario)}
${durability(scenario)}
${economics(scenario)}
${parameters(scenario)}
</section>`;
}
