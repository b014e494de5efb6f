import type { ClusterNode } from 'svcnet';
import { defineScenario, parameter, plural, type ScenarioContext, toHex } from 'svcnet/scenario';
import {
  createFeed,
  type Feed,
  type UpdateVersion,
  updatePayload,
  versionsParameter,
} from './steps/feed-steps.ts';
import {
  batchOf,
  chosenNode,
  difference,
  errorAsText,
  inTime,
  ledgerDirect,
  otherNodes,
  verifyLedger,
} from './steps/steps.ts';

const parameters = {
  updates: parameter('integer', 5, 'number of updates of each feed', { min: 1 }),
  size: parameter('size', 2000, 'size of the file that an update refers to', { min: 1 }),
  versions: versionsParameter,
  node: parameter('node', '', 'node that updates the feeds; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

/** For a reader: the acknowledged update is on the network, but the reader may need its own requests. */
const SEEN_WITHIN_MS = 30_000;

export default defineScenario({
  name: 'feed',
  group: 'functional',
  about:
    'Updates feeds on one node, then reads each update on every other node, directly and through the feed manifest.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 300_000,
  async run(context) {
    const writer = chosenNode(context, context.parameters.node);
    for (const version of context.parameters.versions as readonly UpdateVersion[]) {
      const feed = await createFeed(context, writer, version);
      for (let index = 0; index < context.parameters.updates; index++) {
        const data = context.random(`${version} update ${index}`).bytes(context.parameters.size);
        await context.step('update', async (progress) => {
          progress.detail(`${version}, ${index + 1} of ${context.parameters.updates} on ${writer.name}`);
          await update(context, writer, feed, BigInt(index), data);
        });
        await context.step('look up', async (progress) => {
          const readers = otherNodes(context.cluster.nodes, writer);
          progress.detail(`on ${plural(readers.length, 'node')}`);
          await Promise.all(readers.map((reader) => readUpdate(context, reader, feed, BigInt(index), data)));
        });
      }
    }
    await verifyLedger(context);
  },
});

/** First the file, then the update; both are on the network once acknowledged. */
async function update(
  context: Context,
  node: ClusterNode,
  { version, owner, topic }: Feed,
  index: bigint,
  data: Uint8Array,
): Promise<void> {
  const { signal } = context;
  const batch = batchOf(node);
  const requestedAtMs = context.cluster.clock.now();
  const key = { operation: `update feed ${version}`, node: node.name };
  const work = async () => {
    const file = await node.files.upload(data, { batch, deferred: false, name: 'update', signal });
    const wrapped = await updatePayload(version, file.reference, node, context);
    return node.feeds.update(owner, { topic, index, wrapped }, { batch, signal });
  };
  const { reference } = await context.measure(key, work, () => data.length);
  await ledgerDirect(context, node, {
    kind: 'feed-update',
    reference,
    size: data.length,
    chunks: [reference],
    requestedAtMs,
  });
}

async function readUpdate(
  context: Context,
  reader: ClusterNode,
  { version, owner, topic, root }: Feed,
  index: bigint,
  data: Uint8Array,
): Promise<void> {
  const { signal } = context;
  const what = `${reader.name} finds update ${index} of the ${version} feed`;
  const find = (waiting: AbortSignal) =>
    errorAsText(waiting, async () => {
      const latest = await reader.feeds.latest(toHex(owner.address), topic, { signal: waiting });
      const right = latest.index === index && latest.next === index + 1n;
      return right ? undefined : `index ${latest.index}, next ${latest.next}`;
    });
  const work = () => inTime(what, find, { ...context, timeoutMs: SEEN_WITHIN_MS });
  const missing = await context.measure({ operation: 'look up feed', node: reader.name }, work, () => 0);
  context.expect(what, missing === undefined, {
    observed: missing ?? `index ${index}`,
    expected: `index ${index}`,
  });
  const browse = () => reader.files.download(root, '', { signal });
  const key = { operation: 'browse feed', node: reader.name };
  const seen = await context.measure(key, browse, ({ length }) => length);
  const part = difference(seen, data);
  context.expect(`${reader.name} serves update ${index} behind the ${version} manifest`, part === undefined, {
    observed: part ?? 'equal bytes',
    expected: `${data.length} bytes`,
  });
}
