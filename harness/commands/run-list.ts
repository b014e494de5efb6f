/** `svcnet run --list`: the scenarios of the package with their parameters. */
import { bundledScenarios, loadScenario } from '../run/catalogue.ts';
import { answer, type CommandContext } from './context.ts';

export async function listScenarios(context: CommandContext): Promise<void> {
  const scenarios = await Promise.all(bundledScenarios().map(loadScenario));
  const document = scenarios.map(({ name, group, about, parameters: table, needs, cluster }) => ({
    name,
    group,
    about,
    parameters: Object.entries(table).map(([parameter, spec]) => ({ name: parameter, ...spec })),
    needs: { flavours: [], modes: [], capabilities: [], control: false, started: false, ...needs },
    cluster,
  }));
  const lines = scenarios.flatMap(({ name, group, about, parameters: table }) => [
    `  ${name}  (${group})`,
    `    ${about}`,
    ...Object.entries(table).map(
      ([parameter, { help, default: fallback }]) =>
        `    --set ${parameter}=…  ${help} (default ${shown(fallback)})`,
    ),
    '',
  ]);
  answer(context, document, ['', ...lines]);
}

function shown(value: unknown): string {
  return value === '' ? 'none' : String(value);
}
