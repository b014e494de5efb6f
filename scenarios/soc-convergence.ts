import { type ClusterNode, HarnessError } from 'svcnet';
import {
  type Chunk,
  createSigner,
  defineScenario,
  makeCac,
  parameter,
  type Random,
  type ScenarioContext,
  type Signer,
  signSoc,
  socParts,
  toHex,
} from 'svcnet/scenario';
import { drawn, neighbourhoodOf, storers } from './steps/presence.ts';
import { batchOf, errorAsText, inTime } from './steps/steps.ts';

const VERSIONS = ['2.0.0', '1.4.0'] as const;

const parameters = {
  version: parameter(
    'text',
    '2.0.0',
    'newest pull sync that the nodes speak; the scenario fails with 1.4.0',
    {
      oneOf: VERSIONS,
    },
  ),
  within: parameter('duration', 60_000, 'time within which all nodes must have the same payload', {
    allowance: true,
  }),
};
type Context = ScenarioContext<typeof parameters>;

const PAYLOAD_SIZE = 100;
/** For an address with two of our nodes in its neighbourhood. */
const OWNERS_MAX = 100;
/** Hex digits before and of a stamp's timestamp. */
const [TIMESTAMP_AT, TIMESTAMP_DIGITS] = [80, 16];
const NS_PER_MS = 1_000_000n;
/** What a part of a millisecond and a timer that fires early may take from a wait. */
const TIMER_MS = 10;

interface Version {
  readonly node: ClusterNode;
  readonly chunk: Chunk;
  readonly wrapped: Uint8Array;
}

interface Disputed {
  readonly address: string;
  readonly owner: Signer;
  readonly nodes: readonly ClusterNode[];
  readonly versions: readonly [Version, Version];
}

export default defineScenario({
  name: 'soc-convergence',
  group: 'functional',
  tags: ['sync'],
  about:
    'Uploads two payloads under one single-owner address to two nodes in its neighbourhood: all nodes there must keep the same one.',
  parameters,
  needs: { nodes: 3, flavours: ['svc'], started: true },
  cluster: {
    nodes: 5,
    options: { 'pullsync-v2-enable': true },
    optionsFor: ({ version }) => (version === '1.4.0' ? { 'pullsync-v2-enable': false } : {}),
  },
  timeoutMs: 300_000,
  async run(context) {
    await context.step('one stamp', async (progress) => {
      const disputed = await dispute(context, 'one stamp');
      const [one, other] = disputed.versions;
      const stamp = await stampFor(context, one.node, disputed);
      await upload(context, disputed, [stamp, stamp]);
      const isFirst = Buffer.compare(one.wrapped, other.wrapped) < 0;
      await converge(context, disputed, isFirst ? one : other);
      progress.detail(`${disputed.address.slice(0, 8)} on ${disputed.nodes.length} nodes`);
    });
    await context.step('two batches', async (progress) => {
      const disputed = await dispute(context, 'two batches');
      const [one, other] = disputed.versions;
      const older = await stampFor(context, one.node, disputed);
      const newer = await newerStamp(context, other.node, disputed, older);
      await upload(context, disputed, [older, newer]);
      await converge(context, disputed, other);
      progress.detail(`${disputed.address.slice(0, 8)} on ${disputed.nodes.length} nodes`);
    });
  },
});

async function dispute(context: Context, what: string): Promise<Disputed> {
  const random = context.random(what);
  const full = storers(context.cluster.nodes);
  for (let tried = 0; tried < OWNERS_MAX; tried++) {
    const owner = createSigner(random.bytes(32));
    const id = random.bytes(32);
    const make = () => version(random, owner, id);
    const [one, other] = [make(), make()];
    const address = toHex(one.chunk.address);
    const { nodes: near } = await neighbourhoodOf(address, full, context.signal);
    const nodes = near.filter(({ flavour }) => flavour === 'svc');
    const [first, second] = drawn(context, `uploaders ${what}`, nodes, 2);
    if (first === undefined || second === undefined) continue;
    return {
      address,
      owner,
      nodes,
      versions: [
        { ...one, node: first },
        { ...other, node: second },
      ],
    };
  }
  return context.skip('no neighbourhood has two nodes of ours');
}

