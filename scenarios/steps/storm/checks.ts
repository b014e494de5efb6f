/** After a storm the network is whole again, everything acknowledged is there and right, and no node is refused. */

import { ClientError, type ClusterNode } from 'svcnet';
import { atMost, congestionOf, grouped, messageOf, PlacementWatch, plural } from 'svcnet/scenario';
import { drawn, storers } from '../presence.ts';
import { inTime, waysOfAstray, workingNodes } from '../steps.ts';
import { missingLinks } from '../topology.ts';
import type { Departures } from './departures.ts';
import type { Operations, Uploaded } from './operations.ts';
import type { StormContext } from './parameters.ts';

/** All nodes are connected again, and know it. */
const WHOLE_WITHIN_MS = 90_000;
/** Uploads without progress for so long are stuck: it is longer than any retry pause of a node. */
const STUCK_AFTER_MS = 90_000;
/** Per chunk that waits after the storm: ten a second, where a healthy network takes hundreds. */
const PER_CHUNK_MS = 100;
const DELIVERED_WITHIN_MS = 60_000;
/** After `DELIVERED_WITHIN_MS` and so many failures the rest is not read: each may take a minute. */
const FAILURES_ENOUGH = 10;
export const PLACED_WITHIN_MS = 120_000;
const POLL_MS = 500;
const READS_AT_ONCE = 4;
const LINES_SHOWN = 50;

export function expectNone(
  context: StormContext,
  name: string,
  found: readonly string[],
  of: string,
  given = '',
): void {
  context.expect(name, found.length === 0, {
    observed: `${found.length} of ${of}${given}`,
    expected: `0 of ${of}`,
    ...(found.length === 0 ? {} : { evidence: found.slice(0, LINES_SHOWN).join('\n') }),
  });
}

export function whole(context: StormContext): Promise<void> {
  return context.step('heal', async (progress) => {
    await context.cluster.faults.heal();
    const startedAt = context.cluster.clock.monotonic();
    const missing = await missingLinks(context, WHOLE_WITHIN_MS);
    context.expect('the mesh is whole again', missing === undefined, {
      observed: missing ?? 'all links',
      expected: `all links within ${WHOLE_WITHIN_MS / 1000} s`,
    });
    const seconds = (context.cluster.clock.monotonic() - startedAt) / 1000;
    context.figure({ name: 'whole again after', value: seconds.toFixed(1), unit: 's' });
    progress.detail(`${seconds.toFixed(1)} s`);
  });
}

/** Deferred uploads are promised once synced; each must be, as there is room for all. */
export function sync(context: StormContext, operations: Operations): Promise<void> {
  return context.step('sync', async (progress) => {
    const { cluster, signal } = context;
    const waiting = new Set(operations.promised.filter(({ tag }) => tag !== undefined));
    const total = waiting.size;
    const startedAt = cluster.clock.monotonic();
    let movedAt = startedAt;
    let patienceMs: number | undefined;
    let before = '';
    const isOver = (now: number) =>
      now > movedAt + STUCK_AFTER_MS || (patienceMs !== undefined && now > startedAt + patienceMs);
    while (waiting.size > 0 && !isOver(cluster.clock.monotonic())) {
      const left: string[] = [];
      let chunks = 0;
      for (const [node, uploads] of Map.groupBy(waiting, (upload) => upload.node)) {
        const tags = new Map((await node.tags.list(signal)).map((tag) => [tag.uid, tag]));
        for (const upload of uploads) {
          const tag = tags.get(upload.tag as number);
          const missing = tag === undefined ? 1 : tag.split - tag.synced - tag.seen;
          if (tag !== undefined && tag.split > 0 && missing <= 0) {
            waiting.delete(upload);
            await operations.acknowledge(upload, 'synced');
          } else {
            left.push(`${upload.reference}: ${missing}`);
            chunks += missing;
          }
        }
      }
      const now = left.join();
      if (now !== before) movedAt = cluster.clock.monotonic();
      before = now;
      patienceMs ??= STUCK_AFTER_MS + chunks * PER_CHUNK_MS;
      progress.progress(total - waiting.size, total, 'uploads');
      if (waiting.size > 0) await cluster.clock.sleep(POLL_MS, signal);
    }
    const congestion = waiting.size === 0 ? [] : await congestionOf(cluster.nodes, signal);
    const lines = [...waiting].map(
      ({ node, reference, operation }) => `upload ${operation.n}, ${reference} of ${node.name}`,
    );
    const why = congestion.map(({ text }) => text);
    expectNone(
      context,
      'every deferred upload reaches the network',
      [...why, ...lines],
      plural(total, 'upload'),
    );
  });
}

