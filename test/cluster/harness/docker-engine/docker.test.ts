import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { Docker } from '../../../../harness/places/docker/engine/docker.ts';
import { Engine, statusOf, unless } from '../../../../harness/places/docker/engine/engine.ts';
import { containerLog } from '../../../../harness/places/docker/log.ts';
import { fakeEngine, json } from './fake-engine.ts';

afterEach(() => vi.unstubAllEnvs());

function dockerOf({ host }: { host: string }): Docker {
  vi.stubEnv('DOCKER_HOST', host);
  return new Docker();
}

test('a container is created from a document, under its name', async () => {
  await using engine = await fakeEngine({
    'POST /containers/create': (response) => json(response, { Id: 'c1', Warnings: [] }, 201),
  });
  const { id } = await dockerOf(engine).createContainer({ name: 'a-node', Image: 'svcnet', Cmd: ['start'] });
  expect(id).toBe('c1');
  expect(engine.received).toEqual([
    {
      method: 'POST',
      path: '/containers/create',
      query: { name: 'a-node' },
      type: 'application/json',
      body: '{"Image":"svcnet","Cmd":["start"]}',
    },
  ]);
});

test('lists are filtered, and an empty list of volumes may be null', async () => {
  await using engine = await fakeEngine({
    'GET /containers/json': (response) => json(response, [{ Id: 'c1', State: 'exited', Labels: {} }]),
    'GET /volumes': (response) => json(response, { Volumes: null }),
  });
  const docker = dockerOf(engine);
  const filters = { label: ['svcnet.cluster=1'] };
  expect(await docker.containers(filters)).toHaveLength(1);
  expect(await docker.volumes(filters)).toEqual([]);
  expect(engine.received.map(({ query }) => query)).toEqual([
    { all: 'true', filters: JSON.stringify(filters) },
    { filters: JSON.stringify(filters) },
  ]);
});

test('a name with slashes, a port and a tag is the path of an image', async () => {
  await using engine = await fakeEngine({
    'GET /images/registry.example%3A5000/ethersphere/bee%3A2.8.1/json': (response) =>
      json(response, { Id: 'i1' }),
  });
  expect(await dockerOf(engine).image('registry.example:5000/ethersphere/bee:2.8.1')).toEqual({ Id: 'i1' });
});

test('a refusal has the words and the status of the engine, and may be tolerated', async () => {
  await using engine = await fakeEngine({
    'POST /containers/c1/start': (response) => void response.writeHead(304).end(),
    'DELETE /containers/c1': (response) => json(response, { message: 'No such container: c1\n' }, 404),
    'POST /containers/c1/pause': (response) => void response.writeHead(502).end('<h1>Bad gateway</h1>'),
  });
  const container = dockerOf(engine).container('c1');
  expect(await unless([304], container.start())).toBe(false);
  const error: unknown = await container.remove().catch((reason: unknown) => reason);
  expect([String(error), statusOf(error)]).toEqual(['EngineRefusal: No such container: c1', 404]);
  await expect(container.pause()).rejects.toThrow('<h1>Bad gateway</h1>');
  await expect(container.inspect()).rejects.toThrow('page not found');
});

test('a build reports its lines, wherever they are cut, and sends its context', async () => {
  await using engine = await fakeEngine({
    'POST /build': (response) => {
      response.write('{"stream":"Step 1/2 : FR');
      setImmediate(() => response.end('OM a"}\r\n\n{"stream":"ok"}'));
    },
  });
  const lines: unknown[] = [];
  const options = { name: 'svcnet', dockerfile: 'node/Dockerfile', args: { A: 'b' }, labels: { l: '1' } };
  await dockerOf(engine).buildImage(Readable.from(['tar']), options, (line) => lines.push(line));
  expect(lines).toEqual([{ stream: 'Step 1/2 : FROM a' }, { stream: 'ok' }]);
  expect(engine.received[0]).toMatchObject({
    query: {
      t: 'svcnet',
      dockerfile: 'node/Dockerfile',
      buildargs: '{"A":"b"}',
      labels: '{"l":"1"}',
      forcerm: 'true',
    },
    type: 'application/x-tar',
    body: 'tar',
  });
});