function version(random: Random, owner: Signer, id: Uint8Array): Omit<Version, 'node'> {
  const { data, address: wrapped } = makeCac(BigInt(PAYLOAD_SIZE), random.bytes(PAYLOAD_SIZE));
  return { chunk: signSoc(id, data, owner), wrapped };
}

function stampFor({ signal }: Context, node: ClusterNode, { address }: Disputed): Promise<string> {
  return node.chunks.stamp(address, { batch: batchOf(node), signal });
}

/** Two machines' clocks may differ: then it waits once. */
async function newerStamp(
  context: Context,
  node: ClusterNode,
  disputed: Disputed,
  older: string,
): Promise<string> {
  const first = await stampFor(context, node, disputed);
  const behind = timestampOf(older) - timestampOf(first);
  if (behind < 0n) return first;
  await context.cluster.clock.sleep(Number(behind / NS_PER_MS) + TIMER_MS, context.signal);
  const second = await stampFor(context, node, disputed);
  if (timestampOf(second) > timestampOf(older)) return second;
  throw new HarnessError('NODE_STATE', `the clock of ${node.name} does not go on: its stamps are not newer`);
}

/** Nanoseconds. */
function timestampOf(stamp: string): bigint {
  return BigInt(`0x${stamp.slice(TIMESTAMP_AT, TIMESTAMP_AT + TIMESTAMP_DIGITS)}`);
}

/** Uploads both at once: neither node has the other's payload. */
async function upload(
  context: Context,
  { owner, versions }: Disputed,
  stamps: readonly [string, string],
): Promise<void> {
  const { signal } = context;
  const works = versions.map(({ node, chunk }, i) => {
    const options = { stamp: stamps[i] as string, deferred: false, signal };
    const work = () => node.soc.upload(toHex(owner.address), socParts(chunk.data), options);
    return context.measure({ operation: 'upload soc', node: node.name }, work, () => PAYLOAD_SIZE);
  });
  await Promise.all(works);
}

async function converge(context: Context, disputed: Disputed, kept: Version): Promise<void> {
  const { address, nodes } = disputed;
  const what = `every node of the neighbourhood of ${address.slice(0, 8)} keeps the same payload`;
  const probe = (signal: AbortSignal) =>
    errorAsText(signal, async () => {
      const others: string[] = [];
      for (const node of nodes) {
        const seen = await payloadOn(node, disputed, signal);
        if (seen !== kept) others.push(`${node.name} ${typeof seen === 'string' ? seen : 'has the other'}`);
      }
      return others.length === 0 ? undefined : others.join(', ');
    });
  const startedAt = context.cluster.clock.monotonic();
  const missing = await inTime(what, probe, { ...context, timeoutMs: context.parameters.within });
  context.expect(what, missing === undefined, {
    observed: missing ?? 'the same on all',
    expected: `the one that ${kept.node.name} uploaded on ${nodes.map(({ name }) => name).join(', ')}`,
  });
  if (missing !== undefined) return;
  const ms = Math.round(context.cluster.clock.monotonic() - startedAt);
  context.figure({ name: 'same payload after', of: address.slice(0, 8), value: ms, unit: 'ms' });
}

/** Reads the node's own store. @returns text: what it has instead */
async function payloadOn(
  node: ClusterNode,
  { address, versions }: Disputed,
  signal: AbortSignal,
): Promise<Version | string> {
  if (!(await node.holds(address, signal))) return 'has none';
  const data = await node.chunks.download(address, { cache: false, signal });
  const found = versions.find(({ chunk }) => Buffer.compare(chunk.data, data) === 0);
  return found ?? `has ${data.length} bytes that nobody uploaded`;
}