/** Reads from a node drawn for each upload, unless the network clearly does not deliver. */
export function readBack(context: StormContext, operations: Operations): Promise<void> {
  return context.step('read', async (progress) => {
    const uploads = operations.promised;
    const nodes = workingNodes(context.cluster.nodes);
    const random = context.random('readers');
    const readers = uploads.map(() => nodes[random.below(nodes.length)] as ClusterNode);
    const endsAt = context.cluster.clock.monotonic() + DELIVERED_WITHIN_MS;
    const failures: string[] = [];
    let done = 0;
    let unread = 0;
    const works = uploads.map((upload, index) => async () => {
      if (failures.length >= FAILURES_ENOUGH && context.cluster.clock.monotonic() > endsAt) {
        unread++;
        return;
      }
      const failure = await failureOf(context, operations, {
        upload,
        node: readers[index] as ClusterNode,
        endsAt,
      });
      if (failure !== undefined) failures.push(failure);
      progress.progress(++done, uploads.length, 'uploads');
    });
    await atMost(READS_AT_ONCE, works);
    const given = unread === 0 ? '' : `, ${unread} of which were not read after so many failures`;
    expectNone(context, 'every upload is delivered', failures, plural(uploads.length, 'upload'), given);
  });
}

async function failureOf(
  context: StormContext,
  operations: Operations,
  {
    upload,
    node,
    endsAt,
  }: { readonly upload: Uploaded; readonly node: ClusterNode; readonly endsAt: number },
): Promise<string | undefined> {
  for (;;) {
    try {
      const wrong = await operations.read(node, upload);
      if (wrong !== undefined) operations.wrong.push(wrong);
      return undefined;
    } catch (error) {
      if (!(error instanceof ClientError) || context.signal.aborted) throw error;
      if (context.cluster.clock.monotonic() > endsAt)
        return `${node.name}: upload ${upload.operation.n}, ${upload.reference} of ${upload.node.name}: ${messageOf(error)}`;
    }
    await context.cluster.clock.sleep(POLL_MS, context.signal);
  }
}

export function placed(context: StormContext, { departures }: Operations): Promise<void> {
  return context.step('places', async (progress) => {
    const { ledger, cluster, signal, parameters } = context;
    const promised = ledger.entries.flatMap(({ chunks }) => chunks);
    const all = [...new Set(promised)].filter((chunk) => !departures.taken.has(chunk));
    const chunks = drawn(context, 'sample', all, parameters.sample);
    const watch = new PlacementWatch(chunks, storers(cluster.nodes));
    const probe = async (aborted: AbortSignal) => {
      const seen = await watch.probe(aborted);
      progress.progress(watch.placed.length, chunks.length, 'chunks');
      // A node that is asked for a damaged chunk notices it and brings it again. In a visible store, the probe has not
      // asked.
      for (const { chunk, lacking } of watch.astray)
        for (const node of lacking) if (node.isTransparent) await node.chunks.has(chunk, aborted);
      return 'missing' in seen ? seen.missing : undefined;
    };
    const missing = await inTime('every chunk is in place', probe, {
      cluster,
      timeoutMs: PLACED_WITHIN_MS,
      signal,
    });
    context.expect('chunks are on every node of their neighbourhood', missing === undefined, {
      observed: missing ?? `all of ${grouped(chunks.length)}`,
      expected: `all of ${grouped(chunks.length)} within ${PLACED_WITHIN_MS / 1000} s`,
      ...(missing === undefined ? {} : await waysOfAstray(context, watch)),
    });
    const radii = await Promise.all(
      storers(cluster.nodes).map(async (node) => (await node.client.status(signal)).storageRadius),
    );
    context.figure({ name: 'storage radius', value: radii.join(', '), unit: 'bits' });
  });
}

/** No node blocklists another, except dishonest ones, and those that lost their data, and their counts with it. */
export function refusals(context: StormContext, departures: Pick<Departures, 'isDishonest'>): Promise<void> {
  return context.step('refusals', async () => {
    const { cluster, signal } = context;
    const nodes = cluster.nodes.filter((node) => node.running);
    const nodeOf = (overlay: string) => cluster.nodes.find((node) => node.overlay === overlay);
    const lists = await Promise.all(
      nodes.map(async (node) =>
        (await node.client.blocklist(signal)).flatMap(({ address, reason }) => {
          const refused = nodeOf(address);
          if (departures.isDishonest(address)) return [];
          if (node.wipes + (refused?.wipes ?? 0) > 0) return [];
          return [`${node.name} refuses ${refused?.name ?? address.slice(0, 8)}: ${reason}`];
        }),
      ),
    );
    expectNone(context, 'no node refuses another', lists.flat(), plural(nodes.length, 'node'));
  });
}
