import { type BehaviourName, type ClusterNode, HarnessError } from 'svcnet';
import {
  BEHAVIOUR_NAMES,
  defineScenario,
  expectBytes,
  formatBytes,
  isHonest,
  messageOf,
  nodeCounts,
  parameter,
  plural,
  type ScenarioContext,
  tamperedOf,
} from 'svcnet/scenario';
import { countsOnceActed } from './steps/behaviours.ts';
import { batchOf, difference, uploadLedgered, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  behaviours: parameter('list', ['wrong-data'], 'behaviours of the dishonest nodes in a fresh cluster', {
    oneOf: BEHAVIOUR_NAMES,
  }),
  share: parameter('number', 0.125, 'share of dishonest nodes in a fresh cluster, above 0 and below 1'),
  rounds: parameter(
    'integer',
    4,
    'number of uploads, each to another honest node; more follow until every dishonest node has acted',
    {
      min: 1,
    },
  ),
  size: parameter('size', 2 ** 18, 'size of each upload', { min: 1 }),
  'min-success': parameter(
    'number',
    0.99,
    'smallest share of uploads and downloads among honest nodes that must succeed',
  ),
  growth: parameter(
    'size',
    96 * 2 ** 20,
    'memory that an honest node may gain, in addition to a fifth of what it used before',
    { allowance: true },
  ),
};
type Context = ScenarioContext<typeof parameters>;

const HONEST = 7;
/** Content has to be requested from its neighbourhood. */
const OPTIONS = { 'minimum-storage-radius': 1, 'cache-capacity': 0 } as const;
/** Debts of a few dozen chunks must be paid. */
const ABOUT_MONEY: ReadonlySet<string> = new Set<BehaviourName>([
  'freeload',
  'refuse-to-pay',
  'bouncing-cheques',
]);
const READ_TIMEOUT_MS = 40_000;
const ACTED_WITHIN_MS = 20_000;

export default defineScenario({
  name: 'byzantine',
  group: 'chaos',
  about:
    'Adds dishonest nodes, then checks that the honest ones serve each other, lose nothing and stay healthy.',
  parameters,
  needs: { nodes: 3, flavours: ['dishonest'], started: true },
  cluster: {
    nodes: HONEST,
    neighbourhoods: ['0', '1'],
    options: OPTIONS,
    creditFor: ({ behaviours }) => (behaviours.some((name) => ABOUT_MONEY.has(name)) ? 'low' : undefined),
    groups: ({ behaviours, share }) => [
      {
        flavour: 'dishonest',
        // The definition reports unknown ones.
        dishonest: behaviours as readonly BehaviourName[],
        count: Math.max(1, Math.round((HONEST * share) / (1 - share))),
        options: OPTIONS,
      },
    ],
  },
  timeoutMs: 600_000,
  alone: true,
  async run(context) {
    const honest = workingNodes(context.cluster.nodes);
    const dishonest = context.cluster.nodes.filter((node) => node.running && !isHonest(node));
    const before = await memoryOf(honest);
    const operations: Operations = { done: 0, failed: [] };
    const exchange = (round: number) => exchanged(context, { round, honest, dishonest, operations });
    const { rounds } = context.parameters;
    for (let round = 0; round < rounds; round++) {
      await context.step(`round ${round + 1}`, (progress) => {
        progress.detail(formatBytes(context.parameters.size));
        return exchange(round);
      });
    }
    try {
      await acted(context, { dishonest, exchange, from: rounds });
    } finally {
      serve(context, operations);
    }
    await stayedWell(context, honest, before);
    await verifyLedger(context);
  },
});

/** Among honest nodes. */
interface Operations {
  done: number;
  readonly failed: string[];
}

function serve(context: Context, { done, failed }: Operations): void {
  const least = context.parameters['min-success'];
  context.expect('honest nodes serve each other', failed.length <= done * (1 - least), {
    observed: `${done - failed.length} of ${done}`,
    expected: `at least ${least * 100} %`,
    ...(failed.length === 0 ? {} : { evidence: failed.join('\n') }),
  });
}

interface Round {
  readonly round: number;
  readonly honest: readonly ClusterNode[];
  readonly dishonest: readonly ClusterNode[];
  readonly operations: Operations;
}

async function exchanged(context: Context, { round, honest, dishonest, operations }: Round): Promise<void> {
  const uploader = honest[round % honest.length] as ClusterNode;
  const data = context.random(`round ${round}`).bytes(context.parameters.size);
  const reference = await attempt(operations, `upload on ${uploader.name}`, () =>
    upload(context, uploader, data),
  );
  if (reference === undefined) return;
  const readers = honest.filter((node) => node !== uploader);
  await Promise.all(readers.map((reader) => read(context, { reader, reference, data, operations })));
  // A peer that owes nothing cannot refuse to pay. The download's outcome does not matter.
  await Promise.allSettled(dishonest.map((node) => download(context, node, reference)));
}

