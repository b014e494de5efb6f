/** A load that moves everything the boards show. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientError } from '../../harness/client/errors.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { defineScenario, type ScenarioContext } from '../../harness/run/scenario.ts';

const parameters = {};
type Context = ScenarioContext<typeof parameters>;

const LOAD_MS = 40_000;
const SIZES = [4096, 65_536, 200_000];
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
    const load = Promise.all(cluster.nodes.map((node, i) => keepBusy(context, node, i, ended.signal)));
    await context.step('load', () => sleep(LOAD_MS / 2));
    await context.step('kill', async () => {
      await restarted?.kill();
      await sleep(PAUSE_MS);
      await restarted?.start({ signal: context.signal });
      await killed?.kill();
      await sleep(LOAD_MS / 4);
    });
    await context.step('reorganise', async () => {
      await cluster.chain.mine(REORGANISED_BLOCKS * 2);
      await sleep(PAUSE_MS);
      await cluster.chain.reorganise(REORGANISED_BLOCKS);
      await cluster.chain.mine(REORGANISED_BLOCKS * 2);
      await sleep(LOAD_MS / 4);
    });
    ended.abort();
    await load;
    context.expect('the first node runs', first?.running === true, {
      observed: first?.state,
      expected: 'running',
    });
  },
});

async function keepBusy(
  context: Context,
  node: ClusterNode,
  index: number,
  ended: AbortSignal,
): Promise<void> {
  const { cluster, ledger, signal } = context;
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
      const download = () => reader.bytes.download(reference, { cache: false, signal });
      await context.measure({ operation: 'download', node: reader.name }, download, ({ length }) => length);
      await sleep(REST_MS);
    } catch (error) {
      if (!(error instanceof ClientError) || signal.aborted) throw error;
      await sleep(PAUSE_MS / 4);
    }
  }
}
