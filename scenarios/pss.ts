import { type ClusterNode, HarnessError, type Subscription } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { batchOf, inTime } from './steps/steps.ts';

const RECEIVE_TIMEOUT_MS = 180_000;
/** Bytes that address one of many thousands of nodes. */
const OPEN_PREFIX = 2;

const parameters = {
  count: parameter('integer', 3, 'number of messages to send', { min: 1 }),
  prefix: parameter(
    'integer',
    1,
    'number of bytes of the receiver’s overlay that make up the target address: 1 to 3',
    {
      min: 1,
    },
  ),
  topic: parameter('text', 'test', 'topic of the messages'),
  size: parameter('size', 14, 'size of a message', { min: 12, max: 4000 }),
  receiver: parameter('node', '', 'full node that receives; the first one when empty'),
  node: parameter('node', '', 'node that sends; the first other full one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'pss',
  group: 'functional',
  about:
    'Sends encrypted messages to a node, which must receive each exactly once; other keys and topics must receive none.',
  parameters,
  needs: { nodes: 3 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    const [receiver, sender, stranger] = threeOf(context);
    const { topic } = context.parameters;
    const { signal } = context;
    const isOpen = (await context.cluster.unlistedPeers(signal)).length > 0;
    const prefix = isOpen ? Math.max(OPEN_PREFIX, context.parameters.prefix) : context.parameters.prefix;
    const recipient = (await receiver.client.addresses(signal)).pssPublicKey;
    using mine = await receiver.messages.listen(topic, signal);
    using elsewhere = await receiver.messages.listen(`not ${topic}`, signal);
    using strange = await stranger.messages.listen(topic, signal);
    const send = async (text: string, to: ClusterNode, key?: string) => {
      const options = { batch: batchOf(sender), signal, recipient: key };
      const work = () => sender.messages.send(topic, [to.overlay.slice(0, 2 * prefix)], text, options);
      await context.measure({ operation: 'send message', node: sender.name }, work, () => text.length);
    };
    const texts: string[] = [];
    await context.step('send', async (progress) => {
      const random = context.random('messages');
      for (let i = 0; i < context.parameters.count; i++) {
        const text = Buffer.from(random.bytes(context.parameters.size))
          .toString('hex')
          .slice(0, context.parameters.size);
        texts.push(text);
        await send(text, receiver, recipient);
        await expectHeard(context, receiver, mine, text);
        progress.progress(i + 1, context.parameters.count, 'messages');
      }
    });
    // Last: a node that hears it could hear everything.
    const last = 'the last one';
    for (const [node, subscription] of [
      [receiver, mine],
      [stranger, strange],
    ] as const) {
      await send(`${last} for ${node.name}`, node);
      await expectHeard(context, node, subscription, `${last} for ${node.name}`);
    }
    // A Bee whose last topic cannot open a chunk delivers an empty message there; clients ignore it.
    const meant = (text: string) => text !== '' && !text.startsWith(last);
    // A Bee delivers a message whenever its chunk passes.
    const heard = mine.texts.filter(meant);
    const counted = receiver.flavour === 'svc' ? heard : [...new Set(heard)];
    context.expect('each message arrives once', counted.length === texts.length, {
      observed: `${counted.length} messages`,
      expected: `${texts.length} messages`,
    });
    const overheard = strange.texts.filter(meant).length;
    context.expect('a node with another key hears nothing', overheard === 0, {
      observed: `${overheard} messages on ${stranger.name}`,
      expected: '0 messages',
    });
    const astray = elsewhere.texts.filter((text) => text !== '').length;
    context.expect('another topic hears nothing', astray === 0, {
      observed: `${astray} messages on ${receiver.name}`,
      expected: '0 messages',
    });
  },
});

function threeOf({
  cluster,
  parameters,
}: Context): [receiver: ClusterNode, sender: ClusterNode, stranger: ClusterNode] {
  const full = cluster.nodes.filter((node) => node.running && node.mode === 'full');
  const choose = (name: string, taken: readonly (ClusterNode | undefined)[]) =>
    name === '' ? full.find((node) => !taken.includes(node)) : cluster.node(name);
  const named = parameters.node === '' ? undefined : cluster.node(parameters.node);
  const receiver = choose(parameters.receiver, [named]);
  const sender = named ?? choose('', [receiver]);
  const stranger = choose('', [receiver, sender]);
  if (receiver === undefined || sender === undefined || stranger === undefined)
    throw new HarnessError('NODE_STATE', 'three full nodes are needed');
  return [receiver, sender, stranger];
}

async function expectHeard(
  context: Context,
  node: ClusterNode,
  subscription: Subscription,
  text: string,
): Promise<void> {
  const probe = async () =>
    subscription.texts.includes(text) ? undefined : `${subscription.received.length} others came`;
  const what = `${node.name} hears ${JSON.stringify(text.slice(0, 24))}`;
  const work = () => inTime(what, probe, { ...context, timeoutMs: RECEIVE_TIMEOUT_MS });
  const key = { operation: 'deliver message', node: node.name };
  const missing = await context.measure(key, work, () => text.length);
  context.expect(what, missing === undefined, { observed: missing ?? 'heard', expected: 'heard' });
}
