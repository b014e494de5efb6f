/** `docs/reference/report.md`: fields of `report.json`, from types and docstrings. */
import { code, page, table } from './markdown.ts';
import { parsed, type Source } from './source.ts';

/** By file, in the order of the page. */
const TYPES: readonly (readonly [string, readonly string[]])[] = [
  [
    'harness/report/result.ts',
    ['RunResult', 'ScenarioResult', 'Assertion', 'Figure', 'LedgerResult', 'Loss'],
  ],
  ['harness/metrics/recorder.ts', ['OperationKey', 'OperationSummary', 'SlowOperation']],
  ['harness/metrics/distribution.ts', ['LatencySummary']],
  ['harness/metrics/timeline.ts', ['OperationTimeline']],
  ['harness/report/result.ts', ['RunEvent', 'RunCosts']],
  ['harness/cluster/nodes/membership.ts', ['Incident']],
  ['harness/web/picture/picture.ts', ['NetworkPicture', 'PictureNode', 'PictureLink']],
];

const TIMES = `Reports, step lines, \`svcnet tap\`, \`svcnet trace\` and \`svcnet ui\` show one time: since the cluster began, as \`minutes:seconds\` with milliseconds (\`0:02.345\`, \`1:02:03.004\` after an hour). \`svcnet start\` does not reset it. In a simulation it is virtual time. For an attached network it counts from \`svcnet attach\`. The report, \`tap\` and \`trace\` name the wall time of its zero.

In files and in \`--json\`, \`at\` is in milliseconds since the epoch, by the same clock. \`began\` (\`clusterStartedAt\` in \`report.json\`, \`startedAt\` in \`ps\`) is the zero. Nodes' logs have wall times.`;

const TABLE = `\`\`\`
jq -r '.scenarios[].metrics[] | [.operation, .node, .count, .perSecond, .mibPerSecond, .p50Ms, .p95Ms, .errors] | @csv' report.json
\`\`\``;

export function reportPage(): string {
  return page(
    'Reports of a run',
    'the types of a report',
    '[Reading a failure](../guides/reading-a-failure.md) lists the files of a run.',
    '## Times',
    TIMES,
    '## report.json',
    `The document is a \`RunResult\` with \`schema\`, the version of its form. \`null\` stands for a figure without enough samples. A row for each operation and node as CSV:`,
    TABLE,
    ...TYPES.flatMap(([path, names]) => names.map((name) => section(parsed(path), name))),
  );
}

function section(source: Source, name: string): string {
  const declared = source.body.find(
    (statement) =>
      statement.type === 'ExportNamedDeclaration' &&
      statement.declaration?.type === 'TSInterfaceDeclaration' &&
      statement.declaration.id.name === name,
  );
  if (declared?.type !== 'ExportNamedDeclaration' || declared.declaration?.type !== 'TSInterfaceDeclaration')
    throw new Error(`${source.path} exports no interface ${name}`);
  const { body, extends: bases } = declared.declaration;
  const rows = body.body.map((member) => {
    if (member.type !== 'TSPropertySignature' || member.key.type !== 'Identifier')
      throw new Error(`${name}: a member is no field`);
    const about = docText(source.docBefore(member.start));
    if (about === '') throw new Error(`${name}.${member.key.name} has no docstring, which gives its unit`);
    const { start = 0, end = 0 } = member.typeAnnotation?.typeAnnotation ?? {};
    const type = typeText(source.text.slice(start, end));
    return [code(`${member.key.name}${member.optional ? '?' : ''}`), code(type), about];
  });
  const more = bases.map(({ start, end }) => typeText(source.text.slice(start, end)));
  return [
    `### ${name}`,
    ...[docText(source.docBefore(declared.start))].filter((text) => text !== ''),
    ...(more.length === 0 ? [] : [`With the fields of ${more.map(code).join(' and ')}.`]),
    table(['Field', 'Type', 'Meaning'], rows),
  ].join('\n\n');
}

function docText(doc: string): string {
  return doc
    .replace(/^\/\*\*|\*\/\s*$/g, '')
    .replaceAll(/\n\s*\* ?/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function typeText(type: string): string {
  return type
    .replaceAll('readonly ', '')
    .replace(/^Readonly<(.*)>$/, '$1')
    .replaceAll(/\s+/g, ' ')
    .replace(/^\| /, '')
    .replace(/ \| undefined$/, '');
}
