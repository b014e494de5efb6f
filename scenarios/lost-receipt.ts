import { type ClusterNode, faultsOf, type TapEvent } from 'svcnet';
import { defineScenario, linkGaps, parameter, readNodeBooks, type ScenarioContext } from 'svcnet/scenario';
import {
  contentOf,
  conversations,
  isOver,
  matched,
  type OneChunk,
  type Pair,
  pairs,
  said,
} from './steps/messages.ts';
import { CHUNK_PRICE_MAX } from './steps/money.ts';
import { batchOf, inTime } from './steps/steps.ts';

const parameters = {
  by: parameter('text', 'reset', 'how: the stream is reset, or nothing arrives', {
    oneOf: ['reset', 'hang'],
  }),
  within: parameter('integer', 120, 'seconds within which the chunk must count as synced', {
    min: 1,
    allowance: true,
  }),
};
type Context = ScenarioContext<typeof parameters>;

/** For reserves and books; a loaded machine gets more time. */
const FOLLOWS_WITHIN_MS = 60_000;

export default defineScenario({
  name: 'lost-receipt',
  group: 'chaos',
  tags: ['messages'],
  about:
    'Loses a pushed chunk’s receipt: the chunk must be pushed again, and count once in tag, reserve and books.',
  parameters,
  needs: { nodes: 3, capabilities: ['tap'] },
  cluster: { nodes: 3 },
  timeoutMs: 600_000,
  async run(context) {
    for (const pair of pairs(context)) await lose(context, pair);
  },
});

