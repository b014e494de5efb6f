import { stringify } from 'yaml';
import { BOARDS } from './boards.ts';
import { dashboard } from './grafana.ts';
import { ruleFile } from './rules.ts';

export function generatedFiles(): Map<string, string> {
  return new Map([
    ...BOARDS.map((board): [string, string] => [
      `${board.uid}.json`,
      `${JSON.stringify(dashboard(board), undefined, 2)}\n`,
    ]),
    ['rules.yml', `# Written by: npm run dashboards\n${stringify(ruleFile(), { lineWidth: 0 })}`],
  ]);
}
