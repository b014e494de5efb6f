import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { pickFreePorts } from '../../../harness/base/machine/ports.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { until } from '../../../harness/scenario.ts';
import { eventually, sameBytes, stateFolder } from './kit.ts';
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';

/** In bits: a node stores what shares that many with it. */
const RADIUS = 2;
const WAIT = { timeoutMs: 120_000 };
const [SERVER, CLIENT] = [2, 3];
const PUSH = [
  'node-0 push-chunk',
  'node-0 push-chunk-async',
  'node-1 pushsync-handler',
  'node-1 push-chunk-async',
  'node-2 pushsync-handler',
];
const stateDir = stateFolder();

/** Near the last node and far from the others. */
function contentNear(net: Cluster): { data: Uint8Array; address: string } {
  const [last, ...others] = [...net.nodes].reverse().map(({ overlay }) => fromHex(overlay));
  for (;;) {
    const data = new Uint8Array(randomBytes(200));
    const { address } = makeCac(BigInt(data.length), data);
    if (proximityOrder(last as Uint8Array, address) < RADIUS) continue;
    if (others.every((overlay) => proximityOrder(overlay, address) < RADIUS)) {
      return { data, address: toHex(address) };
    }
  }
}

async function traceOf(receiver: OtlpReceiver, traceId: string, count: number): Promise<ReceivedSpan[]> {
  const found = () => receiver.spans.filter((span) => span.traceId === traceId);
  await until(
    `fewer than ${count} spans`,
    async () =>
      found().length >= count
        ? { done: true }
        : { missing: receiver.spans.map(({ service, name }) => `${service} ${name}`).join(', ') },
    WAIT,
  );
  return found();
}

function wayTo(spans: readonly ReceivedSpan[], service: string, name: string): string[] {
  const way: string[] = [];
  for (
    let span = spans.find((one) => one.service === service && one.name === name);
    span !== undefined;
    span = spans.find(({ spanId }) => spanId === span?.parentSpanId)
  ) {
    way.unshift(`${span.service} ${span.name}`);
  }
  return way;
}

async function traceIdOf(answer: Response): Promise<string> {
  expect(answer.ok, await answer.clone().text()).toBe(true);
  const [, traceId = ''] = (answer.headers.get('traceresponse') ?? '').split('-');
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  return traceId;
}

