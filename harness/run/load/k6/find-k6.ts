/** A program of this machine, or its container image when an engine answers. */
import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { HarnessError } from '../../../base/errors.ts';

const MAJOR_MIN = 2;
const IMAGE = 'grafana/k6:2.2.0';
const IMAGE_VARIABLE = 'SVCNET_K6_IMAGE';
const PROGRAM_VARIABLE = 'SVCNET_K6';
const ANSWER_TIMEOUT_MS = 20_000;
const HINT = `install it (https://grafana.com/docs/k6/latest/set-up/install-k6), and name the program by --k6 or ${PROGRAM_VARIABLE} when it is not on the PATH; or start a Docker engine, which runs its image; or do without k6: svcnet run upload --set rate=20 --set duration=30s`;

export interface K6 {
  readonly kind: 'program' | 'container';
  readonly where: string;
  readonly version: string;
}

/**
 * `given`, `SVCNET_K6`, `PATH`, then the image.
 * @throws HarnessError `BINARY_INVALID` when the named program is not k6 or too old, or there is none
 */
export async function findK6(given?: string, environment: NodeJS.ProcessEnv = process.env): Promise<K6> {
  const named = given ?? environment[PROGRAM_VARIABLE];
  if (named !== undefined && named !== '') {
    const source = given === undefined ? PROGRAM_VARIABLE : '--k6';
    return program(named, await versionText(named, environment), source);
  }
  const onPath = await versionText('k6', environment);
  if (typeof onPath === 'string') return program('k6', onPath, 'PATH');
  if (await engineAnswers(environment)) {
    return { kind: 'container', where: environment[IMAGE_VARIABLE] ?? IMAGE, version: '' };
  }
  throw new HarnessError('BINARY_INVALID', 'k6, which generates the load, was not found', {
    hint: HINT,
  });
}

function program(path: string, outcome: string | Error, source: string): K6 {
  if (typeof outcome !== 'string') {
    const { code } = outcome as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? 'there is no such program' : `it cannot be run (${outcome.message.split('\n')[0]})`;
    throw new HarnessError('BINARY_INVALID', `${source}: got '${path}', expected the program of k6: ${why}`, {
      hint: HINT,
    });
  }
  const [, name, version, major] = /^(\S+) v((\d+)\.\d+\.\d+\S*)/.exec(outcome) ?? [];
  if (version === undefined || !['k6', 'k6.exe', basename(path)].includes(name ?? '')) {
    const shown = outcome.trim().split('\n')[0] ?? '';
    throw new HarnessError(
      'BINARY_INVALID',
      `${source}: got '${path}', which says '${shown}' instead of its k6 version`,
      { hint: HINT },
    );
  }
  if (Number(major) < MAJOR_MIN) {
    throw new HarnessError(
      'BINARY_INVALID',
      `${source}: '${path}' is k6 ${version}, expected ${MAJOR_MIN}.0 or newer`,
      { hint: HINT },
    );
  }
  return { kind: 'program', where: path, version };
}

async function versionText(path: string, environment: NodeJS.ProcessEnv): Promise<string | Error> {
  try {
    const options = { timeout: ANSWER_TIMEOUT_MS, env: environment };
    return (await promisify(execFile)(path, ['version'], options)).stdout;
  } catch (error) {
    return error as Error;
  }
}

async function engineAnswers(environment: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    const options = { timeout: ANSWER_TIMEOUT_MS, env: environment };
    await promisify(execFile)('docker', ['version', '--format', '{{.Server.Version}}'], options);
    return true;
  } catch (error) {
    // No client, engine or permission: none to use.
    if (error instanceof Error) return false;
    throw error;
  }
}
