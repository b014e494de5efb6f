import { afterEach, expect, test, vi } from 'vitest';
import { HarnessError } from '../../../../../../harness/base/errors.ts';
import { EngineRefusal } from '../../../../../../harness/places/docker/engine/docker.ts';
import {
  engineError,
  remoteEngine,
  statusOf,
} from '../../../../../../harness/places/docker/engine/engine.ts';

afterEach(() => vi.unstubAllEnvs());

const systemError = (code: string) =>
  Object.assign(new Error(`connect ${code} /var/run/docker.sock`), { code });

test.each([
  [undefined, undefined],
  ['', undefined],
  ['unix:///run/user/1000/docker.sock', undefined],
  ['npipe:////./pipe/docker_engine', undefined],
  ['tcp://127.0.0.1:2375', undefined],
  ['localhost:2375', undefined],
  ['tcp://10.0.0.7:2376', '10.0.0.7'],
  ['ssh://me@build.example', 'build.example'],
])('DOCKER_HOST %s publishes ports on %s', (dockerHost, machine) => {
  expect(remoteEngine(dockerHost)).toBe(machine);
});

test('a missing engine is named, with what to do', () => {
  vi.stubEnv('DOCKER_HOST', 'tcp://10.0.0.7:2375');
  const error = engineError(systemError('ECONNREFUSED'));
  expect(error.code).toBe('ENGINE_FAILED');
  expect(error.message).toMatch(/^DOCKER_HOST tcp:\/\/10\.0\.0\.7:2375 cannot be reached: .*ECONNREFUSED/);
  expect(error.hint).toContain('--driver process');
});

test('a socket without access permission says so, and how to get access', () => {
  vi.stubEnv('DOCKER_HOST', '');
  const { message, hint } = engineError(systemError('EACCES'));
  expect(message).toBe('the Docker engine of this machine: permission denied (EACCES)');
  expect(hint).toContain('usermod -aG docker');
});

test('a refusal of the engine is reported in its own words, and keeps its status', () => {
  const refused = new EngineRefusal(404, 'No such container: x');
  const error = engineError(refused);
  expect(error.message).toBe('the Docker engine has refused: No such container: x');
  expect([statusOf(error), statusOf(refused), statusOf(new Error('no'))]).toEqual([404, 404, undefined]);
});

test('an error of ours is passed on unchanged', () => {
  const ours = new HarnessError('PORT_IN_USE', 'taken');
  expect(engineError(ours)).toBe(ours);
});
