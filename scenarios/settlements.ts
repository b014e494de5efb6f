import { type ClusterNode, HarnessError, type Link, type NodeBooks, type PeerAccount } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { checkBooks, type Paid, settle, uploadPaid } from './steps/money.ts';
import { chosenNode, difference, otherNodes } from './steps/steps.ts';

const parameters = {
  size: parameter('size', 2 ** 21, 'size of the uploaded data', { min: 1 }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
  deadline: parameter('integer', 30, 'seconds within which both ends must agree', {
    min: 1,
    allowance: true,
  }),
  'expect-settlements': parameter('boolean', true, 'fail if nothing was settled'),
  'dry-run': parameter('boolean', false, 'only compare the current settlements'),
};
type Context = ScenarioContext<typeof parameters>;

/** By time in accounting units, by cheques in token units. */
const KINDS = [
  { kind: 'time', unit: 'accounting units', sent: (link: Link) => link.timeSent },
  { kind: 'cheque', unit: 'token units', sent: (link: Link) => link.chequeSent },
] as const;

export default defineScenario({
  name: 'settlements',
  group: 'economics',
  about:
    'Runs up debts at the public network’s thresholds, then checks that they are settled and stay within those thresholds.',
  parameters,
  needs: { nodes: 3 },
  cluster: { nodes: 4, credit: 'network' },
  timeoutMs: 300_000,
  async run(context) {
    const timeoutMs = context.parameters.deadline * 1000;
    const start = await settle(context, { timeoutMs });
    if (!context.parameters['dry-run']) {
      const uploader = chosenNode(context, context.parameters.node);
      const piece = await upload(context, uploader);
      const uploaded = await settle(context, { timeoutMs });
      expectSettled(context, start, uploaded);
      await withinLimits(context);
      await download(context, uploader, piece);
      await settle(context, { timeoutMs });
      await withinLimits(context);
    }
    const { nodes } = await checkBooks(context, { timeoutMs });
    figures(context, nodes);
  },
});

function upload(context: Context, node: ClusterNode): Promise<Paid> {
  const { size } = context.parameters;
  return context.step('upload', () => uploadPaid(context, node, { name: 'data', size }));
}

function download(context: Context, uploader: ClusterNode, { reference, data }: Paid): Promise<void> {
  return context.step('download', async () => {
    const reader = otherNodes(context.cluster.nodes, uploader).at(-1);
    if (reader === undefined) throw new HarnessError('NODE_STATE', 'there is no second node that runs');
    const work = () => reader.bytes.download(reference, { cache: false, signal: context.signal });
    const key = { operation: 'download', node: reader.name };
    const part = difference(await context.measure(key, work, ({ length }) => length), data);
    context.expect(`${reader.name} reads what was uploaded`, part === undefined, {
      observed: part ?? 'equal bytes',
      expected: `${data.length} bytes of ${reference}`,
    });
  });
}

function expectSettled(context: Context, before: readonly NodeBooks[], after: readonly NodeBooks[]): void {
  if (!context.parameters['expect-settlements']) return;
  const total = (books: readonly NodeBooks[]) =>
    KINDS.map(({ sent }) => books.flatMap(({ links }) => links).reduce((sum, link) => sum + sent(link), 0n));
  const [time, cheque] = total(after).map((sum, i) => sum - (total(before)[i] ?? 0n));
  const paid = (time ?? 0n) > 0n || (cheque ?? 0n) > 0n;
  context.expect('something was settled', paid, {
    observed: `${time} units by time, ${cheque} token units by cheques`,
    expected: 'more than nothing',
  });
}

/** The agreement: -thresholdReceived <= balance <= thresholdGiven. */
function withinLimits(context: Context): Promise<void> {
  return context.step('limits', async () => {
    const { cluster, signal } = context;
    const running = cluster.nodes.filter((node) => node.running);
    const wrong: string[] = [];
    let links = 0;
    for (const node of running) {
      for (const account of await node.client.accounting(signal)) {
        links++;
        if (!isWithin(account)) wrong.push(`${node.name}: ${written(account)}`);
      }
    }
    context.expect('every balance is within the thresholds of its link', wrong.length === 0, {
      observed: `${wrong.length} of ${links} are not`,
      expected: '-thresholdReceived <= balance <= thresholdGiven',
      ...(wrong.length === 0 ? {} : { evidence: wrong.join('\n') }),
    });
  });
}

function isWithin({ balance, thresholdGiven, thresholdReceived }: PeerAccount): boolean {
  return -thresholdReceived <= balance && balance <= thresholdGiven;
}

function written({ peer, balance, thresholdGiven, thresholdReceived }: PeerAccount): string {
  return `${balance} with ${peer.slice(0, 8)}, given ${thresholdGiven}, received ${thresholdReceived}`;
}

function figures(context: Context, nodes: readonly NodeBooks[]): void {
  for (const { kind, unit, sent } of KINDS) {
    for (const { name, links } of nodes) {
      const amounts = links.map(sent).filter((amount) => amount > 0n);
      const total = amounts.reduce((sum, amount) => sum + amount, 0n);
      context.figure({ name: `settled by ${kind}`, of: name, value: total.toString(), unit });
    }
  }
}
