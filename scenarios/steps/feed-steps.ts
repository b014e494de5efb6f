import type { ClusterNode } from 'svcnet';
import {
  createSigner,
  fromHex,
  makeCac,
  type ParameterTable,
  parameter,
  type ScenarioContext,
  type Signer,
  toHex,
} from 'svcnet/scenario';
import { batchOf } from './steps.ts';

export const versionsParameter = parameter(
  'list',
  ['v1', 'v2'],
  'formats of the updates: v1 refers to the content, v2 wraps its root chunk',
  { oneOf: ['v1', 'v2'] },
);

/** v1 points to the content; v2 is its root chunk. */
export type UpdateVersion = 'v1' | 'v2';

export interface Feed {
  readonly version: UpdateVersion;
  readonly owner: Signer;
  readonly topic: Uint8Array;
  /** Of the feed manifest. */
  readonly root: string;
}

export function createFeed<T extends ParameterTable>(
  context: ScenarioContext<T>,
  node: ClusterNode,
  version: UpdateVersion,
): Promise<Feed> {
  return context.step('create', async (progress) => {
    const random = context.random(version);
    const owner = createSigner(random.bytes(32));
    const topic = random.bytes(32);
    const options = { batch: batchOf(node), deferred: false, signal: context.signal };
    const key = { operation: 'create feed', node: node.name };
    const work = () => node.feeds.create(toHex(owner.address), topic, options);
    const { reference } = await context.measure(key, work, () => 0);
    progress.detail(`${version}, manifest ${reference.slice(0, 8)} on ${node.name}`);
    return { version, owner, topic, root: reference };
  });
}

/** Seconds since the epoch: the bytes of each run of a seed are the same. */
const UPDATED_AT_S = 1_700_000_000n;

/** Span and payload. @param node has the content's root chunk */
export async function updatePayload(
  version: UpdateVersion,
  reference: string,
  node: ClusterNode,
  { signal }: Pick<ScenarioContext, 'signal'>,
): Promise<Uint8Array> {
  if (version === 'v2') return node.chunks.download(reference, { signal });
  const payload = Buffer.alloc(8 + reference.length / 2);
  payload.writeBigUInt64BE(UPDATED_AT_S);
  payload.set(fromHex(reference), 8);
  return makeCac(BigInt(payload.length), payload).data;
}
