import { writeFileSync } from 'node:fs';
import { HarnessError, messageOf } from '../base/errors.ts';
import { typed, typedForOutput } from '../base/typed.ts';
import { CLUSTER_FILE } from '../cluster/plan/editor/cluster-file.ts';
import { answer, type CommandContext } from './context.ts';

export interface InitFlags {
  readonly force?: boolean;
}

/** @throws HarnessError `USAGE` when the file exists or cannot be written */
export function init(path: string, flags: InitFlags, context: CommandContext): Promise<void> {
  try {
    writeFileSync(path, CLUSTER_FILE, { flag: flags.force === true ? 'w' : 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new HarnessError('USAGE', `${path} already exists`, {
        hint: 'Choose another path, or overwrite the file with --force.',
      });
    }
    throw new HarnessError('USAGE', `cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
  answer(context, { file: path }, [
    `  wrote ${path}`,
    '',
    '  try next',
    `    ${typed(`up -f ${path}`)}`,
    `    ${typedForOutput('schema')} > cluster.schema.json   # completion and checks in an editor`,
  ]);
  return Promise.resolve();
}
