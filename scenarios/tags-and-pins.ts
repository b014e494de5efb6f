import type { ClusterNode, Tag } from 'svcnet';
import {
  defineScenario,
  expectBytes,
  makeCac,
  parameter,
  type ScenarioContext,
  toHex,
} from 'svcnet/scenario';
import {
  batchOf,
  chosenNode,
  difference,
  inTime,
  ledgerDirect,
  otherNode,
  otherNodes,
  verifyLedger,
} from './steps/steps.ts';

const parameters = {
  size: parameter('size', 5 * 1024 * 1024, 'size of the uploaded data', { min: 1 }),
  chunks: parameter('integer', 1000, 'number of chunks to send over one connection', { min: 1 }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
  keeper: parameter('node', '', 'node that pins; the first other one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

const SYNCED_WITHIN_MS = 120_000;
const PAYLOAD_SIZE = 1024;
const RESTARTED_WITHIN_MS = 120_000;
const COUNTERS = ['split', 'seen', 'stored', 'sent', 'synced'] as const;

interface Stored {
  readonly data: Uint8Array;
  readonly reference: string;
}

export default defineScenario({
  name: 'tags-and-pins',
  group: 'functional',
  about:
    'Follows the counters of an upload, streams chunks, pins content, serves it offline and re-uploads it.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 4 },
  timeoutMs: 900_000,
  async run(context) {
    const uploader = chosenNode(context, context.parameters.node);
    const keeper = otherNode(context, context.parameters.keeper, uploader);
    const stored = await followTag(context, uploader);
    await doneSplit(context, uploader, stored.reference);
    await streamDirectly(context, uploader);
    await streamUnderTag(context, uploader);
    await verifyLedger(context);
    await pin(context, keeper, stored);
    await serveAlone(context, keeper, stored);
    await bringBack(context, keeper, stored);
    await unpin(context, keeper, stored.reference);
  },
});

/** Counters only grow; in the end every chunk was seen before or has a storer. */
function followTag(context: Context, node: ClusterNode): Promise<Stored> {
  return context.step('tag of an upload', async (progress) => {
    const { signal } = context;
    const data = context.random('data').bytes(context.parameters.size);
    const expected = await expectBytes(data);
    const { uid } = await node.tags.create(signal);
    const requestedAtMs = context.cluster.clock.now();
    const options = { batch: batchOf(node), tag: uid, redundancyLevel: 0, signal };
    const work = () => node.bytes.upload(data, options);
    const key = { operation: 'upload bytes', node: node.name };
    const { reference } = await context.measure(key, work, () => data.length);
    let last = await node.tags.get(uid, signal);
    const falls: string[] = [];
    const probe = async (aborted: AbortSignal) => {
      const seen = await node.tags.get(uid, aborted);
      for (const counter of COUNTERS)
        if (seen[counter] < last[counter]) falls.push(`${counter} ${last[counter]} → ${seen[counter]}`);
      last = seen;
      progress.progress(seen.synced + seen.seen, seen.split, 'chunks');
      return isComplete(seen) ? undefined : written(seen);
    };
    const missing = await inTime('every chunk is synced', probe, { ...context, timeoutMs: SYNCED_WITHIN_MS });
    context.expect('every chunk ends as synced or seen', missing === undefined, {
      observed: missing ?? written(last),
      expected: 'synced + seen = split',
    });
    context.expect('no counter of a tag falls', falls.length === 0, { observed: falls, expected: [] });
    context.expect('the tag counts every chunk of the upload', last.split >= expected.chunks.length, {
      observed: last.split,
      expected: expected.chunks.length,
    });
    context.expect('every synced chunk was sent or stored', last.sent + last.stored >= last.synced, {
      observed: written(last),
      expected: 'sent + stored >= synced',
    });
    context.expect('the tag names the reference', last.address === reference, {
      observed: last.address,
      expected: reference,
    });
    const listed = (await node.tags.list(signal)).map((tag) => tag.uid);
    context.expect('the tag is listed', listed.includes(uid), { observed: listed, expected: uid });
    await context.ledger.add({
      kind: 'bytes',
      node: node.name,
      batch: batchOf(node),
      reference,
      size: data.length,
      chunks: expected.chunks,
      mode: 'deferred',
      level: 'synced',
      requestedAtMs,
      acknowledgedAtMs: context.cluster.clock.now(),
    });
    return { data, reference };
  });
}

function doneSplit(context: Context, node: ClusterNode, reference: string): Promise<void> {
  return context.step('done split', async () => {
    const { signal } = context;
    const { uid } = await node.tags.create(signal);
    await node.tags.done(uid, reference, signal);
    const seen = await node.tags.get(uid, signal);
    context.expect('a tag that is closed by hand has its root', seen.address === reference, {
      observed: seen.address,
      expected: reference,
    });
    context.expect(
      'a tag that is closed by hand counts nothing',
      COUNTERS.every((counter) => seen[counter] === 0),
      {
        observed: written(seen),
        expected: 'zeros',
      },
    );
    await node.tags.delete(uid, signal);
    const left = (await node.tags.list(signal)).some((tag) => tag.uid === uid);
    context.expect('a deleted tag is gone', !left, { observed: left, expected: false });
  });
}

function chunksNamed(context: Context, name: string): { data: Uint8Array; address: string }[] {
  const random = context.random(name);
  return Array.from({ length: context.parameters.chunks }, () => {
    const { data, address } = makeCac(BigInt(PAYLOAD_SIZE), random.bytes(PAYLOAD_SIZE));
    return { data, address: toHex(address) };
  });
}

/** Acknowledged by our own nodes means that the network has it. */
function streamDirectly(context: Context, node: ClusterNode): Promise<void> {
  return context.step('chunk stream', async (progress) => {
    const chunks = chunksNamed(context, 'direct chunks');
    const requestedAtMs = context.cluster.clock.now();
    const acknowledged = await stream(context, node, { chunks });
    progress.detail(`${acknowledged} acknowledgements`);
    context.expect('every chunk of a stream is acknowledged, once', acknowledged === chunks.length, {
      observed: acknowledged,
      expected: chunks.length,
    });
    // At the connection's end, a Bee silently drops what it has not pushed.
    if (node.flavour !== 'svc') return;
    if ((await context.cluster.unlistedPeers(context.signal)).length > 0) {
      context.unchecked(
        'whether a streamed chunk is pushed: it may be on nodes that the network file does not list',
      );
      return;
    }
    const missing = await inTime(
      'the network has every chunk of the stream',
      async (signal) => {
        const last = chunks.at(-1);
        if (last === undefined) return undefined;
        const { signal: ended } = context;
        const held = await Promise.all(
          context.cluster.nodes
            .filter((other) => other.running && other !== node)
            .map((other) => other.chunks.has(last.address, AbortSignal.any([signal, ended]))),
        );
        return held.includes(true) ? undefined : `nobody else has chunk ${last.address}`;
      },
      { ...context, timeoutMs: SYNCED_WITHIN_MS },
    );
    context.expect('the last chunk of a stream is pushed', missing === undefined, {
      observed: missing ?? 'held by another node',
      expected: 'held by another node',
    });
    for (const { address } of chunks) {
      await ledgerDirect(context, node, {
        kind: 'chunk',
        reference: address,
        size: PAYLOAD_SIZE,
        chunks: [address],
        requestedAtMs,
      });
    }
  });
}

function streamUnderTag(context: Context, node: ClusterNode): Promise<void> {
  return context.step('chunk stream with a tag', async () => {
    const chunks = chunksNamed(context, 'tagged chunks');
    const { uid } = await node.tags.create(context.signal);
    await stream(context, node, { chunks, tag: uid });
    const probe = async (signal: AbortSignal) => {
      const seen = await node.tags.get(uid, signal);
      return seen.split === chunks.length && isComplete(seen) ? undefined : written(seen);
    };
    const options = { ...context, timeoutMs: SYNCED_WITHIN_MS };
    const missing = await inTime('the tag of the stream is complete', probe, options);
    context.expect('the tag of a stream counts its chunks', missing === undefined, {
      observed: missing ?? chunks.length,
      expected: chunks.length,
    });
  });
}

function stream(
  context: Context,
  node: ClusterNode,
  { chunks, tag }: { chunks: readonly { data: Uint8Array }[]; tag?: number },
): Promise<number> {
  const options = { batch: batchOf(node), signal: context.signal, tag };
  const work = () =>
    node.chunks.stream(
      chunks.map(({ data }) => data),
      options,
    );
  const key = { operation: 'stream chunks', node: node.name };
  return context.measure(key, work, () => chunks.length * PAYLOAD_SIZE);
}

function pin(context: Context, node: ClusterNode, { reference, data }: Stored): Promise<void> {
  return context.step('pin', async () => {
    const { signal } = context;
    const key = { operation: 'pin', node: node.name };
    const isNew = await context.measure(
      key,
      () => node.pins.add(reference, signal),
      () => data.length,
    );
    const again = await node.pins.add(reference, signal);
    context.expect('content is pinned once', isNew && !again, {
      observed: [isNew, again],
      expected: [true, false],
    });
    const seen = await node.pins.check(reference, signal);
    const isWhole = seen.total > 0 && seen.missing === 0 && seen.invalid === 0;
    context.expect('every chunk of pinned content is stored and valid', isWhole, {
      observed: seen,
      expected: { missing: 0, invalid: 0 },
    });
  });
}

/** With all others down, the keeper has all of it, and knows that the network does not. */
function serveAlone(context: Context, keeper: ClusterNode, { reference, data }: Stored): Promise<void> {
  return context.step('serve without the network', async (progress) => {
    const { cluster, signal } = context;
    const stops: string[] = [];
    for (const node of otherNodes(cluster.nodes, keeper)) {
      progress.detail(`stopping ${node.name}`);
      stops.push((await cluster.faults.begin({ kind: 'stop', node: node.name }, { signal })).id);
    }
    const seen = difference(await keeper.bytes.download(reference, { signal }), data);
    context.expect('pinned content is served without the network', seen === undefined, {
      observed: seen ?? 'equal bytes',
      expected: `${data.length} bytes`,
    });
    const isRetrievable = await keeper.stewardship.isRetrievable(reference, signal);
    context.expect('the content is not retrievable without the other nodes', !isRetrievable, {
      observed: isRetrievable,
      expected: false,
    });
    for (const id of stops) await cluster.faults.heal(id);
    progress.detail('waiting for the links');
    await cluster.meshed({ timeoutMs: RESTARTED_WITHIN_MS, signal });
  });
}

function bringBack(context: Context, keeper: ClusterNode, { reference, data }: Stored): Promise<void> {
  return context.step('stewardship', async () => {
    const { signal } = context;
    const key = { operation: 'upload again', node: keeper.name };
    const work = () => keeper.stewardship.reupload(reference, { batch: batchOf(keeper), signal });
    await context.measure(key, work, () => data.length);
    const probe = async (aborted: AbortSignal) =>
      (await keeper.stewardship.isRetrievable(reference, aborted)) ? undefined : 'not retrievable';
    const options = { ...context, timeoutMs: SYNCED_WITHIN_MS };
    const missing = await inTime('the network has the content', probe, options);
    context.expect('content that was uploaded again is retrievable', missing === undefined, {
      observed: missing ?? 'retrievable',
      expected: 'retrievable',
    });
    for (const reader of otherNodes(context.cluster.nodes, keeper)) {
      const seen = difference(await reader.bytes.download(reference, { cache: false, signal }), data);
      context.expect(`${reader.name} serves the content again`, seen === undefined, {
        observed: seen ?? 'equal bytes',
        expected: `${data.length} bytes`,
      });
    }
  });
}

function unpin(context: Context, node: ClusterNode, reference: string): Promise<void> {
  return context.step('unpin', async () => {
    const { signal } = context;
    const before = await node.pins.list(signal);
    await node.pins.delete(reference, signal);
    const after = await node.pins.list(signal);
    context.expect(
      'a root is listed until it is unpinned',
      before.includes(reference) && !after.includes(reference),
      {
        observed: [before, after],
        expected: [[reference], []],
      },
    );
  });
}

function isComplete({ split, seen, synced }: Tag): boolean {
  return split > 0 && synced + seen === split;
}

function written(tag: Tag): string {
  return COUNTERS.map((counter) => `${counter} ${tag[counter]}`).join(', ');
}
