/** A cluster whose folder was moved while it ran: its parts know paths in the old one. */
import { HarnessError } from '../../base/errors.ts';
import { identityOf } from '../../base/own-folder.ts';
import { shellWord } from '../../base/typed.ts';
import { type ClusterRecord, clusterFolder } from './state.ts';

/** @returns why no part of it can be started; undefined: it is where it was started */
export function whyMoved(
  stateDir: string,
  { name, startedIn }: Pick<ClusterRecord, 'name' | 'startedIn'>,
): HarnessError | undefined {
  const { path } = clusterFolder(stateDir, name);
  if (startedIn === undefined || identityOf(startedIn) === identityOf(path)) return undefined;
  return new HarnessError(
    'NODE_STATE',
    `the folder of cluster '${name}' was moved while it ran, from ${startedIn} to ${path}: its settings name the old one`,
    {
      hint: `Move it back: mv ${shellWord(path)} ${shellWord(startedIn)}\nOr remove it with: svcnet down --name ${name}`,
    },
  );
}
