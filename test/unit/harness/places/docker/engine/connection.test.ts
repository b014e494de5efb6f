import { beforeEach, expect, test, vi } from 'vitest';
import { engineTarget } from '../../../../../../harness/places/docker/engine/connection.ts';
import { temporaryFolder } from '../../../../../temporary-folder.ts';

// Where no desktop's engine has its socket.
beforeEach(() => void vi.stubEnv('HOME', temporaryFolder('svcnet-connection')));

test.each([
  [{}, { kind: 'socket', path: '/var/run/docker.sock' }],
  [
    { DOCKER_HOST: 'unix:///run/user/1000/docker.sock' },
    { kind: 'socket', path: '/run/user/1000/docker.sock' },
  ],
  [{ DOCKER_HOST: 'tcp://10.0.0.7' }, { kind: 'tcp', origin: 'http://10.0.0.7:2375' }],
  [{ DOCKER_HOST: 'localhost:80' }, { kind: 'tcp', origin: 'http://localhost:80' }],
  [{ DOCKER_HOST: 'http://[::1]:80' }, { kind: 'tcp', origin: 'http://[::1]:80' }],
  [
    { DOCKER_HOST: 'tcp://10.0.0.7', DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: '/certs' },
    { kind: 'tls', origin: 'https://10.0.0.7:2376', certificates: '/certs' },
  ],
  [
    { DOCKER_HOST: 'https://10.0.0.7:443', DOCKER_CERT_PATH: '/certs' },
    { kind: 'tls', origin: 'https://10.0.0.7:443', certificates: '/certs' },
  ],
  [
    { DOCKER_HOST: 'ssh://me@build.example:22' },
    { kind: 'ssh', host: 'build.example', user: 'me', port: '22' },
  ],
  [{ DOCKER_HOST: 'ssh://alias' }, { kind: 'ssh', host: 'alias', user: '', port: '' }],
])('%j is %j', (variables, target) => {
  expect(engineTarget(variables)).toEqual(target);
});

test('a password in DOCKER_HOST is in no message', () => {
  expect(() => engineTarget({ DOCKER_HOST: 'ftp://me:hush@x' })).toThrow('DOCKER_HOST ftp://me:…@x is not');
});

test.each([
  'ftp://x',
  'unix://relative/path',
  'npipe:////./pipe/docker_engine',
  'ssh://x/run/docker.sock',
  '://',
])('DOCKER_HOST %s is refused with what was expected', (host) => {
  expect(() => engineTarget({ DOCKER_HOST: host })).toThrow(
    `DOCKER_HOST ${host} is not an address of an engine, expected unix:///PATH, tcp://HOST:PORT`,
  );
});
