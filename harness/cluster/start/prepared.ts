/**
 * The state that a definition asks for under `prepare`, produced as in normal use: through the nodes' APIs, their own
 * accounting, and real blocks.
 */
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { contentTypeOfName } from '../../../node/files/collection/content-type.ts';
import { HarnessError, interrupted, messageOf } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { readTree, TREE_BYTES_MAX, tarOf } from '../../base/tree.ts';
import { until } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import type { Uploaded } from '../../client/types.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { awaitTag } from '../nodes/tag-wait.ts';
import type { Definition } from '../plan/schema.ts';
import { seededBytes } from '../plan/seed.ts';
import type { PreparedRecord, PreparedUpload } from '../state/state.ts';
import { independentRounds, provokeCheque, settled } from './prepared-cheques.ts';
import type { StartContext } from './start-context.ts';
import { timeoutFor } from './start-deadline.ts';
import { stopwatch } from './startup-conditions.ts';

const MINED_AT_ONCE = 5000;
const BEHIND_BLOCKS_MAX = 20;
const SECOND_MS = 1000;
const DEFAULT_TYPE = 'application/octet-stream';

type UploadPlan = Definition['prepare']['uploads'][number];

interface Running {
  readonly chain: Chain;
  readonly nodes: readonly ClusterNode[];
}

/** @throws HarnessError `PREPARE_FAILED` with entry and reason, `INTERRUPTED` */
export async function prepareState(
  context: StartContext,
  { chain, nodes }: Running,
): Promise<{ prepared: PreparedRecord; ms: number }> {
  const { uploads, cheques, height } = context.definition.prepare;
  const { onProgress, signal } = context;
  const watch = stopwatch(context.clock);
  const done = countOf(context);
  const pairs = cheques.map(({ from, to }, index) => ({
    from: named(nodes, from),
    to: named(nodes, to),
    nodes,
    index,
  }));
  const [uploaded] = await Promise.all([
    Promise.all(
      uploads.map(async (plan, index) => {
        const work = () => upload(context, named(nodes, plan.node), { plan, index });
        const made = await explained(`prepare.uploads[${index}]`, work, signal);
        done('uploads');
        return made;
      }),
    ),
    Promise.all(
      independentRounds(pairs).map(async (ofLink) => {
        for (const pair of ofLink) {
          await explained(`prepare.cheques[${pair.index}]`, () => provokeCheque(context, pair), signal);
          done('cheques');
        }
      }),
    ),
  ]);
  if (pairs.length > 0) await explained('prepare.cheques', () => settled(context, nodes), signal);
  if (height !== undefined) {
    await explained('prepare.height', () => raise(height, context, { chain, nodes }), signal);
  }
  const ms = watch.total();
  const parts = [
    ...(uploads.length === 0 ? [] : [plural(uploads.length, 'upload')]),
    ...(cheques.length === 0 ? [] : [plural(cheques.length, 'cheque')]),
    ...(height === undefined ? [] : [`block ${await chain.height(signal)}`]),
  ];
  onProgress({ step: 'state', done: true, detail: parts.join(', '), ms });
  return { prepared: { uploads: uploaded }, ms };
}

function countOf({ definition, onProgress }: StartContext): (kind: 'uploads' | 'cheques') => void {
  const { uploads, cheques } = definition.prepare;
  const done = { uploads: 0, cheques: 0 };
  const tell = () => {
    const ofUploads = `${done.uploads} of ${plural(uploads.length, 'upload')}`;
    const ofCheques = `${done.cheques} of ${plural(cheques.length, 'cheque')}`;
    onProgress({ step: 'state', done: false, detail: `${ofUploads}, ${ofCheques}` });
  };
  tell();
  return (kind) => {
    done[kind]++;
    tell();
  };
}

export function hasPreparation({ prepare }: Pick<Definition, 'prepare'>): boolean {
  const { uploads, cheques, height } = prepare;
  return uploads.length > 0 || cheques.length > 0 || height !== undefined;
}

async function upload(
  context: StartContext,
  node: ClusterNode,
  { plan, index }: { plan: UploadPlan; index: number },
): Promise<PreparedUpload> {
  const { signal } = context;
  const uploaded = await ('size' in plan
    ? node.bytes.upload(seededBytes(plan.size, context.seed, 'prepared upload', index), { signal })
    : uploadPath(node, plan.path, { signal }));
  const { tag, reference } = uploaded;
  if (tag !== undefined) {
    const { clock, timeoutMs } = context;
    await awaitTag({ node, tag }, { clock, timeoutMs, signal });
  }
  return { ...plan, reference };
}

async function uploadPath(
  node: ClusterNode,
  path: string,
  options: { signal: AbortSignal | undefined },
): Promise<Uploaded> {
  const info = await stat(path);
  if (info.isDirectory()) {
    return node.files.uploadTar(await tarOf(await readTree(path)), options);
  }
  if (info.size > TREE_BYTES_MAX)
    throw new HarnessError('PREPARE_FAILED', `${path} holds more than ${TREE_BYTES_MAX / 2 ** 20} MiB`);
  const name = basename(path);
  const contentType = contentTypeOfName(name);
  return node.files.upload(await readFile(path), {
    ...options,
    name,
    contentType: contentType === '' ? DEFAULT_TYPE : contentType,
  });
}

/**
 * Waits until every node has read the chain that far. A chain that never mines on demand has had that height since before
 * its nodes ran.
 */
async function raise(height: number, context: StartContext, { chain, nodes }: Running): Promise<void> {
  const { clock, definition, signal, timeoutMs, onProgress } = context;
  onProgress({ step: 'state', done: false, detail: `mining up to block ${height}` });
  // Block times are whole seconds: blocks of the last stamp's second would be older than it.
  await clock.sleep(SECOND_MS - (clock.now() % SECOND_MS), signal);
  for (;;) {
    const missing = height - (await chain.height(signal));
    if (missing <= 0) break;
    await chain.mine(Math.min(missing, MINED_AT_ONCE), { wait: false });
  }
  await until(
    `not every node has read block ${height}`,
    async (aborted) => {
      const states = await Promise.all(nodes.map((node) => node.client.chainState(aborted)));
      const behind = states.findIndex(({ block }) => block < height);
      return behind < 0
        ? { done: true }
        : { missing: `${nodes[behind]?.name} has read block ${states[behind]?.block}` };
    },
    {
      clock,
      timeoutMs: timeoutMs ?? timeoutFor(nodes.length) + BEHIND_BLOCKS_MAX * definition.chain.blockTime,
      signal,
    },
  );
}

function named(nodes: readonly ClusterNode[], name: string): ClusterNode {
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) throw new RangeError(`no ${name} among ${nodes.length} nodes`);
  return node;
}

async function explained<T>(
  where: string,
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted === true) throw interrupted(signal);
    const hint = error instanceof HarnessError ? error.hint : undefined;
    throw new HarnessError('PREPARE_FAILED', `${where}: ${messageOf(error)}`, { cause: error, hint });
  }
}
