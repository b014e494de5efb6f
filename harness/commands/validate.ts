/** Reports all errors and runs nothing that the file names. */
import { EXIT, HarnessError } from '../base/errors.ts';
import { firstMistakes, mistakeLines } from '../base/foreign-text.ts';
import { plural } from '../base/format.ts';
import { programNames } from '../cluster/nodes/program-names.ts';
import { checkDefinition } from '../cluster/plan/definition.ts';
import { readClusterFile } from '../cluster/plan/document/read.ts';
import { creditOf, nodeCount } from '../cluster/plan/facts.ts';
import type { Definition } from '../cluster/plan/schema.ts';
import { answer, type CommandContext } from './context.ts';
import { kindText } from './nodes-table.ts';

/** @returns usage: the file has errors */
export async function validate(
  path: string,
  _flags: Readonly<Record<string, unknown>>,
  context: CommandContext,
): Promise<number> {
  const checked = await check(path, context);
  if ('definition' in checked) {
    const summary = summaryOf(checked.definition);
    answer(context, { file: path, valid: true, summary, mistakes: [] }, [`  ${path}: ${summary}`]);
    return EXIT.success;
  }
  const { mistakes } = checked;
  if (!context.json) {
    throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, path));
  }
  answer(context, { file: path, valid: false, mistakes: firstMistakes(mistakes) }, []);
  return EXIT.usage;
}

async function check(path: string, { json }: CommandContext): Promise<ReturnType<typeof checkDefinition>> {
  let input: unknown;
  try {
    input = await readClusterFile(path, 'file');
  } catch (error) {
    if (json && error instanceof HarnessError) return { mistakes: [error.message] };
    throw error;
  }
  return checkDefinition(input);
}

/** `2 svc`, `2 bee`; with several programs of a flavour `1 bee (bee-2.7.1)`, `1 bee (bee-2.8.1)`. */
function kindsOf(groups: Definition['nodes']): string[] {
  const counts = new Map<string, number>();
  const program = programNames(groups);
  for (const group of groups) {
    const kind = kindText(group, program(group));
    counts.set(kind, (counts.get(kind) ?? 0) + group.count);
  }
  return Array.from(counts, ([kind, count]) => `${count} ${kind}`);
}

function summaryOf(definition: Definition): string {
  const kinds = kindsOf(definition.nodes);
  const { profile, ports, batches } = definition;
  return [
    `${plural(nodeCount(definition), 'node')} (${kinds.join(', ')})`,
    `${profile} profile`,
    `${creditOf(definition)} credit`,
    ports === 'free' ? 'free ports' : `ports from ${ports.first}`,
    batches.length === 0
      ? 'no batches'
      : `batches of depth ${batches.map(({ depth }) => depth).join(' and ')}`,
  ].join(' · ');
}
