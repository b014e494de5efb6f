import { type ClusterNode, faultsOf, type TapEvent } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { implementations } from './steps/known.ts';
import { contentOf, matched, type OneChunk, type Pair, pairs, said } from './steps/messages.ts';
import { holdersOf, storers } from './steps/presence.ts';
import { batchOf, difference, errorAsText, inTime } from './steps/steps.ts';

const parameters = {
  pushed: parameter('list', ['data', 'address', 'stamp'], 'what to change in pushed chunks', {
    oneOf: ['data', 'address', 'stamp'],
  }),
  within: parameter('integer', 120, 'seconds within which the right chunk must arrive', {
    min: 1,
    allowance: true,
  }),
};
type Context = ScenarioContext<typeof parameters>;

const NEIGHBOURHOODS = ['0', '1'];

export default defineScenario({
  name: 'changed-chunk',
  group: 'chaos',
  tags: ['messages'],
  about:
    'Changes chunks in transit: nodes must reject them, store and serve nothing wrong, and still get the right bytes.',
  parameters,
  needs: { nodes: 3, capabilities: ['tap'] },
  cluster: {
    nodes: 2 * NEIGHBOURHOODS.length,
    neighbourhoods: NEIGHBOURHOODS,
    options: { 'minimum-storage-radius': 1 },
  },
  timeoutMs: 900_000,
  async run(context) {
    for (const pair of pairs(context)) {
      for (const field of context.parameters.pushed) await push(context, pair, field);
    }
    for (const reader of readers(context)) await read(context, reader);
  },
});

