/** A load that moves everything the boards show. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientError } from '../../harness/client/errors.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { defineScenario, type ScenarioContext } from '../../harness/run/scenario.ts';
import { until } from '../../harness/scenario.ts';

const parameters = {};
type Context = ScenarioContext<typeof parameters>;

/** Uploads of each running node before the faults, and after each of them. */
const UPLOADS = { before: 8, after: 5 };
const UPLOADED_WITHIN_MS = 120_000;
const SIZES = [4096, 16_384, 65_536];
const REORGANISED_BLOCKS = 3;
const PAUSE_MS = 2000;
/** Without a rest the load would take all processors. */
const REST_MS = 1000;

export const traffic = defineScenario({
  name: 'traffic',
  group: 'load',
  about: 'Uploads and downloads on all nodes while one is killed, one restarted and blocks are replaced.',
  parameters,
  needs: { nodes: 4 },
  cluster: { nodes: 5, credit: 'low' },
  timeoutMs: 240_000,
  async run(context) {
    const { cluster } = context;
    const [first, , , restarted, killed] = cluster.nodes as ClusterNode[];
    await context.step('quiet', () => sleep(PAUSE_MS));
    const ended = new AbortController();
    const uploads = cluster.nodes.map(() => 0);
    const load = Promise.all(cluster.nodes.map((_, i) => keepBusy(context, i, uploads, ended.signal)));
    await context.step('load', () => moreUploads(context, uploads, UPLOADS.before));
    await context.step('kill', async () => {
      await restarted?.kill();
      await sleep(PAUSE_MS);
      await restarted?.start({ signal: context.signal });
      await killed?.kill();
      await moreUploads(context, uploads, UPLOADS.after);
    });
    await context.step('reorganise', async () => {
      await cluster.chain.mine(REORGANISED_BLOCKS * 2);
      await sleep(PAUSE_MS);
      await cluster.chain.reorganise(REORGANISED_BLOCKS);
      await cluster.chain.mine(REORGANISED_BLOCKS * 2);
      await moreUploads(context, uploads, UPLOADS.after);
    });
    ended.abort();
    await load;
    context.expect('the first node runs', first?.running === true, {
      observed: first?.state,
      expected: 'running',
    });
  },
});

/** Of every node that runs: slow machines do the same work. */
async function moreUploads({ cluster }: Context, uploads: readonly number[], count: number): Promise<void> {
  const before = [...uploads];
  await until(
    `not every running node has made ${count} more uploads`,
    () => {
      const behind = cluster.nodes.filter(
        ({ running }, i) => running && (uploads[i] ?? 0) < (before[i] ?? 0) + count,
      );
      return Promise.resolve(
        behind.length === 0 ? { done: undefined } : { missing: behind.map(({ name }) => name).join(', ') },
      );
    },
    { timeoutMs: UPLOADED_WITHIN_MS },
  );
}

async function keepBusy(
  context: Context,
  index: number,
  uploads: number[],
  ended: AbortSignal,
): Promise<void> {
  const { cluster, ledger, signal } = context;
  const node = cluster.nodes[index] as ClusterNode;
  const random = context.random(node.name);
  const reader = cluster.nodes[(index + 1) % cluster.nodes.length] as ClusterNode;
  const batch = node.batch as string;
  for (let n = 0; !ended.aborted; n++) {
    const data = random.bytes(SIZES[n % SIZES.length] as number);
    const requestedAtMs = Date.now();
    try {
      const upload = () => node.bytes.upload(data, { batch, redundancyLevel: 0, signal });
      const { reference } = await context.measure(
        { operation: 'upload', node: node.name },
        upload,
        () => data.length,
      );
      const { chunks } = await expectBytes(data);
      const how = { kind: 'bytes', mode: 'deferred', level: 'api', size: data.length } as const;
      const when = { requestedAtMs, acknowledgedAtMs: Date.now() };
      await ledger.add({ ...how, ...when, node: node.name, batch, reference, chunks });
      uploads[index] = (uploads[index] ?? 0) + 1;
      const download = () => reader.bytes.download(reference, { cache: false, signal });
      await context.measure({ operation: 'download', node: reader.name }, download, ({ length }) => length);
      await sleep(REST_MS);
    } catch (error) {
      if (!(error instanceof ClientError) || signal.aborted) throw error;
      await sleep(PAUSE_MS / 4);
    }
  }
}
