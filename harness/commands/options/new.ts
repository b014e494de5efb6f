import { NotExpected } from '../../cluster/plan/options/flag.ts';
import type { CommandOptions } from './spec.ts';
import { JSON_OPTION } from './values.ts';

export const newScenario: CommandOptions = {
  arguments: [{ help: 'name of the scenario, in kebab case', parse: scenarioName }],
  options: { '--folder <path>': { help: 'folder of the file', default: 'scenarios' }, ...JSON_OPTION },
};

function scenarioName(text: string): string {
  if (/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(text)) return text;
  throw new NotExpected('Expected lower-case words joined by hyphens, such as two-readers.');
}
