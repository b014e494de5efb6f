import { clock, duration, moment } from '../../web/base/format.ts';
import type { NetworkPicture } from '../../web/picture/picture.ts';
import { alikeText } from '../alike.ts';
import { eventText, type Failure, type LogLine } from '../failures.ts';
import { type RunResult, type ScenarioResult, timeNote, unrecordedOf } from '../result.ts';
import { type Html, html, table } from './html.ts';

const WORDS = { passed: 'passed', failed: 'failed', error: 'could not run', skipped: 'skipped' } as const;

export function verdict(run: RunResult): Html {
  const of = (...results: ScenarioResult['result'][]) =>
    run.scenarios.filter(({ result }) => results.includes(result));
  const skipped = of('skipped');
  const counts = [
    `${of('passed').length} of ${run.scenarios.length - skipped.length} scenarios passed`,
    ...(skipped.length === 0 ? [] : [`${skipped.length} skipped`]),
  ];
  const checks = run.scenarios.flatMap(({ assertions }) => assertions);
  const held = checks.filter(({ passed }) => passed).length;
  return html`<header class="verdict ${run.passed ? 'good' : 'bad'}">
<p class="eyebrow">svcnet run <span class="mono">${run.run}</span></p>
<h1><span class="mark" aria-hidden="true">${run.passed ? '✔' : '✖'}</span> ${run.passed ? 'Passed' : 'Failed'}: ${run.scenarios.map(({ name }) => name).join(', ')}</h1>
<p>${counts.join(', ')} · ${held} of ${checks.length} assertions held · seed <strong>${run.seed}</strong> · ${run.driver} driver · <time datetime="${run.startedAt}">${moment(Date.parse(run.startedAt))}</time> · ${duration(run.durationMs)}</p>
${timeNote(run) !== undefined && html`<p>${timeNote(run)}</p>`}
<p class="command"><span>Repeat with</span> <code>${run.command}</code></p>
</header>`;
}

export function scenarioList(run: RunResult): Html | undefined {
  if (run.scenarios.length < 2) return undefined;
  const rows = run.scenarios.map((scenario, i) => [
    html`<a href="#scenario-${i}">${scenario.name}</a>`,
    html`<span class="result ${scenario.result}">${WORDS[scenario.result]}</span>`,
    `${scenario.assertions.filter(({ passed }) => passed).length} of ${scenario.assertions.length}`,
    duration(scenario.durationMs),
    scenario.skipReason ?? '',
  ]);
  const columns = [
    { title: 'scenario' },
    { title: 'result' },
    { title: 'assertions', number: true },
    { title: 'duration', number: true },
    { title: 'why skipped' },
  ];
  return html`<section id="scenarios"><h2>Scenarios</h2>${table('Scenarios', columns, rows)}</section>`;
}

export function whatFailed(failures: readonly Failure[]): Html | undefined {
  if (failures.length === 0) return undefined;
  return html`<section id="failures"><h2>What failed</h2>
${failures.map(failureCard)}
</section>`;
}

function failureCard(failure: Failure): Html {
  const { origin, title, alike, expected, observed, evidence, at, before, logs } = failure;
  const when =
    at === undefined ? undefined : html` at <strong>${clock(at - origin)}</strong> (${moment(at)})`;
  return html`<article class="failure">
<h3><span aria-hidden="true">✖</span> ${title}</h3>
<p class="where">scenario ${failure.scenario}${expected !== undefined && ': this condition was false'}${when}</p>
${alike.length > 0 && html`<p>${alikeText(alike)}</p>`}
<dl>${expected !== undefined && html`<dt>expected</dt><dd>${expected}</dd>`}${observed !== undefined && html`<dt>observed</dt><dd class="observed">${observed}</dd>`}</dl>
${before.length > 0 && html`<h4>What had happened before</h4><ul class="before">${before.map((event) => html`<li><span class="mono">${clock(event.at - origin)}</span> ${eventText(event, failure)}${at !== undefined && at > event.at && html` <span class="muted">– ${duration(at - event.at)} before</span>`}</li>`)}</ul>`}
${evidence !== undefined && html`<h4>Evidence</h4><pre tabindex="0" aria-label="Evidence">${evidence}</pre>`}
${logs.length > 0 && html`<h4>What nodes logged around then</h4>${logTable(logs, { origin, at: at ?? origin })}`}
</article>`;
}

function logTable(logs: readonly LogLine[], { origin, at }: { origin: number; at: number }): Html {
  const columns = [{ title: 'time' }, { title: 'node' }, { title: 'level' }, { title: 'message' }];
  const rows = logs.map((line) => [
    html`<span title="${duration(Math.abs(line.at - at))} ${line.at < at ? 'before' : 'after'} the failure">${clock(line.at - origin)}</span>`,
    line.part,
    html`<span class="level ${line.level}">${line.level}</span>`,
    html`<span class="mono">${line.text}</span>`,
  ]);
  return html`<div class="logs">${table('Log lines around the failure', columns, rows)}</div>`;
}

export function notRecorded(run: RunResult): Html | false {
  const lacks = unrecordedOf(run);
  if (lacks.length === 0) return false;
  return html`<section id="not-recorded"><h2>Not recorded</h2><ul>${lacks.map((text) => html`<li>${text}</li>`)}</ul></section>`;
}

export function environment(run: RunResult, pictures: readonly NetworkPicture[]): Html {
  const nodes = new Map<string, number>();
  for (const node of pictures[0]?.nodes ?? []) {
    const kind = `${node.flavour} ${node.mode}${node.version === null ? '' : ` ${node.version}`}`;
    nodes.set(kind, (nodes.get(kind) ?? 0) + 1);
  }
  const facts: [string, string][] = [
    ...Object.entries(run.environment).map(([name, value]): [string, string] => [
      TITLES[name] ?? name,
      String(value),
    ]),
    ...(nodes.size === 0
      ? []
      : [
          ['nodes', Array.from(nodes, ([kind, count]) => `${count} × ${kind}`).join(', ')] as [
            string,
            string,
          ],
        ]),
    ['driver', run.driver],
    ['started', moment(Date.parse(run.startedAt))],
    ['duration', duration(run.durationMs)],
    ['folder', run.report],
  ];
  return html`<section id="environment"><h2>Environment</h2><dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>`;
}

const TITLES: Readonly<Record<string, string>> = { node: 'Node.js', cpu: 'CPU', memory: 'memory' };
