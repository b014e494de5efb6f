import { ClientError } from 'svcnet';
import { CHUNK_PAYLOAD_SIZE, defineScenario, fromHex, makeCac, type ScenarioContext } from 'svcnet/scenario';
import { type Implementation, implementations } from '../steps/known.ts';
import { batchOf, errorAsText } from '../steps/steps.ts';

/** Bytes of the last leaf, and where is read: within what the root names, behind the end. */
const LEAF_SIZE = 10;
const BEHIND = { from: CHUNK_PAYLOAD_SIZE + 2_000, to: CHUNK_PAYLOAD_SIZE + 2_099 } as const;

export default defineScenario({
  name: 'bee-5524',
  group: 'functional',
  about:
    'Uploads a tree whose root claims more bytes than its leaves have, and reads beyond their end: the node must survive.',
  parameters: {},
  needs: { nodes: 1 },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    for (const one of implementations(context.cluster.nodes)) await readBehind(context, one);
  },
});

function readBehind(context: ScenarioContext, { flavour, nodes: [node] }: Implementation): Promise<void> {
  return context.step(`read by ${flavour}`, async () => {
    const { signal } = context;
    const random = context.random('leaves');
    const put = async (span: number, payload: Uint8Array): Promise<string> => {
      const { data } = makeCac(BigInt(span), payload);
      return (await node.chunks.upload(data, { batch: batchOf(node), signal })).reference;
    };
    const first = await put(CHUNK_PAYLOAD_SIZE, random.bytes(CHUNK_PAYLOAD_SIZE));
    const last = await put(LEAF_SIZE, random.bytes(LEAF_SIZE));
    const children = new Uint8Array([...fromHex(first), ...fromHex(last)]);
    const root = await put(2 * CHUNK_PAYLOAD_SIZE, children);
    const answer = await node.bytes.download(root, { range: BEHIND, signal }).then(
      ({ length }) => `${length} bytes`,
      (error: unknown) => {
        if (error instanceof ClientError && !signal.aborted) return error.message;
        throw error;
      },
    );
    const missing = await errorAsText(signal, async () => {
      await node.client.health(signal);
      return undefined;
    });
    context.expect(`${flavour}: the node survives the read`, missing === undefined, {
      observed: missing ?? answer,
      expected: 'any answer to the read, and a node that runs',
      evidence: `${node.name} ${root}`,
    });
  });
}