test('an image that cannot be pulled fails with the line that says so, and its connection ends', async () => {
  const closed = Promise.withResolvers<void>();
  await using engine = await fakeEngine({
    'POST /images/create': (response) => {
      response.once('close', closed.resolve);
      response.write('{"status":"Pulling"}\n{"errorDetail":{},"error":"manifest unknown"}\n');
    },
  });
  const lines: unknown[] = [];
  await expect(dockerOf(engine).pullImage('a:1', (line) => lines.push(line))).rejects.toThrow(
    'manifest unknown',
  );
  expect(lines).toEqual([{ status: 'Pulling' }]);
  expect(engine.received[0]?.query).toEqual({ fromImage: 'a:1' });
  await closed.promise;
});

test('a connection that breaks during a build is a failure', async () => {
  await using engine = await fakeEngine({
    'POST /build': (response) => {
      response.write('{"stream":"Step 1/2"}\n');
      setImmediate(() => response.destroy());
    },
  });
  const options = { name: 'svcnet', dockerfile: 'Dockerfile', args: {}, labels: {} };
  await expect(dockerOf(engine).buildImage(Readable.from(['tar']), options, () => undefined)).rejects.toThrow(
    'other side closed',
  );
});

function frame(line: string, at = 1): Buffer {
  const payload = Buffer.from(`2026-01-01T00:00:00.00000000${at}Z ${line}\n`);
  const header = Buffer.alloc(8);
  header.writeUInt8(1);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

test('a log followed from its last lines goes on after the last of them', async () => {
  await using engine = await fakeEngine({
    'GET /containers/c1/logs': (response, { query }) => {
      // The engine's times are no finer: it repeats the last line.
      if (query['follow'] === 'true') response.write(Buffer.concat([frame('two', 2), frame('three', 3)]));
      else response.end(Buffer.concat([frame('one', 1), frame('two', 2)]));
    },
  });
  vi.stubEnv('DOCKER_HOST', engine.host);
  const ending = new AbortController();
  const lines: string[] = [];
  for await (const line of containerLog(new Engine(), 'c1').follow(ending.signal, 2)) {
    lines.push(line);
    if (line === 'three') ending.abort();
  }
  expect(lines).toEqual(['one', 'two', 'three']);
  const asked = engine.received.filter(({ path }) => path === '/containers/c1/logs');
  expect(asked.map(({ query }) => [query['tail'], query['since']])).toEqual([
    ['2', undefined],
    [undefined, '1767225600.000000002'],
  ]);
});

test('following a log ends with its signal, also while nothing comes', async () => {
  await using engine = await fakeEngine({
    'GET /containers/c1/logs': (response, { query }) => {
      if (query['follow'] === 'true') response.write(frame('hello'));
      else response.end();
    },
  });
  vi.stubEnv('DOCKER_HOST', engine.host);
  const ending = new AbortController();
  const lines: string[] = [];
  for await (const line of containerLog(new Engine(), 'c1').follow(ending.signal)) {
    lines.push(line);
    // By then the loop waits for the next line.
    setImmediate(() => ending.abort());
  }
  expect(lines).toEqual(['hello']);
  const asked = engine.received.filter(({ path }) => path === '/containers/c1/logs');
  expect(asked.map(({ query }) => query)).toEqual([
    { stdout: 'true', stderr: 'true', timestamps: 'true', tail: '1' },
    { stdout: 'true', stderr: 'true', timestamps: 'true', follow: 'true' },
  ]);
});

test('an engine that is too old says which one is needed', async () => {
  await using engine = await fakeEngine({
    'GET /version': (response) =>
      json(response, { Version: '19.03', ApiVersion: '1.40', Os: 'linux', Arch: 'amd64' }),
  });
  vi.stubEnv('DOCKER_HOST', engine.host);
  await expect(new Engine().facts()).rejects.toThrow(/is Docker 19\.03 with API 1\.40, expected API 1\.41/);
});