function upload(
  node: ClusterNode,
  data: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${node.api}/bytes`, {
    method: 'POST',
    body: data,
    headers: { 'svc-postage-batch-id': node.batch ?? '', ...headers },
  });
}

function contextOf(traceId: string, { sampled }: { sampled: boolean }): Record<string, string> {
  return { traceparent: `00-${traceId}-00f067aa0ba902b7-0${sampled ? 1 : 0}` };
}

function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

describe.each(['embedded', 'process'] as const)('a line of three nodes, driver %s', (driver) => {
  let receiver: OtlpReceiver;
  let net: Cluster;
  beforeAll(async () => {
    receiver = await otlpReceiver();
    net = await Cluster.start({
      nodes: [{ count: 3, options: { 'minimum-storage-radius': RADIUS } }],
      topology: {
        links: [
          ['node-0', 'node-1'],
          ['node-1', 'node-2'],
        ],
      },
      otlp: receiver.url,
      seed: 11,
      driver,
      name: `traced-${driver}`,
      stateDir,
    });
    // A node without a peer keeps uploads to itself.
    await until(
      'nothing travels along the line',
      async () => {
        const { data, address } = contentNear(net);
        await upload(net.node(0), data, { 'svc-deferred-upload': 'false' });
        return (await net.node(2).chunks.has(address)) ? { done: true } : { missing: address };
      },
      WAIT,
    );
  });
  afterAll(async () => {
    await net.stop();
    await receiver[Symbol.asyncDispose]();
  });

  test('a direct upload is one trace, from the request to the node that stores the chunk', async () => {
    const { data, address } = contentNear(net);
    const traceId = await traceIdOf(await upload(net.node(0), data, { 'svc-deferred-upload': 'false' }));
    const spans = await traceOf(receiver, traceId, PUSH.length + 1);
    expect(wayTo(spans, 'node-2', 'pushsync-handler')).toEqual(['node-0 POST /bytes', ...PUSH]);
    const named = (service: string, name: string) =>
      spans.find((span) => span.service === service && span.name === name);
    expect(named('node-0', 'POST /bytes')).toMatchObject({
      kind: SERVER,
      parentSpanId: '',
      attributes: { 'http.request.method': 'POST', 'http.route': '/bytes', 'http.response.status_code': 201 },
    });
    expect(named('node-0', 'push-chunk')?.attributes).toMatchObject({
      'chunk.address': address,
      outcome: 'synced',
    });
    const { attributes, kind, instance } = named('node-1', 'push-chunk-async') as ReceivedSpan;
    const [, middle, last] = net.nodes.map(({ overlay }) => overlay);
    expect([kind, instance]).toEqual([CLIENT, middle]);
    expect(attributes).toMatchObject({ 'chunk.address': address, 'peer.overlay': last, attempt: 1 });
    expect(attributes['peer.proximity_order']).toBeGreaterThanOrEqual(RADIUS);
    expect(attributes['cost']).toBeGreaterThan(0);
    expect(named('node-2', 'pushsync-handler')).toMatchObject({ kind: SERVER, events: ['stored'] });
    expect(spans.some(({ failed }) => failed)).toBe(false);
  });

  test('the chunks of a deferred upload are pushed within its trace, after its answer', async () => {
    const { data } = contentNear(net);
    const traceId = await traceIdOf(await upload(net.node(0), data));
    const spans = await traceOf(receiver, traceId, PUSH.length + 1);
    expect(wayTo(spans, 'node-2', 'pushsync-handler')).toEqual(['node-0 POST /bytes', ...PUSH]);
    expect(spans.find(({ name }) => name === 'push-chunk')?.attributes['tag.uid']).toBeGreaterThan(0);
  });

  test('a download is one trace, from the request to the node that has the chunk', async () => {
    const { data, address } = contentNear(net);
    await upload(net.node(0), data, { 'svc-deferred-upload': 'false' });
    const answer = await fetch(`${net.node(0).api}/bytes/${address}`);
    const traceId = await traceIdOf(answer);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(data);
    const spans = await traceOf(receiver, traceId, 6);
    expect(wayTo(spans, 'node-2', 'handle-retrieve-chunk')).toEqual([
      'node-0 GET /bytes/{reference}',
      'node-0 get-chunk',
      'node-0 retrieve-chunk',
      'node-1 handle-retrieve-chunk',
      'node-1 retrieve-chunk',
      'node-2 handle-retrieve-chunk',
    ]);
    const forwarded = spans
      .filter(({ name }) => name === 'handle-retrieve-chunk')
      .map(({ service, attributes }) => [service, attributes['forwarded']] as const);
    expect(Object.fromEntries(forwarded)).toEqual({ 'node-1': true, 'node-2': false });
  });

  test('chunks fetched while an answer is sent belong to its request', async () => {
    const data = new Uint8Array(randomBytes(2_000_000));
    const { reference } = await net.node(2).bytes.upload(data);
    await net.synced(reference);
    const before = receiver.spans.length;
    const answer = await fetch(`${net.node(0).api}/bytes/${reference}`);
    const traceId = await traceIdOf(answer);
    expect((await answer.arrayBuffer()).byteLength).toBe(data.length);
    await traceOf(receiver, traceId, 2 * Math.ceil(data.length / 4096));
    const fetched = receiver.spans.slice(before).filter(({ name }) => name === 'get-chunk');
    expect(fetched.filter((span) => span.traceId !== traceId)).toEqual([]);
    expect(fetched.filter(({ parentSpanId }) => parentSpanId === '')).toEqual([]);
  });

  test.each([
    ['traceparent', (id: string) => `00-${id}-00f067aa0ba902b7-01`],
    ['svc-trace-id', (id: string) => `${id}:f067aa0ba902b7:0:1`],
    ['swarm-trace-id', (id: string) => `${id}:f067aa0ba902b7:0:1`],
  ])('the trace of an application is continued: %s', async (name, valueOf) => {
    const traceId = newTraceId();
    const { data } = contentNear(net);
    const answer = await upload(net.node(0), data, {
      [name]: valueOf(traceId),
      'svc-deferred-upload': 'false',
    });
    expect(await traceIdOf(answer)).toBe(traceId);
    const spans = await traceOf(receiver, traceId, PUSH.length + 1);
    expect(wayTo(spans, 'node-2', 'pushsync-handler')).toEqual(['node-0 POST /bytes', ...PUSH]);
    const request = spans.find((span) => span.name === 'POST /bytes');
    expect(request?.parentSpanId).toBe('00f067aa0ba902b7');
  });

  test('an empty context is not an error, and the request begins a new trace', async () => {
    const { data } = contentNear(net);
    const answer = await upload(net.node(0), data, {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
      'svc-trace-id': 'x:y:z',
    });
    const traceId = await traceIdOf(answer);
    expect(traceId).not.toBe('4bf92f3577b34da6a3ce929d0e0e4736');
    const spans = await traceOf(receiver, traceId, 1 + PUSH.length);
    expect(spans.find(({ name }) => name === 'POST /bytes')?.parentSpanId).toBe('');
  });

  test('a trace not sampled by its application is not kept by any node', async () => {
    const [unkept, kept] = [newTraceId(), newTraceId()];
    for (const [traceId, sampled] of [
      [unkept, false],
      [kept, true],
    ] as const) {
      const { data } = contentNear(net);
      const headers = { ...contextOf(traceId, { sampled }), 'svc-deferred-upload': 'false' };
      expect(await traceIdOf(await upload(net.node(0), data, headers))).toBe(traceId);
    }
    await traceOf(receiver, kept, PUSH.length + 1);
    expect(receiver.spans.filter(({ traceId }) => traceId === unkept)).toEqual([]);
  });

  test('a failed request is a failed span, and one for missing content is not', async () => {
    const traceId = newTraceId();
    const missing = `${net.node(0).api}/chunks/${'ab'.repeat(32)}`;
    const answer = await fetch(missing, { headers: contextOf(traceId, { sampled: true }) });
    expect(answer.status).toBe(404);
    // Spans of other nodes may come first.
    const search = () => receiver.spans.find((span) => span.traceId === traceId && span.name === 'get-chunk');
    await expect.poll(search, { timeout: WAIT.timeoutMs }).toBeDefined();
    expect(search()).toMatchObject({ failed: true, attributes: { 'chunk.address': 'ab'.repeat(32) } });
    const plain = await fetch(`${net.node(0).api}/peers`);
    expect(plain.headers.get('traceresponse')).toBeNull();
  });

  test('spans are sent only to the OTLP path', () => {
    expect(new Set(receiver.requests)).toEqual(new Set(['POST /v1/traces']));
  });
});

test('pulled chunks are spans on both sides', async () => {
  await using receiver = await otlpReceiver();
  await using net = await Cluster.start({ nodes: 5, otlp: receiver.url, driver: 'embedded', stateDir });
  await upload(net.node(0), new Uint8Array(randomBytes(300_000)));
  const seen = (name: string) => receiver.spans.filter((span) => span.name === name);
  await until(
    'no chunks were pulled',
    async () =>
      seen('pull-chunks').length > 0 && seen('deliver-chunks').length > 0
        ? { done: true }
        : { missing: String(receiver.spans.length) },
    WAIT,
  );
  for (const { attributes, parentSpanId } of seen('pull-chunks')) {
    expect(parentSpanId).toBe('');
    expect(attributes['chunks']).toBeGreaterThan(0);
  }
});

test('only a share of the traces that begin at a node is kept', async () => {
  await using receiver = await otlpReceiver();
  await using net = await Cluster.start({
    nodes: [{ count: 2, options: { 'tracing-sampling-ratio': 0 } }],
    otlp: receiver.url,
    driver: 'embedded',
    stateDir,
  });
  const { reference } = await net.node(0).bytes.upload(randomBytes(100_000));
  await net.synced(reference);
  const traceId = newTraceId();
  await upload(net.node(0), new Uint8Array(randomBytes(100)), contextOf(traceId, { sampled: true }));
  await traceOf(receiver, traceId, 1);
  expect(receiver.spans.filter((span) => span.traceId !== traceId)).toEqual([]);
});

test('a missing receiver changes nothing but a line in the log', async () => {
  const [port] = await pickFreePorts(1);
  await using net = await Cluster.start({
    nodes: 2,
    otlp: `127.0.0.1:${port}`,
    driver: 'embedded',
    stateDir,
  });
  const data = new Uint8Array(randomBytes(500_000));
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  expect(sameBytes(await net.node(1).bytes.download(reference), data)).toBe(true);
  const complaints = async () =>
    (await net.node(0).logs({ lines: 1000 })).filter((line) => line.includes('trace spans dropped'));
  await eventually('nothing is said of it', async () =>
    (await complaints()).length > 0 ? undefined : 'no such line',
  );
  await net.node(0).stop();
  expect(await complaints()).toEqual([
    expect.stringContaining(`"endpoint":"http://127.0.0.1:${port}/v1/traces"`),
  ]);
});

test('finished spans are sent before a node stops', async () => {
  await using receiver = await otlpReceiver();
  await using net = await Cluster.start({ nodes: 1, otlp: receiver.url, stateDir });
  const traceId = await traceIdOf(await upload(net.node(0), new Uint8Array(randomBytes(100))));
  await net.node(0).stop();
  expect(receiver.spans.some((span) => span.traceId === traceId && span.name === 'POST /bytes')).toBe(true);
});

test('a node loads nothing for tracing or WebSockets that it does not have, and does not mention traces', async () => {
  await using receiver = await otlpReceiver();
  const loaded = { false: new Set<string>(), true: new Set<string>() };
  for (const enable of ['false', 'true'] as const) {
    const file = join(stateDir, `loaded-${enable}`);
    const hook = join(import.meta.dirname, 'loading-process.ts');
    vi.stubEnv('LOADED_PACKAGES', file);
    vi.stubEnv('NODE_OPTIONS', `--import=${hook}`);
    try {
      const options = { 'tracing-enable': enable === 'true', 'tracing-endpoint': receiver.url };
      await using net = await Cluster.start({ nodes: [{ count: 2, options }], driver: 'process', stateDir });
      const answer = await upload(
        net.node(0),
        new Uint8Array(randomBytes(10_000)),
        contextOf(newTraceId(), { sampled: true }),
      );
      expect(answer.status).toBe(201);
      expect(answer.headers.has('traceresponse')).toBe(enable === 'true');
    } finally {
      vi.unstubAllEnvs();
    }
    for (const name of readFileSync(file, 'utf8').split('\n')) loaded[enable].add(name);
  }
  const traces = (names: ReadonlySet<string>) => [...names].filter((name) => name.includes('opentelemetry'));
  expect(traces(loaded.true)).toContain('@opentelemetry/sdk-trace');
  expect(traces(loaded.false)).toEqual([]);
  expect([...loaded.false]).not.toContain('ws');
  // Proof that the hook sees what a node loads.
  expect([...loaded.false]).toContain('lmdb');
});
