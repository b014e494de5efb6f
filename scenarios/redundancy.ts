import { ClientError, type ClusterNode } from 'svcnet';
import {
  atMost,
  type Chunk,
  defineScenario,
  inOnePiece,
  parameter,
  type RedundancyLevel,
  randomEncryption,
  type ScenarioContext,
  split,
  toHex,
} from 'svcnet/scenario';
import { batchOf, chosenNode, difference, ledgerDirect, otherNode, verifyLedger } from './steps/steps.ts';

const parameters = {
  size: parameter(
    'size',
    307_200,
    'size of the data; smaller data can survive more loss than its level promises',
    { min: 307_200 },
  ),
  levels: parameter('list', ['1', '2', '3', '4'], 'redundancy levels', { oneOf: ['1', '2', '3', '4'] }),
  encrypt: parameter('list', ['false', 'true'], 'whether to encrypt; both by default', {
    oneOf: ['false', 'true'],
  }),
  concurrency: parameter('integer', 8, 'chunks uploaded at once', { min: 1 }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
  reader: parameter('node', '', 'node that downloads; the first other one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

/**
 * Share of chunks below the root that a level survives losing, and one that is too much: encrypted runs are shorter, with as
 * many parities.
 */
const LOSSES = {
  1: { survives: 0.01, fails: 0.2, failsEncrypted: 0.3 },
  2: { survives: 0.05, fails: 0.25, failsEncrypted: 0.45 },
  3: { survives: 0.1, fails: 0.35, failsEncrypted: 0.6 },
  4: { survives: 0.5, fails: 0.9, failsEncrypted: 0.95 },
} as const;
type Level = keyof typeof LOSSES;

interface Damaged {
  readonly data: Uint8Array;
  readonly reference: string;
  /** Remaining, with the root. */
  readonly chunks: readonly Chunk[];
  readonly lost: number;
}

export default defineScenario({
  name: 'redundancy',
  group: 'functional',
  about:
    'Removes a share of the chunks of uploaded files, then reads the files on another node as far as their redundancy level allows.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    const uploader = chosenNode(context, context.parameters.node);
    const reader = otherNode(context, context.parameters.reader, uploader);
    for (const level of context.parameters.levels.map((text) => Number(text) as Level))
      for (const isEncrypted of context.parameters.encrypt.map((text) => text === 'true')) {
        const kind = `level ${level}${isEncrypted ? ' encrypted' : ''}`;
        const { survives, fails, failsEncrypted } = LOSSES[level];
        await context.step(`${kind}, within its strength`, async (progress) => {
          const file = await damaged(context, {
            name: `${kind} within`,
            level,
            isEncrypted,
            share: survives,
          });
          progress.detail(`${file.lost} of ${file.lost + file.chunks.length} chunks lost`);
          await upload(context, uploader, file);
          await readBack(context, reader, file);
        });
        await context.step(`${kind}, beyond it`, async (progress) => {
          const share = isEncrypted ? failsEncrypted : fails;
          const file = await damaged(context, { name: `${kind} beyond`, level, isEncrypted, share });
          progress.detail(`${file.lost} of ${file.lost + file.chunks.length} chunks lost`);
          await upload(context, uploader, file);
          await refuse(context, reader, file);
        });
      }
    await verifyLedger(context);
  },
});

/** Removes some, but never the root, which is known by one address alone. */
async function damaged(
  context: Context,
  options: { name: string; level: RedundancyLevel; isEncrypted: boolean; share: number },
): Promise<Damaged> {
  const { name, level, isEncrypted, share } = options;
  const random = context.random(name);
  const data = random.bytes(context.parameters.size);
  const made = new Map<string, Chunk>();
  const putter = { put: async (chunk: Chunk) => void made.set(toHex(chunk.address), chunk) };
  const encryption = isEncrypted ? randomEncryption(random) : undefined;
  const { reference } = await split(inOnePiece(data), putter, { level, encryption });
  const root = toHex(reference.subarray(0, 32));
  const others = [...made.keys()].filter((address) => address !== root);
  const lost = Math.round(others.length * share);
  for (let i = 0; i < lost; i++) {
    const [address] = others.splice(random.below(others.length), 1);
    made.delete(address as string);
  }
  return { data, reference: toHex(reference), chunks: [...made.values()], lost };
}

async function upload(
  context: Context,
  node: ClusterNode,
  { data, reference, chunks }: Damaged,
): Promise<void> {
  const batch = batchOf(node);
  const requestedAtMs = context.cluster.clock.now();
  const put = (chunk: Chunk) => async () => {
    await node.chunks.upload(chunk.data, { batch, signal: context.signal });
  };
  await atMost(context.parameters.concurrency, chunks.map(put));
  await ledgerDirect(context, node, {
    kind: 'bytes',
    reference,
    size: data.length,
    chunks: chunks.map(({ address }) => toHex(address)),
    requestedAtMs,
  });
}

async function readBack(context: Context, node: ClusterNode, { data, reference }: Damaged): Promise<void> {
  const work = () => node.bytes.download(reference, { cache: false, signal: context.signal });
  const seen = await context.measure({ operation: 'recover', node: node.name }, work, ({ length }) => length);
  const part = difference(seen, data);
  context.expect(`${node.name} recovers ${reference.slice(0, 8)}`, part === undefined, {
    observed: part ?? 'equal bytes',
    expected: `${data.length} bytes`,
  });
}

/** A failure or a broken-off body: never bytes that look complete. */
async function refuse(context: Context, node: ClusterNode, { reference }: Damaged): Promise<void> {
  const seen = await node.bytes.download(reference, { cache: false, signal: context.signal }).then(
    ({ length }) => ({ length }),
    (error: unknown) => {
      if (error instanceof ClientError) return { failure: error.class };
      throw error;
    },
  );
  context.expect(`${node.name} tells that ${reference.slice(0, 8)} is lost`, 'failure' in seen, {
    observed: 'failure' in seen ? seen.failure : `${seen.length} bytes`,
    expected: 'an error',
  });
}
