/** `svcnet init FILE`: a cluster file with every key, explained, to begin with. */
import { writeFileSync } from 'node:fs';
import { HarnessError, messageOf } from '../base/errors.ts';
import { CLUSTER_FILE } from '../plan/cluster-file.ts';
import { answer, type CommandContext } from './context.ts';

export interface InitFlags {
  readonly force?: boolean;
}

/** @throws HarnessError `USAGE` when there is a file already, or none can be written */
export function init(path: string, flags: InitFlags, context: CommandContext): Promise<void> {
  try {
    writeFileSync(path, CLUSTER_FILE, { flag: flags.force === true ? 'w' : 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new HarnessError('USAGE', `${path} exists already`, {
        hint: 'Name another file, or overwrite it with --force.',
      });
    }
    throw new HarnessError('USAGE', `cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
  answer(context, { file: path }, [
    `  wrote ${path}`,
    '',
    '  try next',
    `    npm run svcnet -- up -f ${path}`,
    '    npm run -s svcnet -- schema > cluster.schema.json   # completion and checks in an editor',
  ]);
  return Promise.resolve();
}
