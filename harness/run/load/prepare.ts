import { createHash } from 'node:crypto';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { seededRandom } from '../../../formats/random.ts';
import { updateId } from '../../../node/feeds/feed.ts';
import { HarnessError } from '../../base/errors.ts';
import { allAtMost } from '../../base/wait.ts';
import { DIALECTS } from '../../client/dialect.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { batchFor } from './batches.ts';
import type { FeedsConfig, StoredObject, TargetNode } from './k6/config.ts';
import { expectedIterations } from './k6/executors.ts';
import { sizeOf } from './k6/pieces.ts';
import type { LoadPlan, PreparedBatch, PreparedLoad } from './plan.ts';
import { findScript } from './scripts.ts';
import { meanSize } from './sizes.ts';

const CHUNK_BYTES = 4096;
/** Chunks per level, with parities and replicas of the root. */
const CHUNKS_PER_DATA = [1.05, 1.15, 1.3, 1.45, 3.6] as const;
/** Manifests of directories have some chunks for each file. */
const CHUNKS_PER_FILE = 2;
/** A load may draw more than the mean of its sizes. */
const MARGIN = 1.5;
const UPLOADS_AT_ONCE = 8;
const FEEDS = 16;
export const FEED_UPDATE_BYTES = 256;
const UPDATES_MAX = 200_000;

/** @param onNote called with progress, for people @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE`; ClientError */
export async function prepareLoad(
  cluster: Cluster,
  plan: LoadPlan,
  { signal, onNote }: { signal: AbortSignal; onNote?: (text: string) => void },
): Promise<PreparedLoad> {
  const { facts } = findScript(plan.script);
  const working = cluster.nodes.filter((node) => node.running && node.mode !== 'boot');
  const only = plan.node === undefined ? undefined : cluster.node(plan.node);
  if (only !== undefined && !working.includes(only)) {
    const why = only.running ? 'boot nodes store nothing' : `it is ${only.state}`;
    throw new HarnessError('NODE_STATE', `nothing can be uploaded to ${only.name}: ${why}`);
  }
  const uploaders = only === undefined ? working : [only];
  const chunks = Math.ceil(chunksOf(plan) / Math.max(1, uploaders.length));
  const batches: PreparedBatch[] = [];
  for (const node of uploaders) {
    onNote?.(`batch of ${node.name}`);
    batches.push(
      await batchFor(cluster, node, { chunks, durationMs: plan.warmupMs + plan.durationMs, signal }),
    );
  }
  const nodes = working.map((node) => target(node, batches));
  if (batches.length === 0) {
    throw new HarnessError('NODE_STATE', `no running node of cluster '${cluster.name}' can upload`);
  }
  const objects = facts.reads ? await storeObjects(uploaders, batches, plan, { signal, onNote }) : [];
  return { nodes, batches, objects };
}

function chunksOf(plan: LoadPlan): number {
  const { facts } = findScript(plan.script);
  const { warmup, measured } = expectedIterations(plan);
  const iterations = warmup + measured;
  const perPiece =
    Math.ceil(Math.ceil(meanSize(plan.sizes) / CHUNK_BYTES) * (CHUNKS_PER_DATA[plan.redundancyLevel] ?? 1)) +
    1;
  const perFile = facts.directories === true ? plan.files * CHUNKS_PER_FILE : 0;
  const writes = facts.writes ? iterations * (perPiece + perFile) : iterations;
  return Math.ceil(MARGIN * (writes + (facts.reads ? plan.objects * perPiece : 0)));
}

function target(node: ClusterNode, batches: readonly PreparedBatch[]): TargetNode {
  const { headerPrefix, files } = DIALECTS[node.dialect];
  const batch = batches.find(({ node: name }) => name === node.name)?.id ?? '';
  const { name, api, overlay, mode } = node;
  return { name, api, overlay, mode, headerPrefix, files, batch };
}

/** Uploaded directly: on the network when this returns. */
async function storeObjects(
  uploaders: readonly ClusterNode[],
  batches: readonly PreparedBatch[],
  plan: LoadPlan,
  { signal, onNote }: { signal: AbortSignal; onNote: ((text: string) => void) | undefined },
): Promise<StoredObject[]> {
  let done = 0;
  const works = Array.from({ length: plan.objects }, (_, i) => async (): Promise<StoredObject> => {
    const index = `object ${i}`;
    const node = uploaders[i % uploaders.length] as ClusterNode;
    const draw = seededRandom(plan.seed.toString(), plan.label, index, 'draws');
    const size = sizeOf(
      plan.sizes,
      [0, 1, 2].map(() => draw.below(2 ** 32) / 2 ** 32),
    );
    const data = loadContent(plan, index, size);
    const batch = batches[i % uploaders.length]?.id ?? '';
    const { encrypt, redundancyLevel } = plan;
    const { reference } = await node.bytes.upload(data, {
      batch,
      deferred: false,
      encrypt,
      redundancyLevel,
      signal,
    });
    onNote?.(`${++done} of ${plan.objects} objects to read`);
    return {
      reference,
      size,
      index,
      sha256: createHash('sha256').update(data).digest('hex'),
      node: node.name,
    };
  });
  return allAtMost(UPLOADS_AT_ONCE, works);
}

/** Content of a load, as `scenarios/k6/lib/content.js` makes it. */
export function loadContent(
  { seed, label }: Pick<LoadPlan, 'seed' | 'label'>,
  index: string,
  size: number,
): Uint8Array {
  return seededRandom(seed.toString(), label, index).bytes(size);
}

/** An update of one of the load's feeds, in hex. */
export interface SignedUpdate {
  /** Hex. */
  readonly address: string;
  readonly signed: string;
}

/** Update i is number floor(i / feeds) of feed i % feeds. */
export function signUpdates(plan: LoadPlan): {
  readonly feeds: FeedsConfig;
  readonly updates: readonly SignedUpdate[];
} {
  const random = seededRandom(plan.seed.toString(), plan.label, 'feeds');
  const owner = createSigner(random.bytes(32));
  const topics = Array.from({ length: FEEDS }, () => random.bytes(32));
  const { warmup, measured } = expectedIterations(plan);
  const updates = Array.from({ length: Math.min(UPDATES_MAX, warmup + measured) }, (_, i): SignedUpdate => {
    const payload = loadContent(plan, `feed ${i}`, FEED_UPDATE_BYTES);
    const { data: wrapped } = makeCac(BigInt(payload.length), payload);
    const id = updateId(topics[i % FEEDS] as Uint8Array, BigInt(Math.floor(i / FEEDS)));
    const { address, data } = signSoc(id, wrapped, owner);
    return { address: toHex(address), signed: toHex(id) + toHex(socParts(data).signature) };
  });
  const feeds = {
    owner: toHex(owner.address),
    topics: topics.map(toHex),
    size: FEED_UPDATE_BYTES,
    warmupUpdates: warmup,
  };
  return { feeds, updates };
}