function lose(context: Context, { flavour, node, peer }: Pair): Promise<void> {
  return context.step(`receipts for ${flavour}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const chunk = contentOf(context, peer, `chunk for ${node.name}`);
    const gaps = await gapsOf(context, node);
    const stored = await storedOn(context, peer);
    const { id } = await cluster.faults.message({
      to: node.name,
      from: cluster.nodes.filter((other) => other !== node).map(({ name }) => name),
      oneWay: true,
      protocol: 'pushsync',
      message: 'receipt',
      where: `address is ${chunk.address}`,
      first: 1,
      drop: true,
      ...(given.by === 'reset' ? { reset: true } : {}),
    });
    const options = { batch: batchOf(node), deferred: true, redundancyLevel: 0, signal } as const;
    const { tag = 0 } = await node.bytes.upload(chunk.data, options);
    await matched(context, id, ['messages dropped', 1]);
    await synced(context, { flavour, node, tag });
    await cluster.faults.heal(id);
    await pushedAgain(context, { flavour, node, peer }, chunk);
    await storedOnce(context, { flavour, node, peer }, chunk, stored);
    await paidOnce(context, { flavour, node, peer }, gaps);
    const { synced: count } = await node.tags.get(tag, signal);
    context.expect(`${flavour}: the chunk counts once for its tag`, count === 1, {
      observed: count,
      expected: 1,
      evidence: `${node.name} tag ${tag}`,
    });
    progress.detail(`${node.name} pushes to ${peer.name}`);
  });
}

async function synced(
  context: Context,
  { flavour, node, tag }: Pick<Pair, 'flavour' | 'node'> & { readonly tag: number },
): Promise<void> {
  const probe = async (limit: AbortSignal) =>
    (await node.tags.get(tag, limit)).synced > 0 ? undefined : 'not synced';
  const { within } = context.parameters;
  const missing = await inTime('the tag counts it', probe, { ...context, timeoutMs: within * 1000 });
  context.expect(`${flavour}: a chunk whose receipt was lost is synced in the end`, missing === undefined, {
    observed: missing ?? 'synced',
    expected: `synced within ${within} s`,
    evidence: `${node.name} tag ${tag}`,
  });
}

async function pushedAgain(context: Context, { flavour, node }: Pair, { address }: OneChunk): Promise<void> {
  const events = await said(context, 'pushsync', ({ kind, fields }) => {
    return kind === 'message' && fields['address'] === address;
  });
  const pushes = events.filter(({ name, from }) => name === 'delivery' && from === node.name);
  const lost = events.filter((event) => faultsOf(event).includes('dropped'));
  context.expect(`${flavour}: the chunk is pushed again`, pushes.length > lost.length && lost.length > 0, {
    observed: `${pushes.length} pushes to ${pushes.map(({ to }) => to).join(', ')}, ${lost.length} receipts lost`,
    expected: 'more pushes than lost receipts',
    evidence: address,
  });
}

interface Stored {
  /** Chunks in its reserve. */
  readonly count: number;
  /** Conversations that brought them: later ones may bring more. */
  readonly brought: ReadonlySet<string>;
}

async function storedOn(context: Context, node: ClusterNode): Promise<Stored> {
  const brought = (await bringing(context, node)).filter(isOver).map(([first]) => first.stream);
  return { brought: new Set(brought), count: await reserveOf(node, context.signal) };
}

type Conversation = readonly [TapEvent, ...TapEvent[]];

async function bringing(context: Context, node: ClusterNode): Promise<Conversation[]> {
  const all = await Promise.all(['pushsync', 'pullsync'].map((name) => conversations(context, name)));
  return all.flat().filter((events): events is Conversation => deliveries(events, node).length > 0);
}

function deliveries(events: readonly TapEvent[], { name }: ClusterNode): TapEvent[] {
  return events.filter((event) => event.name === 'delivery' && event.to === name);
}

/** The peer has it when it comes again. Other chunks may come meanwhile. */
async function storedOnce(
  context: Context,
  { flavour, peer }: Pair,
  { address }: OneChunk,
  before: Stored,
): Promise<void> {
  let now = before.count;
  const isIt = ({ fields }: TapEvent) => fields['address'] === address;
  const probe = async (limit: AbortSignal) => {
    const open = (await bringing(context, peer)).filter((events) => !isOver(events) && events.some(isIt));
    now = await reserveOf(peer, limit);
    return now > before.count && open.length === 0
      ? undefined
      : `${now} chunks, ${open.length} conversations that bring it`;
  };
  await inTime('it is in the reserve', probe, { ...context, timeoutMs: FOLLOWS_WITHIN_MS });
  const since = (await bringing(context, peer)).filter(([{ stream }]) => !before.brought.has(stream));
  const others = since.flatMap((events) => deliveries(events, peer)).filter((event) => !isIt(event));
  const entries = new Set(others.map(({ fields }) => JSON.stringify([fields['address'], fields['stamp']])));
  const most = before.count + 1 + entries.size;
  context.expect(`${flavour}: the reserve of the storer counts it once`, now > before.count && now <= most, {
    observed: `${now} chunks`,
    expected: `${before.count + 1} chunks, or ${most} with the others that came meanwhile`,
    evidence: peer.name,
  });
}

async function reserveOf({ client }: ClusterNode, signal: AbortSignal): Promise<number> {
  return (await client.status(signal)).reserveSize;
}

/** The storer may count a push whose receipt was lost. Nothing else may differ. */
async function paidOnce(
  context: Context,
  { flavour, node }: Pair,
  before: ReadonlyMap<string, bigint>,
): Promise<void> {
  let grown: string[] = [];
  const probe = async () => {
    const gaps = await gapsOf(context, node);
    grown = [...gaps]
      .map(([link, gap]) => ({ link, by: gap - (before.get(link) ?? 0n) }))
      .filter(({ link, by }) => by > (link.startsWith('balance') ? CHUNK_PRICE_MAX : 0n))
      .map(({ link, by }) => `${link} differs by ${by}`);
    return grown[0];
  };
  await inTime('the ends of its links agree', probe, { ...context, timeoutMs: FOLLOWS_WITHIN_MS });
  context.expect(
    `${flavour}: both ends of each link count the same, but for the push without a receipt`,
    grown.length === 0,
    {
      observed: grown.join('; ') || 'they do',
      expected: `balances that differ by at most ${CHUNK_PRICE_MAX}, equal payments`,
    },
  );
}

async function gapsOf({ cluster, signal }: Context, { name }: ClusterNode): Promise<Map<string, bigint>> {
  const running = cluster.nodes.filter((one) => one.running);
  const books = await Promise.all(running.map((one) => readNodeBooks(one, signal)));
  const own = linkGaps(books).filter(({ ends }) => ends.includes(name));
  return new Map(own.map(({ id, gap }) => [id, gap]));
}