function push(context: Context, { flavour, node, peer }: Pair, field: string): Promise<void> {
  return context.step(`${field} pushed to ${flavour}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const chunk = contentOf(context, node, `${field} for ${node.name}`);
    const { id } = await cluster.faults.message({
      from: peer.name,
      to: node.name,
      oneWay: true,
      protocol: 'pushsync',
      message: 'delivery',
      where: `address is ${chunk.address}`,
      first: 1,
      corrupt: field,
    });
    const options = { batch: batchOf(peer), deferred: true, redundancyLevel: 0, signal } as const;
    const { tag = 0 } = await peer.bytes.upload(chunk.data, options);
    await matched(context, id, ['messages corrupted', 1]);
    const probe = (limit: AbortSignal) =>
      errorAsText(limit, async () => {
        if ((await peer.tags.get(tag, limit)).synced === 0) return 'not synced';
        return (await node.chunks.has(chunk.address, limit)) ? undefined : `not on ${node.name}`;
      });
    const missing = await inTime('the chunk arrives', probe, { ...context, timeoutMs: given.within * 1000 });
    await cluster.faults.heal(id);
    context.expect(
      `${flavour}: a chunk arrives though its ${field} was changed once`,
      missing === undefined,
      { observed: missing ?? 'synced', expected: `synced within ${given.within} s`, evidence: chunk.address },
    );
    await refused(context, { flavour, node, peer }, field, chunk);
    await served(context, { flavour, node }, `after a push with another ${field}`, chunk);
    progress.detail(`${peer.name} to ${node.name}`);
  });
}

/** It was no receipt. */
async function refused(
  context: Context,
  { flavour, node }: Pair,
  field: string,
  { address }: OneChunk,
): Promise<void> {
  // As it was sent.
  const isIt = (event: TapEvent) =>
    event.to === node.name && event.fields['address'] === address && faultsOf(event).includes('corrupted');
  const changed = (await said(context, 'pushsync', isIt)).at(-1);
  const answers = await said(context, 'pushsync', ({ stream, from }) => {
    return stream === changed?.stream && from === node.name;
  });
  const receipt = answers.find(({ fields }) => fields['signature'] !== undefined);
  const seen = answers.map(({ name, fields }) => `${name} ${JSON.stringify(fields)}`);
  context.expect(
    `${flavour}: a pushed chunk with another ${field} gets no receipt`,
    changed !== undefined && receipt === undefined,
    { observed: seen.join(', ') || 'nothing', expected: 'an error, or a reset', evidence: address },
  );
}

function readers(context: Context): { readonly reader: ClusterNode; readonly holders: ClusterNode[] }[] {
  const full = storers(context.cluster.nodes);
  const side = ({ overlay }: ClusterNode) => overlay < '8'.padEnd(64, '0');
  const all = full.flatMap((reader) => {
    const holders = full.filter((node) => side(node) !== side(reader));
    return holders.length < 2 ? [] : [{ reader, holders }];
  });
  const first = Map.groupBy(all, ({ reader }) => reader.flavour);
  for (const { flavour } of implementations(full)) {
    if (!first.has(flavour))
      context.unchecked(`what ${flavour} makes of a changed chunk: no two nodes are far from one of it`);
  }
  return [...first.values()].flatMap((list) => list.slice(0, 1));
}

function others(nodes: readonly ClusterNode[], than: readonly ClusterNode[]): ClusterNode[] {
  return storers(nodes).filter((node) => !than.includes(node));
}

function read(
  context: Context,
  { reader, holders }: { readonly reader: ClusterNode; readonly holders: readonly ClusterNode[] },
): Promise<void> {
  const { flavour } = reader;
  return context.step(`read by ${flavour}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const [holder] = holders;
    if (holder === undefined) return;
    const chunk = contentOf(context, holder, `read by ${reader.name}`);
    // A holder would push it to the reader too.
    const uploader = others(cluster.nodes, [reader, ...holders])[0] ?? holder;
    await uploader.bytes.upload(chunk.data, {
      batch: batchOf(uploader),
      deferred: true,
      redundancyLevel: 0,
      signal,
    });
    const probe = async (limit: AbortSignal) => {
      const held = await holdersOf(chunk.address, holders, limit);
      return held.length < 2 ? `on ${held.map(({ name }) => name).join(', ')}` : undefined;
    };
    const options = { ...context, timeoutMs: given.within * 1000 };
    const missing = await inTime('two nodes have the chunk', probe, options);
    if (missing !== undefined || (await reader.chunks.has(chunk.address, signal))) {
      return context.unchecked(
        `what ${reader.name} makes of a changed chunk: ${missing ?? 'it has the chunk itself'}`,
      );
    }
    const { id } = await cluster.faults.message({
      from: cluster.nodes.filter((node) => node !== reader).map(({ name }) => name),
      to: reader.name,
      oneWay: true,
      protocol: 'retrieval',
      message: 'delivery',
      where: `address is ${chunk.address}`,
      first: 1,
      corrupt: 'data',
    });
    await served(context, { flavour, node: reader }, 'though a delivery was changed', chunk);
    await matched(context, id, ['messages corrupted', 1]);
    await cluster.faults.heal(id);
    const deliveries = await said(context, 'retrieval', ({ name, to, fields }) => {
      return name === 'delivery' && to === reader.name && fields['address'] === chunk.address;
    });
    const at = deliveries.findLastIndex((event) => faultsOf(event).includes('corrupted'));
    const [changed, ...later] = at < 0 ? [] : deliveries.slice(at);
    const sound = later.find(
      (event) => !faultsOf(event).includes('corrupted') && event.fields['data'] !== undefined,
    );
    context.expect(
      `${flavour}: a changed delivery is refused, and another one asked for`,
      sound !== undefined,
      {
        observed: sound === undefined ? 'no other delivery' : `another one of ${sound.from}`,
        expected: `another one after that of ${changed?.from}`,
        evidence: chunk.address,
      },
    );
    progress.detail(`${changed?.from} to ${reader.name}, then ${sound?.from}`);
  });
}

async function served(
  context: Context,
  { flavour, node }: Pick<Pair, 'flavour' | 'node'>,
  when: string,
  { data, address }: OneChunk,
): Promise<void> {
  const { signal } = context;
  const missing = await errorAsText(signal, async () =>
    difference(await node.bytes.download(address, { signal }), data),
  );
  const stored = await errorAsText(signal, async () =>
    difference((await node.chunks.download(address, { signal })).subarray(8), data),
  );
  context.expect(`${flavour}: the right bytes are served ${when}`, (missing ?? stored) === undefined, {
    observed: missing ?? stored ?? 'equal bytes',
    expected: `${data.length} bytes`,
    evidence: `${node.name} ${address}`,
  });
}
