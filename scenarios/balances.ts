import { type ClusterNode, HarnessError, type NodeBooks } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { checkBooks, type Paid, settle, uploadPaid } from './steps/money.ts';
import { difference } from './steps/steps.ts';

const parameters = {
  size: parameter('size', 2 ** 20, 'size of the uploaded data', { min: 1 }),
  uploaders: parameter('integer', 1, 'number of nodes that upload, each with its own data', { min: 1 }),
  deadline: parameter('integer', 30, 'seconds within which both ends must agree', {
    min: 1,
    allowance: true,
  }),
  'dry-run': parameter('boolean', false, 'only compare the current balances'),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'balances',
  group: 'economics',
  about: 'Uploads and downloads, then checks on every link that both ends agree on the balance.',
  parameters,
  needs: { nodes: 3, modes: ['light'] },
  // A light node stores nothing: it reads all from others.
  cluster: { nodes: 4, light: 1 },
  timeoutMs: 300_000,
  async run(context) {
    const { deadline } = context.parameters;
    const quiet = () => settle(context, { timeoutMs: deadline * 1000 });
    const start = await quiet();
    if (!context.parameters['dry-run']) await exchange(context, start, quiet);
    const { nodes } = await checkBooks(context, { timeoutMs: deadline * 1000 });
    figures(context, nodes);
  },
});

async function exchange(
  context: Context,
  start: readonly NodeBooks[],
  quiet: () => Promise<readonly NodeBooks[]>,
): Promise<void> {
  const { size, uploaders: count } = context.parameters;
  const running = context.cluster.nodes.filter((node) => node.running);
  const uploaders = running.filter(({ mode }) => mode === 'full').slice(0, count);
  const reader = running.find(({ mode }) => mode === 'light');
  if (reader === undefined) throw new HarnessError('NODE_STATE', 'no light node of the cluster runs');
  const pieces = await context.step('upload', () =>
    Promise.all(uploaders.map((node) => uploadPaid(context, node, { name: node.name, size }))),
  );
  const uploaded = await quiet();
  expectChange(context, 'an upload', start, uploaded);
  await context.step('download', async () => {
    for (const piece of pieces) await read(context, reader, piece);
  });
  expectChange(context, 'a download', uploaded, await quiet());
}

async function read(context: Context, reader: ClusterNode, { reference, data }: Paid): Promise<void> {
  const work = () => reader.bytes.download(reference, { cache: false, signal: context.signal });
  const key = { operation: 'download', node: reader.name };
  const seen = await context.measure(key, work, ({ length }) => length);
  const part = difference(seen, data);
  context.expect(`${reader.name} reads what was uploaded`, part === undefined, {
    observed: part ?? 'equal bytes',
    expected: `${data.length} bytes of ${reference}`,
  });
}

function expectChange(
  context: Context,
  what: string,
  before: readonly NodeBooks[],
  after: readonly NodeBooks[],
): void {
  const sums = (books: readonly NodeBooks[]) =>
    new Map(
      books.flatMap(({ name, links }) =>
        links.map((link) => [
          `${name} with ${link.peer.slice(0, 8)}`,
          `${link.balance} ${link.timeSent} ${link.chequeSent}`,
        ]),
      ),
    );
  const earlier = sums(before);
  const changed = [...sums(after)].filter(([link, sum]) => earlier.get(link) !== sum);
  context.expect(`${what} costs something`, changed.length > 0, {
    observed: `${changed.length} balances changed`,
    expected: 'at least one',
  });
}

function figures(context: Context, nodes: readonly NodeBooks[]): void {
  for (const { name, links } of nodes) {
    const owed = links.filter(({ balance }) => balance > 0n).reduce((sum, { balance }) => sum + balance, 0n);
    context.figure({ name: 'owed by peers', of: name, value: owed.toString(), unit: 'units' });
  }
}
