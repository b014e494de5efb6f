import { writeFileSync } from 'node:fs';
import { fileRefused } from '../base/errors.ts';
import { replaceFile } from '../base/own-folder.ts';
import { typed, typedForOutput } from '../base/typed.ts';
import { CLUSTER_FILE } from '../cluster/plan/editor/cluster-file.ts';
import { answer, type CommandContext } from './context.ts';

export interface InitFlags {
  readonly force?: boolean;
}

export function init(path: string, flags: InitFlags, context: CommandContext): Promise<void> {
  try {
    if (flags.force === true) replaceFile(path, CLUSTER_FILE);
    else writeFileSync(path, CLUSTER_FILE, { flag: 'wx' });
  } catch (error) {
    throw fileRefused(path, error, 'Choose another path, or overwrite the file with --force.');
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
