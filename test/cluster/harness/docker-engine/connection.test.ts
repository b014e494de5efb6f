import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connectEngine, engineTarget } from '../../../../harness/places/docker/engine/connection.ts';
import { Engine } from '../../../../harness/places/docker/engine/engine.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { TEST_CERTIFICATES } from './certificates.ts';
import { fakeEngine } from './fake-engine.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder('svcnet-connection');
  vi.stubEnv('HOME', folder);
});
afterEach(() => vi.unstubAllEnvs());

test('with TLS the client shows its certificate and checks the one of the engine', async () => {
  const { ca, cert, key } = TEST_CERTIFICATES;
  const options = { ca, cert, key, requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, (_request, response) => response.end('{"Version":"29"}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = engineTarget({ DOCKER_HOST: host, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: folder });
  expect(() => connectEngine(target)).toThrow(
    /^no certificate for the engine: cannot open .*ca\.pem: no such file or folder \(ENOENT\)/,
  );
  for (const [name, text] of Object.entries({ ca, cert, key }))
    writeFileSync(join(folder, `${name}.pem`), text);
  const { agent, origin } = connectEngine(target);
  const { body } = await agent.request({ origin, path: '/version', method: 'GET' });
  expect(await body.json()).toEqual({ Version: '29' });
  await agent.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function fakeSsh(script: string): void {
  writeFileSync(join(folder, 'ssh'), `#!${process.execPath}\n${script}`);
  chmodSync(join(folder, 'ssh'), 0o755);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
}

test('through ssh an engine answers like one of this machine', async () => {
  await using engine = await fakeEngine({});
  const args = join(folder, 'args.json');
  fakeSsh(`
    require('node:fs').writeFileSync(${JSON.stringify(args)}, JSON.stringify(process.argv.slice(2)));
    const socket = require('node:net').connect(${JSON.stringify(engine.socket)});
    process.stdin.pipe(socket).pipe(process.stdout);
  `);
  vi.stubEnv('DOCKER_HOST', 'ssh://me@build.example:2222');
  expect(await new Engine().facts()).toMatchObject({ os: 'linux', arch: 'amd64' });
  const given = JSON.parse(readFileSync(args, 'utf8')) as string[];
  expect(given.slice(given.indexOf('-l'))).toEqual([
    '-l',
    'me',
    '-p',
    '2222',
    '--',
    'build.example',
    'docker',
    'system',
    'dial-stdio',
  ]);
});

test('what ssh says about its failure is in the message', async () => {
  fakeSsh(`process.stderr.write('me@build.example: Permission denied (publickey).\\n'); process.exit(255);`);
  vi.stubEnv('DOCKER_HOST', 'ssh://me@build.example');
  await expect(new Engine().facts()).rejects.toThrow(
    'DOCKER_HOST ssh://me@build.example: ssh has ended with code 255: me@build.example: Permission denied (publickey).',
  );
});

test('a machine without ssh says so', async () => {
  vi.stubEnv('PATH', folder);
  vi.stubEnv('DOCKER_HOST', 'ssh://build.example');
  await expect(new Engine().facts()).rejects.toThrow('cannot run ssh: no such program (ENOENT)');
});
