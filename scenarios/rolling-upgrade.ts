import { type ClusterNode, HarnessError, readFlavour, type UpgradeInput } from 'svcnet';
import {
  allAtMost,
  defineScenario,
  type LedgerEntry,
  parameter,
  plural,
  type ScenarioContext,
} from 'svcnet/scenario';
import { drawn, requireElastic } from './steps/presence.ts';
import { errorAsText, inTime, otherNodes, verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  binary: parameter('text', '', 'program to upgrade to; empty: the current one'),
  flavour: parameter(
    'text',
    '',
    'flavour to upgrade to, by name or as a flavour file; empty: the current one',
  ),
  back: parameter('boolean', true, 'downgrade the nodes again afterwards'),
  'min-available': parameter(
    'number',
    0.98,
    'smallest share of the requests to the other nodes that must succeed; choose a smaller share for programs that cannot talk to each other',
    { min: 0, max: 1 },
  ),
  'ready-within': parameter('duration', 60_000, 'time within which an upgraded node must be ready', {
    allowance: true,
  }),
  sample: parameter('integer', 500, 'number of acknowledged chunks to read afterwards', { min: 1 }),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

/** Before a stop: other nodes' requests end. */
const CALM_MS = 300;
const READ_WITHIN_MS = 60_000;
const READS_AT_ONCE = 4;

export default defineScenario({
  name: 'rolling-upgrade',
  group: 'durability',
  tags: ['restart'],
  about:
    'Upgrades the nodes to another program one by one under load, and back, then checks that every acknowledged chunk is readable.',
  parameters,
  needs: { nodes: 3, started: true },
  cluster: { nodes: 5 },
  timeoutMs: 1_800_000,
  async run(context) {
    requireElastic(context);
    const to = await wanted(context);
    const { nodes } = context.cluster;
    const able = workingNodes(nodes);
    // For flavours that need one, or else ours.
    const others = able.filter(({ flavour }) => flavour !== 'svc');
    const isAlone = to.flavour === undefined && to.binary !== undefined;
    const meant = isAlone && others.length > 0 ? others : able;
    expectTakers(meant, to);
    const before = new Map(meant.map((node) => [node, programOf(node)]));
    const away = new Set<ClusterNode>();
    const present = () => workingNodes(nodes).filter((node) => !away.has(node));
    await beside(context, { nodes: present }, async (traffic) => {
      await roll(context, 'upgrade', {
        order: drawn(context, 'there', meant, meant.length),
        to: () => to,
        away,
      });
      if (context.parameters.back) {
        const order = drawn(context, 'back', meant, meant.length);
        await roll(context, 'back', { order, to: (node) => before.get(node) ?? to, away });
      }
      await traffic.stop();
      expectSuccess(context, 'requests to the other nodes succeed', traffic.samples, {
        least: context.parameters['min-available'],
        allBut: meant.length * (context.parameters.back ? 2 : 1),
      });
    });
    await verifyLedger(context);
    await readBack(context);
  },
});

function expectTakers(meant: readonly ClusterNode[], { binary, flavour }: UpgradeInput): void {
  if (binary === undefined || flavour !== undefined) return;
  const flavours = [...new Set(meant.map((node) => node.flavour))];
  if (flavours.length === 1) return;
  throw new HarnessError(
    'USAGE',
    `binary: got ${binary}, but the nodes are of ${flavours.join(' and ')}; name the flavour of the program, too`,
  );
}

async function wanted({ parameters: { binary, flavour } }: Context): Promise<UpgradeInput> {
  const isFile = /[/.]/.test(flavour);
  return {
    flavour: flavour === '' ? undefined : isFile ? await readFlavour(flavour, 'flavour') : flavour,
    binary: binary === '' ? undefined : binary,
  };
}

function programOf({ flavour, binary }: ClusterNode): UpgradeInput {
  return { flavour, binary };
}

interface Rolling {
  readonly order: readonly ClusterNode[];
  readonly to: (node: ClusterNode) => UpgradeInput;
  readonly away: Set<ClusterNode>;
}

function roll(context: Context, title: string, { order, to, away }: Rolling): Promise<void> {
  return context.step(title, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const { clock } = cluster;
    const startedAt = clock.monotonic();
    for (const [index, node] of order.entries()) {
      away.add(node);
      await clock.sleep(CALM_MS, signal);
      await cluster.upgrade(node.name, to(node), { timeoutMs: given['ready-within'], signal });
      await cluster.meshed({ signal });
      away.delete(node);
      const { overlay } = await node.client.addresses(signal);
      context.expect(`${node.name} is the node that it was`, overlay === node.overlay, {
        observed: overlay,
        expected: node.overlay,
      });
      progress.progress(index + 1, order.length, 'nodes');
    }
    const seconds = (clock.monotonic() - startedAt) / 1000;
    const programs = await Promise.all(
      order.map(async ({ client, flavour }) => `${flavour} ${(await client.health(signal)).version}`),
    );
    const of = [...new Set(programs)].toSorted().join(' and ');
    context.figure({ name: `${title}: time for all nodes`, of, value: seconds.toFixed(2), unit: 's' });
    progress.detail(`${plural(order.length, 'node')} to ${of} in ${seconds.toFixed(1)} s`);
  });
}

function readBack(context: Context): Promise<void> {
  return context.step('read back', async (progress) => {
    const { ledger, parameters: given } = context;
    const entries = drawn(context, 'sample', ledger.entries, given.sample);
    const unread: string[] = [];
    let done = 0;
    await allAtMost(
      READS_AT_ONCE,
      entries.map((entry, index) => async () => {
        const failure = await read(context, entry, index);
        if (failure !== undefined) unread.push(failure);
        progress.progress(++done, entries.length, 'chunks');
      }),
    );
    context.expect('every acknowledged chunk is readable', entries.length > 0 && unread.length === 0, {
      observed: `${entries.length - unread.length} of ${plural(entries.length, 'chunk')}`,
      expected: 'all of them, and one at least',
      ...(unread.length === 0 ? {} : { evidence: unread.slice(0, 20).join('\n') }),
    });
  });
}

/** @returns why it failed */
function read(
  { cluster, signal }: Context,
  { node: uploader, reference }: LedgerEntry,
  index: number,
): Promise<string | undefined> {
  const readers = otherNodes(cluster.nodes, cluster.node(uploader));
  const reader = readers[index % readers.length] as ClusterNode;
  return inTime(
    `${reader.name} reads chunk ${reference}`,
    (aborted) =>
      errorAsText(aborted, async () => {
        await reader.chunks.download(reference, { cache: false, signal: aborted });
        return undefined;
      }),
    { cluster, timeoutMs: READ_WITHIN_MS, signal },
  );
}
