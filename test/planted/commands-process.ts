/**
 * `commands-process.ts BUG`: plants the bug into the node's sources, then runs each command line that it is sent. Nodes run in
 * this process, so the driver is `simulated`.
 */
import { BLIND_BUGS } from './blind.ts';
import { BUGS } from './bugs.ts';
import type { Commanded, Planted } from './commands.ts';
import { MESSAGE_BUGS } from './messages.ts';
import { plant } from './plant.ts';

const bugs = [...BUGS, ...BLIND_BUGS, ...MESSAGE_BUGS];
const [, , name] = process.argv;
const bug = bugs.find((one) => one.name === name);
if (bug === undefined)
  throw new Error(`got '${name}', expected one of ${bugs.map((one) => one.name).join(', ')}`);
plant(bug.edits);
const { commandHere } = await import('./commands.ts');

process.on('message', ({ args, stateDir }: Commanded) => {
  void commandHere(args, stateDir).then((ended: Planted) => process.send?.(ended));
});
