/** What the containers of a network run beside its nodes and its chain: `node harness/containers.ts prepare`. */
import { exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import { prepare } from './export/prepare.ts';

try {
  const [task = ''] = process.argv.slice(2);
  if (task !== 'prepare') throw new HarnessError('USAGE', `got '${task}', expected prepare`);
  process.stdout.write(`${prepare(process.env)}\n`);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