async function attempt<T>(
  operations: Operations,
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  operations.done++;
  try {
    return await work();
  } catch (error) {
    operations.failed.push(`${what}: ${messageOf(error)}`);
    return undefined;
  }
}

function upload(context: Context, node: ClusterNode, data: Uint8Array): Promise<string> {
  const batch = batchOf(node);
  return uploadLedgered(context, {
    operation: 'upload',
    kind: 'bytes',
    node,
    batch,
    size: data.length,
    mode: 'deferred',
    upload: () => node.bytes.upload(data, { batch, redundancyLevel: 0, signal: context.signal }),
    expected: () => expectBytes(data),
  });
}

async function download(context: Context, node: ClusterNode, reference: string): Promise<Uint8Array> {
  using limit = context.cluster.clock.deadline(READ_TIMEOUT_MS, context.signal);
  return await node.bytes.download(reference, { cache: false, signal: limit.signal });
}

async function read(
  context: Context,
  {
    reader,
    reference,
    data,
    operations,
  }: {
    readonly reader: ClusterNode;
    readonly reference: string;
    readonly data: Uint8Array;
    readonly operations: Operations;
  },
): Promise<void> {
  const seen = await attempt(operations, `download on ${reader.name}`, () =>
    context.measure(
      { operation: 'download', node: reader.name },
      () => download(context, reader, reference),
      ({ length }) => length,
    ),
  );
  if (seen === undefined) return;
  const part = difference(seen, data);
  context.expect(`${reader.name} downloads the right bytes of ${reference.slice(0, 8)}`, part === undefined, {
    observed: part ?? 'all bytes equal',
    expected: 'all bytes equal',
  });
}

interface Acting {
  readonly dishonest: readonly ClusterNode[];
  /** One more round. A new node is asked for nothing in the first ones: others are known to be well. */
  readonly exchange: (round: number) => Promise<void>;
  readonly from: number;
}

/** If the node behaved, all other conditions would hold. @throws HarnessError `NODE_STATE` */
function acted(context: Context, { dishonest, exchange, from }: Acting): Promise<void> {
  return context.step('behaviours', async (progress) => {
    let round = from;
    for (const node of dishonest) {
      for (const behaviour of tamperedOf(node.dataDir)?.behaviours ?? []) {
        const counts = await countsOnceActed(
          {
            what: `${node.name} does ${behaviour}`,
            counts: () => nodeCounts(node.dataDir, behaviour),
            exchange: () => exchange(round++),
          },
          { ...context, timeoutMs: ACTED_WITHIN_MS },
        );
        if (counts === undefined) {
          throw new HarnessError(
            'NODE_STATE',
            `${node.name} had no occasion for ${behaviour}: nothing was tested`,
          );
        }
        for (const [name, value] of Object.entries(counts)) {
          context.figure({ name, of: node.name, value, unit: 'times' });
        }
      }
    }
    progress.detail(`${plural(dishonest.length, 'dishonest node')} acted`);
  });
}

async function memoryOf(nodes: readonly ClusterNode[]): Promise<ReadonlyMap<string, number>> {
  const known = await Promise.all(
    nodes.map(
      async (node): Promise<[string, number | undefined]> => [node.name, (await node.stats()).memoryBytes],
    ),
  );
  return new Map(known.flatMap(([name, bytes]) => (bytes === undefined ? [] : [[name, bytes]])));
}

function stayedWell(
  context: Context,
  honest: readonly ClusterNode[],
  before: ReadonlyMap<string, number>,
): Promise<void> {
  return context.step('honest nodes', async (progress) => {
    const { signal, parameters: given } = context;
    const overlays = new Set(honest.map(({ overlay }) => overlay));
    const after = await memoryOf(honest);
    if (after.size === 0) context.unchecked('memory: the nodes share a process');
    for (const node of honest) {
      const { state } = await node.observe();
      context.expect(`${node.name} runs`, state === 'running', { observed: state, expected: 'running' });
      const peers = (await node.client.peers(signal)).filter(({ address }) => overlays.has(address));
      context.expect(`${node.name} has honest peers`, peers.length > 0, {
        observed: peers.length,
        expected: 'at least 1',
      });
      const errors = await node.loggedErrors();
      context.expect(`${node.name} logs no errors`, errors.length === 0, {
        observed: plural(errors.length, 'error'),
        expected: '0 errors',
        ...(errors.length === 0
          ? {}
          : {
              evidence: errors
                .slice(0, 5)
                .map((one) => JSON.stringify(one))
                .join('\n'),
            }),
      });
      const [had, has] = [before.get(node.name), after.get(node.name)];
      if (had === undefined || has === undefined) continue;
      const most = had * 1.2 + given.growth;
      context.expect(`the memory of ${node.name} stays bounded`, has <= most, {
        observed: formatBytes(has),
        expected: `at most ${formatBytes(most)}`,
      });
    }
    progress.detail(`${plural(honest.length, 'honest node')} checked`);
  });
}
