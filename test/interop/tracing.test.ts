/**
 * A Bee sends its own spans to a Jaeger agent, or from 2.8.2 to the receiver; the context must leave it with the trace that
 * came in.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closerTo } from '../../formats/chunk/address.ts';
import { makeCac } from '../../formats/chunk/cac.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from '../cluster/node/otlp-receiver.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { aBee, describeOthers, errorsInLogs, eventually, startMixed } from './kit.ts';

/** An application begins with it. */
const APPLICATION_SPAN = '00f067aa0ba902b7';

describeOthers(aBee, '$title', (side) => {
  const stateDir = temporaryFolder('svcnet-tracing');
  let receiver: OtlpReceiver;
  let net: Cluster;
  let first: ClusterNode;
  let last: ClusterNode;
  let theirs: ClusterNode;
  beforeAll(async () => {
    receiver = await otlpReceiver();
    net = await startMixed({ side, own: 2, others: 1, seed: 31, otlp: receiver.url, stateDir });
    [first, last, theirs] = [net.node(0), net.node(1), net.node(2)];
    await keepTo(first, theirs);
  });
  afterAll(async () => {
    await net.stop();
    await receiver[Symbol.asyncDispose]();
  });

  /** Once there are some of the named node. */
  const traceAt = (traceId: string, node: ClusterNode, name: string): Promise<ReceivedSpan> =>
    eventually(
      `no ${name} of ${node.name} in the trace`,
      async () =>
        receiver.spans.find(
          (span) => span.traceId === traceId && span.service === node.name && span.name === name,
        ),
      (span) => span !== undefined,
    ) as Promise<ReceivedSpan>;

  const sendsOtlp = () => configOf(theirs).includes('tracing-insecure: true');

  test('it is given the address for its traces, and its name', () => {
    const config = configOf(theirs);
    expect(config).toContain('tracing-enable: true');
    const receives = sendsOtlp() ? new URL(receiver.url).host : '127.0.0.1:6831';
    expect(config).toContain(`tracing-endpoint: "${receives}"`);
    expect(config).toContain(`tracing-service-name: "${theirs.name}"`);
  });

  test('a request that it forwards between our nodes stays in its trace', async () => {
    const address = addressCloserTo(last, theirs);
    const traceId = randomBytes(16).toString('hex');
    const answer = await fetch(`${first.api}/chunks/${address}`, {
      headers: { traceparent: `00-${traceId}-${APPLICATION_SPAN}-01` },
    });
    expect(answer.status).toBe(404);
    const asked = await traceAt(traceId, first, 'retrieve-chunk');
    expect(asked.attributes).toMatchObject({ 'chunk.address': address, 'peer.overlay': theirs.overlay });
    const served = await traceAt(traceId, last, 'handle-retrieve-chunk');
    expect(served.attributes).toMatchObject({ 'chunk.address': address, 'peer.overlay': theirs.overlay });
    // A span of the Bee.
    expect(served.parentSpanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    expect(receiver.spans.map(({ spanId }) => spanId)).not.toContain(served.parentSpanId);
  });

  test('pushes for an application of the Bee reach our nodes in the trace of that application', async () => {
    const data = contentCloserTo(last, theirs);
    const traceId = randomBytes(16).toString('hex');
    const answer = await fetch(`${theirs.api}/bytes`, {
      method: 'POST',
      body: data,
      headers: {
        'swarm-postage-batch-id': theirs.batch ?? '',
        'swarm-deferred-upload': 'false',
        'swarm-trace-id': `${traceId}:${APPLICATION_SPAN}:0:1`,
        // From 2.8.2.
        traceparent: `00-${traceId}-${APPLICATION_SPAN}-01`,
      },
    });
    expect(answer.status).toBe(201);
    const pushed = await traceAt(traceId, last, 'pushsync-handler');
    expect(pushed.attributes).toMatchObject({ 'peer.overlay': theirs.overlay });
    expect(pushed.events).toContain('stored');
    if (!sendsOtlp()) return;
    const ids = Buffer.from(traceId, 'hex');
    await eventually(
      `no span of ${theirs.name} in the trace`,
      async () => receiver.binary.some((sent) => sent.includes(ids) && sent.includes(theirs.name)),
      (has) => has,
    );
  });

  test('no log has an error', async () => {
    expect(await errorsInLogs(net)).toEqual([]);
  });
});

function configOf({ dataDir }: ClusterNode): string {
  return readFileSync(join(dataDir, 'config.yaml'), 'utf8');
}

/** The peer stands between it and all others. */
async function keepTo(node: ClusterNode, peer: ClusterNode): Promise<void> {
  await node.stop();
  const file = join(node.dataDir, 'config.yaml');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...config, bootnode: [], 'only-peers': [peer.p2p] }));
  await node.start();
  await eventually(
    `${node.name} has no link to ${peer.name} alone`,
    async () => (await node.client.peers()).map(String),
    (peers) => peers.length === 1,
  );
}

function isCloserTo(node: ClusterNode, other: ClusterNode, address: Uint8Array): boolean {
  return closerTo(address, fromHex(node.overlay), fromHex(other.overlay)) < 0;
}

function addressCloserTo(node: ClusterNode, other: ClusterNode): string {
  for (;;) {
    const address = new Uint8Array(randomBytes(32));
    if (isCloserTo(node, other, address)) return toHex(address);
  }
}

function contentCloserTo(node: ClusterNode, other: ClusterNode): Uint8Array {
  for (;;) {
    const data = new Uint8Array(randomBytes(100));
    if (isCloserTo(node, other, makeCac(BigInt(data.length), data).address)) return data;
  }
}
