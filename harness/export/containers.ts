/**
 * The program of the image; its command selects the role:
 *   start, compile, version, help …   a node (`node/main.ts`), the default
 *   chain FILE                        the chain (`chain/main.ts`)
 *   prepare                           files for a network of several containers, once
 *   network                           a whole network in this container
 * Each role loads only its own code.
 */
import { pathToFileURL } from 'node:url';
import { exitCodeOf, HarnessError, messageOf } from '../base/errors.ts';
import { programPath } from '../base/machine/programs.ts';

const [role, ...rest] = process.argv.slice(2);

async function run(program: string, behindRole: boolean): Promise<void> {
  if (behindRole) process.argv.splice(2, 1);
  await import(pathToFileURL(programPath(program)).href);
}

async function prepareNetwork(): Promise<void> {
  const { prepare } = await import('./prepare.ts');
  try {
    process.stdout.write(`${await prepare(process.env)}\n`);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    if (error instanceof HarnessError && error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

if (role === 'network') {
  const { network } = await import('./container/network.ts');
  process.exit(await network(rest, process.env));
} else if (role === 'chain') {
  await run('chain/main', true);
} else if (role === 'prepare') {
  await prepareNetwork();
} else {
  await run('node/main', false);
}
