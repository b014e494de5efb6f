import { faultsOf, HarnessError, type TapEvent } from 'svcnet';
import { defineScenario, parameter, readNodeBooks, type ScenarioContext } from 'svcnet/scenario';
import { conversations, counted, isOver, matched, type Pair, pairs } from './steps/messages.ts';
import { booksAfterWork, grown, needCheques, uploadPaid } from './steps/money.ts';
import { inTime } from './steps/steps.ts';

const parameters = {
  by: parameter('list', ['duplicate', 'replay'], 'how a cheque is repeated: on its stream, or in a new one', {
    oneOf: ['duplicate', 'replay'],
  }),
  after: parameter('duration', 2000, 'delay before it is repeated in a new stream', { min: 1 }),
  size: parameter('size', 2 ** 20, 'size of an upload that must be paid for', { min: 1 }),
};
type Context = ScenarioContext<typeof parameters>;

const DONE = { duplicate: 'duplicated', replay: 'replayed' } as const;
type Way = keyof typeof DONE;

/** Chunks to one of many peers are few; so many uploads provoke a cheque. */
const UPLOADS_MAX = 20;
const AGREES_WITHIN_MS = 60_000;
/** A node may ask the chain about a cheque. */
const HANDLED_WITHIN_MS = 60_000;

export default defineScenario({
  name: 'repeated-cheque',
  group: 'economics',
  tags: ['messages'],
  about: 'Repeats cheques in transit: each must be credited once, and both ends must agree on the balance.',
  parameters,
  needs: { nodes: 2, capabilities: ['tap'] },
  // A Bee refuses other limits.
  cluster: { nodes: 3, credit: 'network' },
  timeoutMs: 600_000,
  async run(context) {
    for (const pair of pairs(context)) {
      await needCheques(context, pair.peer, context.parameters.size);
      for (const way of context.parameters.by) await repeat(context, pair, way as Way);
    }
  },
});

function repeat(context: Context, { flavour, node, peer }: Pair, way: Way): Promise<void> {
  return context.step(`${way} for ${flavour}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const books = (limit: AbortSignal) => Promise.all([peer, node].map((one) => readNodeBooks(one, limit)));
    const before = await books(signal);
    const earlier = await repeats(context, { node, peer }, way);
    const { id } = await cluster.faults.message({
      from: peer.name,
      to: node.name,
      oneWay: true,
      protocol: 'swap',
      message: 'cheque',
      ...(way === 'duplicate' ? { duplicate: true } : { replay: given.after }),
    });
    await provoke(context, { flavour, node, peer }, way);
    await matched(context, id, [`messages ${DONE[way]}`, 1]);
    const [fault] = await cluster.faults.heal(id);
    const repeated = counted(fault?.effect, `messages ${DONE[way]}`);
    await handled(context, { node, peer }, way, { earlier, repeated });
    const limits = { ...context, timeoutMs: AGREES_WITHIN_MS };
    const differences = grown(before, await booksAfterWork(before, books, limits));
    const how = way === 'duplicate' ? 'twice on its stream' : 'again in a new stream';
    context.expect(`${flavour}: a cheque that comes ${how} is credited once`, differences.length === 0, {
      observed: differences.join('; ') || `${repeated} cheques repeated, both ends count the same`,
      expected: 'balances that cancel out, and equal payments',
      evidence: `${peer.name} pays ${node.name}`,
    });
    const [{ sent }, { received }] = [
      await peer.chequebook.cheque(node.overlay, signal),
      await node.chequebook.cheque(peer.overlay, signal),
    ];
    context.expect(
      `${flavour}: after one that comes ${how}, it holds the last cheque of its peer`,
      sent !== undefined && sent.payout === received?.payout,
      { observed: received?.payout ?? 'none', expected: sent?.payout ?? 'a cheque' },
    );
    progress.detail(`${repeated} cheques of ${peer.name} to ${node.name}`);
  });
}

type Ends = Pick<Pair, 'node' | 'peer'>;

async function repeats(
  context: Context,
  { node, peer }: Ends,
  way: Way,
): Promise<ReadonlyMap<string, boolean>> {
  const isRepeated = (event: TapEvent) =>
    event.from === peer.name && event.to === node.name && faultsOf(event).includes(DONE[way]);
  const all = await conversations(context, 'swap');
  const repeated = all.flatMap((events) => {
    const cheque = events.find(isRepeated);
    return cheque === undefined ? [] : [[cheque.stream, isOver(events)] as const];
  });
  return new Map(repeated);
}

/** A node credits a cheque only after asking the chain. */
async function handled(
  context: Context,
  ends: Ends,
  way: Way,
  { earlier, repeated }: { readonly earlier: ReadonlyMap<string, boolean>; readonly repeated: number },
): Promise<void> {
  const probe = async () => {
    const now = await repeats(context, ends, way);
    const over = [...now].filter(([stream, isEnded]) => isEnded && !earlier.has(stream)).length;
    return over >= repeated ? undefined : `${over} of ${repeated} conversations have ended`;
  };
  const limits = { ...context, timeoutMs: HANDLED_WITHIN_MS };
  const missing = await inTime(`${ends.node.name} has handled the cheques`, probe, limits);
  if (missing !== undefined) throw new HarnessError('NODE_STATE', missing);
}

async function provoke(context: Context, { node, peer }: Pair, way: Way): Promise<void> {
  const sent = async () =>
    (await peer.client.settlements(context.signal)).settlements.find((row) => row.peer === node.overlay)
      ?.sent ?? 0n;
  const before = await sent();
  for (let count = 0; count < UPLOADS_MAX; count++) {
    const name = `${way} ${peer.name} ${count}`;
    await uploadPaid(context, peer, { name, size: context.parameters.size });
    if ((await sent()) > before) return;
  }
  throw new HarnessError(
    'NODE_STATE',
    `${peer.name} sends ${node.name} no cheque for ${UPLOADS_MAX} uploads`,
  );
}
