import { definitionSchema } from '../cluster/plan/editor/json-schema.ts';
import type { CommandContext } from './context.ts';

export function schema(_flags: Readonly<Record<string, unknown>>, context: CommandContext): Promise<void> {
  context.out(`${JSON.stringify(definitionSchema(), undefined, 2)}\n`);
  return Promise.resolve();
}
