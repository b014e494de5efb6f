import { ClientError, type ClusterNode, HarnessError } from 'svcnet';
import {
  closerTo,
  defineScenario,
  expectBytes,
  fromHex,
  parameter,
  type ScenarioContext,
} from 'svcnet/scenario';
import { storers } from './steps/presence.ts';
import { batchOf, chosenNode, inTime, verifyLedger } from './steps/steps.ts';

const VICTIMS = ['uploader', 'closest', 'forwarder', 'random'] as const;
const MODES = ['direct', 'deferred'] as const;

const parameters = {
  victims: parameter(
    'list',
    VICTIMS,
    'which node to kill: the uploader, the closest node to the root, another node that forwards, or a random one',
    {
      oneOf: VICTIMS,
    },
  ),
  modes: parameter('list', MODES, 'upload modes', { oneOf: MODES }),
  'kill-times': parameter(
    'integer',
    1,
    'number of kills for each victim and mode, at times drawn from the seed',
    { min: 1 },
  ),
  size: parameter('size', 2 * 2 ** 20, 'size of each upload', { min: 1 }),
  'restart-after': parameter('duration', 1000, 'how long the victim stays down'),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

/** Whatever the kill interrupted. */
const READY_WITHIN_MS = 30_000;
const SYNCED_WITHIN_MS = 120_000;
const MOMENT_MAX_MS = 1500;

interface Upload {
  readonly node: ClusterNode;
  readonly mode: (typeof MODES)[number];
  readonly data: Uint8Array;
  readonly reference: string;
  readonly chunks: readonly string[];
}

export default defineScenario({
  name: 'kill-during-upload',
  group: 'durability',
  tags: ['kill'],
  about:
    'Kills the uploader, a storer or another node during uploads, then checks that no acknowledged chunk is lost.',
  parameters,
  needs: { nodes: 4, started: true, capabilities: ['kill'] },
  cluster: { nodes: 5 },
  timeoutMs: 1_800_000,
  async run(context) {
    const { victims, modes, 'kill-times': times } = context.parameters;
    const node = chosenNode(context, context.parameters.node);
    for (const victim of victims)
      for (const mode of modes)
        for (let n = 0; n < times; n++)
          await once(context, {
            node,
            mode: mode as Upload['mode'],
            victim,
            name: `${victim}, ${mode}, ${n}`,
          });
    await context.cluster.meshed({ signal: context.signal });
    if (context.ledger.entries.length === 0)
      context.unchecked('what was acknowledged: each upload was refused, or cut off by a kill');
    await verifyLedger(context);
  },
});

function once(
  context: Context,
  {
    node,
    mode,
    victim,
    name,
  }: Pick<Upload, 'node' | 'mode'> & { readonly victim: string; readonly name: string },
): Promise<void> {
  return context.step('kill', async (progress) => {
    const { signal, cluster } = context;
    const random = context.random(name);
    const data = random.bytes(context.parameters.size);
    const upload: Upload = { node, mode, data, ...(await expectBytes(data)) };
    const killed = victimOf(context, victim, upload, random.below(2 ** 30));
    const momentMs = random.below(MOMENT_MAX_MS);
    progress.detail(`${killed.name} (${victim}), ${mode}, after ${momentMs} ms`);
    const requestedAtMs = cluster.clock.now();
    const answer = send(context, upload);
    await Promise.race([cluster.clock.sleep(momentMs, signal), answer]);
    const { id } = await cluster.faults.begin({ kind: 'kill', node: killed.name });
    await cluster.clock.sleep(context.parameters['restart-after'], signal);
    const startedAt = cluster.clock.monotonic();
    await cluster.faults.heal(id);
    const ms = cluster.clock.monotonic() - startedAt;
    context.expect(`${name}: ${killed.name} is ready again in time`, ms <= READY_WITHIN_MS, {
      observed: `${Math.round(ms)} ms`,
      expected: `at most ${READY_WITHIN_MS} ms`,
    });
    const answered = await answer;
    await conclude(context, name, upload, { answered, requestedAtMs });
  });
}

/** Undefined: the connection broke, or the node refused. */
type Answer = { readonly tag: number | undefined } | undefined;

async function send(context: Context, { node, mode, data }: Upload): Promise<Answer> {
  const { signal } = context;
  const options = { batch: batchOf(node), deferred: mode === 'deferred', redundancyLevel: 0, signal };
  try {
    const key = { operation: `upload, ${mode}`, node: node.name };
    const { tag } = await context.measure(
      key,
      () => node.bytes.upload(data, options),
      () => data.length,
    );
    return { tag };
  } catch (error) {
    if (!(error instanceof ClientError) || signal.aborted) throw error;
    return undefined;
  }
}

/** Acknowledged ones go into the ledger; deferred ones must reach the network first. */
async function conclude(
  context: Context,
  name: string,
  { node, mode, data, reference, chunks }: Upload,
  { answered, requestedAtMs }: { readonly answered: Answer; readonly requestedAtMs: number },
): Promise<void> {
  if (answered === undefined) return;
  if (mode === 'deferred') {
    const probe = async (signal: AbortSignal) => {
      const { split, seen, synced } = await node.tags.get(answered.tag ?? 0, signal);
      return split > 0 && seen + synced === split ? undefined : `${seen + synced} of ${split} chunks synced`;
    };
    const limits = { ...context, timeoutMs: SYNCED_WITHIN_MS };
    const missing = await inTime('the upload is synced', probe, limits);
    context.expect(`${name}: an acknowledged upload is synced after the kill`, missing === undefined, {
      observed: missing ?? 'every chunk synced',
      expected: 'synced + seen = split',
    });
    if (missing !== undefined) return;
  }
  await context.ledger.add({
    kind: 'bytes',
    node: node.name,
    batch: batchOf(node),
    reference,
    size: data.length,
    chunks,
    mode,
    level: mode === 'deferred' ? 'synced' : 'api',
    requestedAtMs,
    acknowledgedAtMs: context.cluster.clock.now(),
  });
}

function victimOf(context: Context, victim: string, { node, reference }: Upload, pick: number): ClusterNode {
  const address = fromHex(reference);
  const others = storers(context.cluster.nodes)
    .filter((other) => other !== node)
    .toSorted((a, b) => closerTo(address, fromHex(a.overlay), fromHex(b.overlay)));
  const [closest, ...rest] = others;
  if (closest === undefined || rest.length === 0)
    throw new HarnessError('NODE_STATE', `fewer than two full nodes run beside ${node.name}`);
  if (victim === 'uploader') return node;
  if (victim === 'closest') return closest;
  const among = victim === 'forwarder' ? rest : [node, ...others];
  return among[pick % among.length] as ClusterNode;
}
