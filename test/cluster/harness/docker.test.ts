import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { DefinitionInput } from '../../../harness/cluster/plan/definition-input.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const stateDir = temporaryFolder('svcnet-no-docker');
afterEach(() => vi.unstubAllEnvs());

const start = (definition: DefinitionInput = {}) =>
  Cluster.start({ driver: 'docker', nodes: 1, stateDir, ...definition });

async function engine(answer: RequestListener): Promise<AsyncDisposable & { readonly address: string }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const json = (body: unknown, status = 200): RequestListener => {
  return (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

test('a missing engine is named, and nothing is left behind', async () => {
  vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:1');
  await expect(start()).rejects.toMatchObject({
    code: 'ENGINE_FAILED',
    message: expect.stringMatching(
      /^DOCKER_HOST tcp:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/,
    ) as string,
    hint: expect.stringContaining('--driver process') as string,
  });
  expect(readdirSync(join(stateDir, 'clusters'))).toEqual([]);
});

test('a missing socket is named', async () => {
  vi.stubEnv('DOCKER_HOST', `unix://${join(stateDir, 'docker.sock')}`);
  await expect(start()).rejects.toMatchObject({
    code: 'ENGINE_FAILED',
    message: expect.stringContaining(`${join(stateDir, 'docker.sock')} cannot be reached`) as string,
  });
});

test('an invalid address is named', async () => {
  vi.stubEnv('DOCKER_HOST', 'tcp://no:port');
  await expect(start()).rejects.toMatchObject({
    code: 'ENGINE_FAILED',
    message: expect.stringContaining('DOCKER_HOST tcp://no:port') as string,
  });
});

test('an engine that is too old reports its version and the required one', async () => {
  await using old = await engine(
    json({ Version: '19.03.15', ApiVersion: '1.40', Os: 'linux', Arch: 'amd64' }),
  );
  vi.stubEnv('DOCKER_HOST', old.address);
  await expect(start()).rejects.toMatchObject({
    code: 'ENGINE_FAILED',
    message: `DOCKER_HOST ${old.address} is Docker 19.03.15 with API 1.40, expected API 1.41 or newer`,
  });
});

test('the answer of an engine that refuses is quoted', async () => {
  await using strict = await engine(json({ message: 'client certificate required' }, 403));
  vi.stubEnv('DOCKER_HOST', strict.address);
  await expect(start()).rejects.toMatchObject({
    code: 'ENGINE_FAILED',
    message: 'the Docker engine has refused: client certificate required',
  });
});

test('a cluster whose image is not available is not started, and the image is named', async () => {
  await using empty = await engine((request, response) => {
    const path = request.url ?? '';
    if (path.startsWith('/version'))
      return json({ ApiVersion: '1.41', Os: 'linux', Arch: 'amd64' })(request, response);
    // The named image is neither present nor available.
    if (path.startsWith('/images/json')) return json([{ Id: 'sha256:1', Created: 1 }])(request, response);
    if (path.startsWith('/images/'))
      return json({ message: 'pull access denied for none/such' }, 404)(request, response);
    return json(path.startsWith('/volumes') ? { Volumes: [] } : [])(request, response);
  });
  vi.stubEnv('DOCKER_HOST', empty.address);
  await expect(start({ nodes: [{ image: 'none/such' }] })).rejects.toMatchObject({
    code: 'IMAGE_FAILED',
    message: expect.stringMatching(
      /^image 'none\/such' is not on the engine and cannot be pulled: .*pull access denied/,
    ) as string,
    hint: expect.stringContaining('docker pull none/such') as string,
  });
});
