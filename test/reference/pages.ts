/** Pages are made from the tables that the code itself uses. */
import { durationText } from '../../formats/units.ts';
import {
  definitionSchema,
  type JsonSchema,
  keyPaths,
} from '../../harness/cluster/plan/editor/json-schema.ts';
import { CREDIT_OPTIONS, PROFILE_OPTIONS, RESERVED_OPTIONS } from '../../harness/flavours/svc-options.ts';
import { TestbedMetrics } from '../../harness/metrics/testbed.ts';
import { bundledScenarios, loadScenario } from '../../harness/run/catalogue.ts';
import type { ParameterSpec, Scenario } from '../../harness/run/scenario.ts';
import { tagsOf } from '../../harness/run/suites.ts';
import { describeOptions } from '../../node/options.ts';
import { absolute, nodeMetrics } from '../unit/docs/repository.ts';
import { apiPage } from './api.ts';
import { commandsPage } from './commands.ts';
import { errorsPage } from './errors.ts';
import { faultsPage } from './faults.ts';
import { flavourFilePage } from './flavour-file.ts';
import { code, page, table } from './markdown.ts';
import { messagesPage } from './messages.ts';
import { reportPage } from './report.ts';

export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['api.md', apiPage('harness/index.ts')],
    ['cluster-file.md', clusterFilePage()],
    ['commands.md', await commandsPage()],
    ['errors.md', errorsPage()],
    ['faults.md', faultsPage()],
    ['flavour-file.md', flavourFilePage()],
    ['messages.md', messagesPage()],
    ['metrics.md', await metricsPage()],
    ['node-options.md', nodeOptionsPage()],
    ['report.md', reportPage()],
    ['scenarios.md', await scenariosPage()],
  ]);
}

function nodeOptionsPage(): string {
  const rows = describeOptions().map((row) => [
    code(row.name),
    code(row.environment),
    row.default,
    `${row.help}${row.unit === '' ? '' : ` (${row.unit})`}`,
  ]);
  return page(
    'Node options',
    '`node/options.ts`',
    'Every option can be given as a flag, as an environment variable, or as a key of the YAML file named by `--config`; the first one given in this order counts.',
    table(['Option', 'Environment', 'Default', 'Meaning'], rows),
    '## In a cluster',
    "Nodes start with these values, unless a group's `options` say otherwise. The profile `production` and the credit `network` keep the defaults. A node of another program of ours, `svc@PROGRAM`, gets the same ones; a flavour file has to name them. svcnet also sets what places a node in its network, such as addresses, ports and contracts.",
    table(
      ['Cluster', 'Option', 'Value'],
      [
        ...valueRows('profile: fast', PROFILE_OPTIONS.fast),
        ...valueRows('credit: high', CREDIT_OPTIONS.high),
        ...valueRows('credit: low', CREDIT_OPTIONS.low),
      ],
    ),
  );
}

function valueRows(cluster: string, options: Readonly<Record<string, string | number>>): string[][] {
  return Object.entries(options).map(([name, value]) => [code(cluster), code(name), String(value)]);
}

function clusterFilePage(): string {
  const root = definitionSchema();
  const rows = keyPaths().map((path) => {
    const { description = '', default: fallback, ...shape } = keyAt(root, path.split('.'));
    return [
      code(path),
      typeText(shape),
      fallback === undefined ? '' : code(JSON.stringify(fallback)),
      description,
    ];
  });
  return page(
    'Keys of a cluster file',
    'the schema of the definition',
    'The keys of a cluster file are also the options of `Cluster.start`. [Cluster file](../cluster-file.md) explains the ones that matter most. Keys of a list of groups, batches and so on are shown without the place in the list.',
    table(['Key', 'Type', 'Default', 'Meaning'], rows),
    `Set by the testbed itself and refused under \`nodes.options\`: ${RESERVED_OPTIONS.map(code).join(', ')}.`,
  );
}

