/** One chunk's way across nodes as one trace, in OpenTelemetry's words. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../harness/base/wait.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/nodes/cluster-node.ts';
import { proximityOrder } from '../../../node/chunk/address.ts';
import { makeCac } from '../../../node/chunk/cac.ts';
import { fromHex, toHex } from '../../../node/crypto/hex.ts';
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';

/** A node stores what shares so many bits with it; others pass it on. */
const RADIUS = 2;
const WAIT = { timeoutMs: 20_000 };

/** Content of one chunk, near the last node and far from the others. */
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

/** Spans of one trace, once as many have come. */
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

/** `node-1 pushsync-handler` for each span from the first one down to the named one. */
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

describe.each(['embedded', 'process'] as const)('a line of three nodes, %s', (driver) => {
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
    });
  });
  afterAll(async () => {
    await net.stop();
    await receiver[Symbol.asyncDispose]();
  });

  test('a direct upload is one trace from the request to the node that stores the chunk', async () => {
    const { data, address } = contentNear(net);
    const traceId = await traceIdOf(await upload(net.node(0), data, { 'svc-deferred-upload': 'false' }));
    const spans = await traceOf(receiver, traceId, 6);
    expect(wayTo(spans, 'node-2', 'pushsync-handler')).toEqual([
      'node-0 POST /bytes',
      'node-0 push-chunk',
      'node-0 push-chunk-async',
      'node-1 pushsync-handler',
      'node-1 push-chunk-async',
      'node-2 pushsync-handler',
    ]);
    expect(address).toBe(address);
  });
});
