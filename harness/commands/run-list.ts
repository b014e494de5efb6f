import { durationText } from '../../formats/units.ts';
import { bundledScenarios, loadScenario } from '../run/catalogue.ts';
import type { ParameterSpec } from '../run/scenario.ts';
import { type Chosen, SUITES } from '../run/suites.ts';
import { answer, type CommandContext } from './context.ts';

/** @param chosen none: all built-in scenarios, and suites */
export async function listScenarios(chosen: readonly Chosen[], context: CommandContext): Promise<void> {
  const all = chosen.length === 0;
  const scenarios = all
    ? await Promise.all(bundledScenarios().map(loadScenario))
    : [...new Set(chosen.map(({ scenario }) => scenario))];
  const document = scenarios.map(({ name, group, tags = [], about, parameters: table, needs, cluster }) => ({
    name,
    group,
    tags,
    about,
    parameters: Object.entries(table).map(([parameter, spec]) => ({ name: parameter, ...spec })),
    needs: { flavours: [], modes: [], capabilities: [], control: false, started: false, ...needs },
    cluster,
  }));
  const lines = scenarios.flatMap(({ name, group, tags = [], about, parameters: table }) => [
    `  ${name}  (${[group, ...tags].join(', ')})`,
    `    ${about}`,
    ...Object.entries(table).map(
      ([parameter, spec]) => `    --set ${parameter}=…  ${spec.help} (${shown(spec)})`,
    ),
    '',
  ]);
  const suites = Object.entries(all ? SUITES : {}).map(
    ([name, { about, members }]) =>
      `  --suite ${name}  ${about}: ${[...new Set(members.map((member) => member.name))].join(', ')}`,
  );
  answer(context, document, ['', ...lines, ...suites, '']);
}

function shown({ kind, default: value, oneOf, vary, varySimulated = [] }: ParameterSpec): string {
  const words = oneOf === undefined ? kind : oneOf.join(' | ');
  const bounds = vary?.map((bound) => (kind === 'duration' ? durationText(Number(bound)) : bound));
  const simulated = varySimulated.length === 0 ? '' : ` (${varySimulated.join()}: --driver simulated)`;
  const varied =
    bounds === undefined
      ? ''
      : `, with --vary ${kind === 'list' ? `some of ${bounds.join()}${simulated}` : bounds.join(' to ')}`;
  return `${words}, default ${defaultText(kind, value)}${varied}`;
}

function defaultText(kind: ParameterSpec['kind'], value: ParameterSpec['default']): string {
  if (value === '' || (Array.isArray(value) && value.length === 0)) return 'none';
  if (kind === 'duration') return durationText(Number(value));
  if (kind === 'size') return sizeText(Number(value));
  return kind === 'sizes' ? (value as readonly number[]).map(sizeText).join(',') : String(value);
}

/** A size as an option accepts it: `1MiB`, `4096`. */
function sizeText(bytes: number): string {
  if (bytes >= 2 ** 20 && bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20}MiB`;
  return bytes > 2 ** 13 && bytes % 2 ** 10 === 0 ? `${bytes / 2 ** 10}KiB` : String(bytes);
}
