import { ClientError, type ClusterNode, HarnessError, type Stamp } from 'svcnet';
import {
  type BatchRequest,
  batchAmount,
  buyBatch,
  defineScenario,
  makeCac,
  parameter,
  type ScenarioContext,
} from 'svcnet/scenario';
import { checkBooks, expectRefusal, minedOf } from './steps/money.ts';
import { chosenNode, inTime, otherNodes } from './steps/steps.ts';

const parameters = {
  hours: parameter('integer', 24, 'lifetime of the batches at the current price, in hours', { min: 1 }),
  'top-up': parameter('integer', 24, 'hours to add to one batch by a top-up', { min: 1 }),
  depth: parameter('integer', 17, 'depth of the batches, in bits', { min: 17 }),
  'new-depth': parameter('integer', 18, 'depth to which one batch is diluted', { min: 18 }),
  node: parameter('node', '', 'node that buys the batches; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

const HOUR_MS = 3_600_000;
/** Of nodes' batches. */
const BUCKET_DEPTH = 16;
/** For the changing node. */
const SEEN_WITHIN_MS = 60_000;
/** Of a time to live, seconds: blocks come between two looks. */
const TTL_TOLERANCE = 60;
const PAYLOAD_SIZE = 32;

export default defineScenario({
  name: 'postage',
  group: 'economics',
  about:
    'Buys, tops up, dilutes and fills batches, then checks amounts, lifetimes, prices and which nodes know the batches.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 2 },
  timeoutMs: 300_000,
  async run(context) {
    const node = chosenNode(context, context.parameters.node);
    const { depth } = context.parameters;
    if (context.parameters['new-depth'] <= depth) {
      throw new HarnessError(
        'USAGE',
        `new-depth is ${context.parameters['new-depth']}, must be above ${depth}`,
      );
    }
    const batch = await buy(context, node, 'bought', { immutable: true });
    await known(context, node, batch);
    await topUp(context, node, batch);
    await dilute(context, node, batch);
    await fill(context, node, await buy(context, node, 'immutable', { immutable: true }), 'is refused');
    await fill(
      context,
      node,
      await buy(context, node, 'mutable', { immutable: false }),
      'replaces the oldest',
    );
    await together(context, node);
    await checkBooks(context);
  },
});

async function perChunk({ cluster }: Context, hours: number): Promise<bigint> {
  return batchAmount(hours * HOUR_MS, await cluster.chain.batchTerms());
}

function buy(
  context: Context,
  node: ClusterNode,
  label: string,
  more: Pick<BatchRequest, 'immutable'>,
): Promise<string> {
  return context.step(`buy ${label}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const { depth } = given;
    const amount = await perChunk(context, given.hours);
    const before = await cluster.chain.tokenBalance(node.ethereum);
    const request = { amount, depth, label, ...more };
    const key = { operation: 'buy and use', node: node.name };
    const batch = await context.measure(
      key,
      () => buyBatch(cluster, node, request, signal),
      () => 0,
    );
    const stamp = await node.stamps.get(batch, signal);
    const seen = [
      stamp.amount,
      stamp.depth,
      stamp.bucketDepth,
      stamp.immutableFlag,
      stamp.label,
      stamp.usable,
    ];
    const expected = [amount, depth, BUCKET_DEPTH, more.immutable, label, true];
    context.expect(`${label}: the batch is what was asked for`, String(seen) === String(expected), {
      observed: seen.join(', '),
      expected: expected.join(', '),
    });
    const cost = before - (await cluster.chain.tokenBalance(node.ethereum));
    context.expect(`${label}: it costs its amount for every chunk`, cost === amount << BigInt(depth), {
      observed: cost,
      expected: amount << BigInt(depth),
    });
    context.figure({ name: `price of ${label}`, of: node.name, value: cost.toString(), unit: 'token units' });
    progress.detail(`batch ${batch.slice(0, 8)} for ${cost} token units`);
    return batch;
  });
}

function known(context: Context, node: ClusterNode, batch: string): Promise<void> {
  return context.step('known', async () => {
    const { signal } = context;
    const value = await perChunk(context, context.parameters.hours);
    for (const other of otherNodes(context.cluster.nodes, node)) {
      const listed = (await other.stamps.list(signal)).some(({ batchID }) => batchID === batch);
      context.expect(`${other.name} does not offer the batch of another`, !listed, {
        observed: listed,
        expected: false,
      });
      const found = (await other.stamps.network(signal)).find(({ batchID }) => batchID === batch);
      const fits = found?.owner === node.ethereum && found.value >= value;
      context.expect(`${other.name} knows the batch and its owner`, fits, {
        observed: found === undefined ? 'nothing' : `owner ${found.owner}, value ${found.value}`,
        expected: `owner ${node.ethereum}, value at least ${value}`,
      });
    }
  });
}

async function seenAs(
  context: Context,
  node: ClusterNode,
  batch: string,
  is: (stamp: Stamp) => boolean,
): Promise<Stamp> {
  let last: Stamp | undefined;
  await inTime(
    'the change is seen',
    async (signal) => {
      last = await node.stamps.get(batch, signal);
      return is(last) ? undefined : `amount ${last.amount}, depth ${last.depth}`;
    },
    { ...context, timeoutMs: SEEN_WITHIN_MS },
  );
  if (last === undefined) throw new HarnessError('NODE_STATE', `${node.name} shows no batch ${batch}`);
  return last;
}

function topUp(context: Context, node: ClusterNode, batch: string): Promise<void> {
  return context.step('top up', async (progress) => {
    const { signal, cluster } = context;
    const added = await perChunk(context, context.parameters['top-up']);
    const before = await node.stamps.get(batch, signal);
    const tokens = await cluster.chain.tokenBalance(node.ethereum);
    const work = async () => minedOf(context, await node.stamps.topUp(batch, added, signal));
    const { gasUsed } = await context.measure({ operation: 'top up', node: node.name }, work, () => 0);
    const after = await seenAs(context, node, batch, ({ amount }) => amount === before.amount + added);
    const grown = after.amount === before.amount + added && after.depth === before.depth;
    context.expect('a top-up adds its amount, and changes nothing else', grown, {
      observed: `amount ${after.amount}, depth ${after.depth}`,
      expected: `amount ${before.amount + added}, depth ${before.depth}`,
    });
    const lasting = (after.batchTTL - before.batchTTL) * 1000;
    const hours = context.parameters['top-up'];
    context.expect('a top-up extends the lifetime by what was added', near(lasting / 1000, hours * 3600), {
      observed: `${(lasting / HOUR_MS).toFixed(2)} h`,
      expected: `${hours} h`,
    });
    const cost = tokens - (await cluster.chain.tokenBalance(node.ethereum));
    context.expect('a top-up costs its amount for every chunk', cost === added << BigInt(before.depth), {
      observed: cost,
      expected: added << BigInt(before.depth),
    });
    context.figure({ name: 'gas of a top-up', of: node.name, value: gasUsed.toString(), unit: 'gas' });
    progress.detail(`${added} for each chunk`);
  });
}

function near(seconds: number, expected: number): boolean {
  return Math.abs(seconds - expected) <= TTL_TOLERANCE;
}

function dilute(context: Context, node: ClusterNode, batch: string): Promise<void> {
  return context.step('dilute', async (progress) => {
    const { signal, cluster } = context;
    const depth = context.parameters['new-depth'];
    const before = await node.stamps.get(batch, signal);
    const factor = 2 ** (depth - before.depth);
    const tokens = await cluster.chain.tokenBalance(node.ethereum);
    await expectRefusal(context, 'a dilution to less', 400, () =>
      node.stamps.dilute(batch, before.depth - 1, signal),
    );
    const work = async () => minedOf(context, await node.stamps.dilute(batch, depth, signal));
    const { gasUsed } = await context.measure({ operation: 'dilute', node: node.name }, work, () => 0);
    const after = await seenAs(context, node, batch, (stamp) => stamp.depth === depth);
    context.expect('a dilution changes the depth', after.depth === depth, {
      observed: after.depth,
      expected: depth,
    });
    const halved = before.batchTTL / factor;
    context.expect('a dilution shortens the lifetime accordingly', near(after.batchTTL, halved), {
      observed: `${after.batchTTL} s`,
      expected: `${halved.toFixed(0)} s`,
    });
    const cost = tokens - (await cluster.chain.tokenBalance(node.ethereum));
    context.expect('a dilution costs no tokens', cost === 0n, { observed: cost, expected: 0n });
    context.figure({ name: 'gas of a dilution', of: node.name, value: gasUsed.toString(), unit: 'gas' });
    progress.detail(`depth ${before.depth} to ${depth}`);
  });
}

/** An immutable batch refuses one more chunk, a mutable one overwrites the oldest. */
function fill(
  context: Context,
  node: ClusterNode,
  batch: string,
  outcome: 'is refused' | 'replaces the oldest',
): Promise<void> {
  return context.step(`chunk ${outcome}`, async (progress) => {
    const { signal } = context;
    const room = 2 ** (context.parameters.depth - BUCKET_DEPTH);
    const [last, ...chunks] = sameBucket(context, outcome, room + 1);
    if (last === undefined) return;
    const send = (data: Uint8Array) => node.chunks.upload(data, { batch, signal });
    for (const data of chunks) await send(data);
    if (outcome === 'is refused') {
      await expectRefusal(context, 'a chunk for a bucket that is full', 402, () => send(last));
    } else {
      const { reference } = await send(last);
      const back = await node.chunks.download(reference, { signal });
      context.expect('a mutable batch takes a chunk for a full bucket', Buffer.compare(back, last) === 0, {
        observed: `${back.length} bytes`,
        expected: `${last.length} bytes`,
      });
    }
    const stamp = await node.stamps.get(batch, signal);
    context.expect(`chunk ${outcome}: the batch is used up to its bucket`, stamp.utilization === room, {
      observed: stamp.utilization,
      expected: room,
    });
    progress.detail(`${room} chunks fit`);
  });
}

function sameBucket(context: Context, stream: string, count: number): Uint8Array[] {
  const random = context.random(stream);
  const buckets = new Map<number, Uint8Array[]>();
  for (;;) {
    const { data, address } = makeCac(BigInt(PAYLOAD_SIZE), random.bytes(PAYLOAD_SIZE));
    const bucket = new DataView(address.buffer, address.byteOffset).getUint16(0);
    const chunks = [...(buckets.get(bucket) ?? []), data];
    if (chunks.length === count) return chunks;
    buckets.set(bucket, chunks);
  }
}

function together(context: Context, node: ClusterNode): Promise<void> {
  return context.step('at once', async () => {
    const { signal, parameters: given } = context;
    const request = { amount: await perChunk(context, given.hours), depth: given.depth, label: 'at once' };
    const outcomes = await Promise.allSettled([0, 1].map(() => node.stamps.buy(request, signal)));
    const bought = outcomes.filter(({ status }) => status === 'fulfilled').length;
    const refused = outcomes.filter(
      (outcome) =>
        outcome.status === 'rejected' &&
        outcome.reason instanceof ClientError &&
        outcome.reason.status === 429,
    ).length;
    context.expect('of two purchases at once one is refused', bought === 1 && refused === 1, {
      observed: `${bought} bought, ${refused} refused with 429`,
      expected: '1 bought, 1 refused with 429',
    });
  });
}
