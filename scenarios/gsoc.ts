import { type ClusterNode, HarnessError } from 'svcnet';
import {
  buyBatch,
  closerTo,
  defineScenario,
  fromHex,
  makeCac,
  parameter,
  type ScenarioContext,
  type Signer,
  signSoc,
  socAddress,
  socParts,
  toHex,
} from 'svcnet/scenario';
import { ownerNear } from './steps/gsoc-owner.ts';
import { batchOf, chosenNode, inTime } from './steps/steps.ts';

const RECEIVE_TIMEOUT_MS = 180_000;
/** A day at 24,000 per chunk and block, one block a second. */
const BATCH_AMOUNT = 24_000n * 86_400n;

const parameters = {
  count: parameter('integer', 10, 'number of messages in each of the two runs', { min: 1 }),
  proximity: parameter('integer', 12, 'leading bits that the address shares with the listener’s overlay', {
    min: 1,
  }),
  depth: parameter(
    'integer',
    20,
    'depth of the second batch: all messages fall into one or two of its buckets',
    {
      min: 17,
    },
  ),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
  listener: parameter('node', '', 'full node that listens; the closest to the uploader when empty'),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'gsoc',
  group: 'functional',
  about:
    'Sends many payloads to one single-owner chunk address (GSOC) from two batches, and checks that listeners nearby get them all.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    if ((await context.cluster.unlistedPeers(context.signal)).length > 0)
      context.skip('the network has nodes that its file does not list: they may be closer than any listener');
    const uploader = chosenNode(context, context.parameters.node);
    const { listener: name } = context.parameters;
    const listener = name === '' ? closestTo(context, uploader) : context.cluster.node(name);
    const batches = await twoBatches(context, uploader);
    for (const order of ['in sequence', 'in parallel'] as const) {
      await context.step(order, async (progress) => {
        progress.detail(`${uploader.name} to ${listener.name}`);
        await run(context, { uploader, listener, batches, order });
      });
    }
  },
});

function closestTo({ cluster }: Context, uploader: ClusterNode): ClusterNode {
  const overlay = (node: ClusterNode) => fromHex(node.overlay);
  const [closest] = cluster.nodes
    .filter((node) => node.running && node.mode === 'full' && node !== uploader)
    .sort((a, b) => closerTo(overlay(uploader), overlay(a), overlay(b)));
  if (closest === undefined) throw new HarnessError('NODE_STATE', 'there is no full node to listen');
  return closest;
}

async function twoBatches(context: Context, node: ClusterNode): Promise<readonly [string, string]> {
  const first = batchOf(node);
  const request = { amount: BATCH_AMOUNT, depth: context.parameters.depth, label: 'gsoc second' };
  const second = await context.step('batch', () => buyBatch(context.cluster, node, request, context.signal));
  context.expect('the two batches differ', first !== second, { observed: second, expected: `not ${first}` });
  return [first, second];
}

interface Run {
  readonly uploader: ClusterNode;
  readonly listener: ClusterNode;
  readonly batches: readonly [string, string];
  readonly order: 'in sequence' | 'in parallel';
}

async function run(context: Context, { uploader, listener, batches, order }: Run): Promise<void> {
  const { count, proximity } = context.parameters;
  const { signal } = context;
  const id = context.random(order).bytes(32);
  const owner = ownerNear(fromHex(listener.overlay), id, proximity);
  using subscription = await listener.messages.listenTo(toHex(socAddress(id, owner.address)), signal);
  const texts = Array.from({ length: count }, (_, i) => `data ${i}`);
  const send = async (text: string, i: number) => {
    const work = () => upload(uploader, { id, owner, text, batch: batches[i % 2] ?? '' }, signal);
    await context.measure({ operation: 'upload payload', node: uploader.name }, work, () => text.length);
  };
  const hear = (expected: readonly string[]) => {
    const probe = async () => {
      const missing = expected.filter((text) => !subscription.texts.includes(text));
      return missing.length === 0 ? undefined : `missing: ${missing.join(', ')}`;
    };
    const work = () => inTime('all are heard', probe, { ...context, timeoutMs: RECEIVE_TIMEOUT_MS });
    return context.measure(
      { operation: 'deliver payloads', node: listener.name },
      work,
      () => expected.length,
    );
  };
  if (order === 'in parallel') await Promise.all(texts.map(send));
  else
    for (const [i, text] of texts.entries()) {
      await send(text, i);
      // The payload after the next replaces it: one on another way must have arrived.
      await hear([text]);
    }

  const missing = await hear(texts);
  const what = `${listener.name} hears all ${count} payloads uploaded ${order}`;
  context.expect(what, missing === undefined, { observed: missing ?? 'all', expected: 'all' });
  // A Bee delivers a payload whenever its chunk passes.
  const duplicates = listener.flavour === 'svc' ? subscription.received.length - count : 0;
  context.expect(`no payload arrives twice (${order})`, duplicates <= 0, {
    observed: `${duplicates} more`,
    expected: '0 more',
  });
}

async function upload(
  node: ClusterNode,
  { id, owner, text, batch }: { id: Uint8Array; owner: Signer; text: string; batch: string },
  signal: AbortSignal,
): Promise<void> {
  const chunk = signSoc(id, makeCac(BigInt(text.length), Buffer.from(text)).data, owner);
  await node.soc.upload(toHex(owner.address), socParts(chunk.data), { batch, signal });
}