/** Wherever lists and alternatives have it. */
function keyAt(at: JsonSchema, [key, ...rest]: readonly string[]): JsonSchema {
  if (key === undefined) return at;
  const inner = at.properties?.[key] as JsonSchema | undefined;
  if (inner !== undefined) return keyAt(inner, rest);
  const others = [...(at.anyOf ?? []), ...(at.items === undefined ? [] : [at.items])] as JsonSchema[];
  for (const other of others) {
    const found = keyAt(other, [key, ...rest]);
    if (Object.keys(found).length > 0) return found;
  }
  return {};
}

function typeText(shape: JsonSchema): string {
  if (shape.enum !== undefined) return shape.enum.map((one) => code(String(one))).join(', ');
  if (shape.const !== undefined) return code(String(shape.const));
  if (shape.anyOf !== undefined)
    return [...new Set(shape.anyOf.map((one) => typeText(one)))].filter(Boolean).join(' or ');
  if (shape.type === 'array') return 'list';
  return typeof shape.type === 'string' ? shape.type : '';
}

async function metricsPage(): Promise<string> {
  const node = (await nodeMetrics()).map(({ name, kind, labels = [], help }) => [
    code(name),
    kind,
    labels.map(code).join(', '),
    help,
  ]);
  const exposed = await new TestbedMetrics('run').expose();
  const kinds = new Map(
    [...exposed.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind = '']) => [name, kind]),
  );
  const testbed = [...exposed.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => [
    code(name),
    kinds.get(name) ?? '',
    help,
  ]);
  return page(
    'Metrics',
    'the metric tables of each module',
    '## Nodes',
    'Names have the prefix `svc_`, in the `swarm` dialect `bee_`. [Metrics](../metrics.md) says where they are served.',
    table(['Name', 'Kind', 'Labels', 'Meaning'], node.toSorted(byFirst)),
    '## The testbed',
    table(['Name', 'Kind', 'Meaning'], testbed.toSorted(byFirst)),
  );
}

async function scenariosPage(): Promise<string> {
  const scenarios = await Promise.all(bundledScenarios().map(loadScenario));
  return page(
    'Scenarios and their parameters',
    'the scenarios',
    'Run one with `svcnet run NAME`, and set a parameter with `--set NAME=VALUE`. [Scenarios](../scenarios.md) says what a run does.',
    ...scenarios.map(scenarioSection),
  );
}

function scenarioSection(scenario: Scenario): string {
  const { name, about, parameters, needs } = scenario;
  const rows = Object.entries(parameters).map(([key, spec]) => [
    code(key),
    spec.kind,
    code(shown(spec)),
    helpOf(spec),
  ]);
  return [
    `## ${name}`,
    about,
    `Tags: ${tagsOf(scenario).join(', ')}. Needs ${needs.nodes} running ${needs.nodes === 1 ? 'node' : 'nodes'}.`,
    ...(rows.length > 0 ? [table(['Parameter', 'Kind', 'Default', 'Meaning'], rows)] : []),
  ].join('\n\n');
}

function helpOf({ kind, help, min, max, oneOf }: ParameterSpec): string {
  const written = (value: number) => (kind === 'duration' ? durationText(value) : String(value));
  const limits = [
    ...(min === undefined ? [] : [`at least ${written(min)}`]),
    ...(max === undefined ? [] : [`at most ${written(max)}`]),
    ...(oneOf === undefined ? [] : [`${kind === 'list' ? 'some' : 'one'} of ${oneOf.join(', ')}`]),
  ];
  return [help, ...limits].join('; ');
}

function shown({ kind, default: value }: ParameterSpec): string {
  if (kind === 'duration') return durationText(Number(value));
  if (value === '' || (Array.isArray(value) && value.length === 0)) return 'none';
  // The page is the same wherever the repository is.
  // The dependencies may be linked from another folder.
  return String(value)
    .replace(absolute(''), '')
    .replace(/^\/.*\/(?=node_modules\/)/, '');
}

function byFirst([a = '']: readonly string[], [b = '']: readonly string[]): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
