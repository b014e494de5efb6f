import { ClientError, type ClusterNode, HarnessError, type ReadAccess } from 'svcnet';
import { defineScenario, expectBytes, parameter, type ScenarioContext } from 'svcnet/scenario';
import {
  batchOf,
  chosenNode,
  difference,
  errorAsText,
  inTime,
  ledgerDirect,
  nextSecond,
  otherNodes,
  verifyLedger,
} from './steps/steps.ts';

const parameters = {
  size: parameter('size', 1024, 'size of the file', { min: 1 }),
  node: parameter('node', '', 'node that publishes; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

/** For a reader: the acknowledged list is on the network, but the reader may need its own requests. */
const SEEN_WITHIN_MS = 30_000;
const NAME = 'letter';

interface Person {
  readonly node: ClusterNode;
  /** Compressed, hex. */
  readonly key: string;
}

interface Letter extends ReadAccess {
  readonly reference: string;
  readonly data: Uint8Array;
}

export default defineScenario({
  name: 'act',
  group: 'functional',
  about:
    'Publishes files for selected nodes only, and checks who can read what after grants and revocations.',
  parameters,
  needs: { nodes: 4 },
  cluster: { nodes: 4 },
  timeoutMs: 300_000,
  async run(context) {
    const publisher = await personOf(context, chosenNode(context, context.parameters.node));
    const readers = otherNodes(context.cluster.nodes, publisher.node).slice(0, 3);
    const people = await Promise.all(readers.map((node) => personOf(context, node)));
    const [first, second, third] = people;
    if (first === undefined || second === undefined || third === undefined)
      throw new HarnessError('NODE_STATE', 'there are no three readers that run');

    const alone = await publish(context, publisher, 'alone');
    await context.step('alone', async () => {
      await reads(context, publisher, alone);
      await refused(context, publisher, { ...alone, publisher: first.key }, 'with another publisher named');
      await refused(context, second, alone, 'before anything is granted');
    });
    const granted = await context.step('grant', async () => {
      await nextSecond(context.cluster.clock, context.signal);
      const options = { actHistory: alone.history, ...optionsOf(context, publisher.node) };
      const work = () => publisher.node.grantees.create([second.key, third.key], options);
      const list = await context.measure({ operation: 'grant', node: publisher.node.name }, work, () => 0);
      await listed(context, publisher.node, list.reference, [second.key, third.key]);
      return list;
    });
    const shared = await publish(context, publisher, 'shared', granted.history);
    await context.step('grantees', async () => {
      for (const person of [publisher, second, third]) await reads(context, person, shared);
      await refused(context, first, shared, 'without a grant');
      await reads(context, second, { ...alone, history: granted.history });
    });
    const patched = await context.step('revoke', async () => {
      await nextSecond(context.cluster.clock, context.signal);
      const change = { add: [first.key], revoke: [second.key, third.key] };
      const work = () => publisher.node.grantees.patch(granted, change, optionsOf(context, publisher.node));
      const list = await context.measure({ operation: 'revoke', node: publisher.node.name }, work, () => 0);
      await listed(context, publisher.node, list.reference, [first.key]);
      return list;
    });
    const renewed = await publish(context, publisher, 'renewed', patched.history);
    await context.step('revoked', async () => {
      for (const person of [publisher, first]) await reads(context, person, renewed);
      for (const person of [second, third]) {
        await refused(context, person, renewed, 'after its revocation');
        await reads(context, person, shared);
      }
    });
    await verifyLedger(context);
  },
});

async function personOf(context: Context, node: ClusterNode): Promise<Person> {
  const { publicKey } = await node.client.addresses(context.signal);
  return { node, key: publicKey };
}

/** Answers come once the network has the chunks. */
function optionsOf({ signal }: Context, node: ClusterNode) {
  return { batch: batchOf(node), deferred: false, signal };
}

/**
 * @param name of its bytes
 * @param history of its readers; undefined: a new one with the publisher alone
 */
function publish(context: Context, { node, key }: Person, name: string, history?: string): Promise<Letter> {
  return context.step('publish', async (progress) => {
    const { size } = context.parameters;
    const data = context.random(`letter ${name}`).bytes(size);
    const requestedAtMs = context.cluster.clock.now();
    const options = { ...optionsOf(context, node), name: NAME, act: true };
    const access = history === undefined ? options : { ...options, actHistory: history };
    const measured = { operation: 'publish', node: node.name };
    const uploaded = await context.measure(
      measured,
      () => node.files.upload(data, access),
      () => size,
    );
    const told = uploaded.history ?? '';
    const right = history === undefined ? /^[0-9a-f]{64}$/.test(told) : told === history;
    const expected = history ?? 'an address';
    context.expect('the answer gives the history', right, { observed: told, expected });
    const { chunks } = await expectBytes(data);
    await ledgerDirect(context, node, {
      kind: 'file',
      reference: uploaded.reference,
      size,
      chunks: [...chunks, told],
      requestedAtMs,
    });
    progress.detail(`${uploaded.reference.slice(0, 8)} on ${node.name}`);
    return { reference: uploaded.reference, publisher: key, history: told, data };
  });
}

async function listed(
  context: Context,
  node: ClusterNode,
  reference: string,
  expected: readonly string[],
): Promise<void> {
  const seen = await node.grantees.list(reference, context.signal);
  const same = seen.toSorted().join() === expected.toSorted().join();
  context.expect(`the list has ${expected.length}`, same, {
    observed: seen.join(),
    expected: expected.join(),
  });
}

function open(person: Person, letter: Letter, signal: AbortSignal): Promise<Uint8Array> {
  const { reference, publisher, history } = letter;
  return person.node.files.download(reference, NAME, {
    access: { publisher, history },
    cache: false,
    signal,
  });
}

async function reads(context: Context, person: Person, letter: Letter): Promise<void> {
  const { name } = person.node;
  const what = `${name} reads ${letter.reference.slice(0, 8)}`;
  let different: string | undefined;
  const probe = (signal: AbortSignal) =>
    errorAsText(signal, async () => {
      // Wrong bytes are wrong, whatever comes later.
      different = difference(await open(person, letter, signal), letter.data);
      return undefined;
    });
  const work = () => inTime(what, probe, { ...context, timeoutMs: SEEN_WITHIN_MS });
  const missing = await context.measure({ operation: 'read', node: name }, work, () => letter.data.length);
  const wrong = missing ?? different;
  const expected = `${letter.data.length} bytes`;
  context.expect(what, wrong === undefined, { observed: wrong ?? 'equal bytes', expected });
}

async function refused(context: Context, person: Person, letter: Letter, when: string): Promise<void> {
  const seen = await open(person, letter, context.signal).then(
    (data) => `${data.length} bytes`,
    (error: unknown) => (error instanceof ClientError ? error.class : String(error)),
  );
  const what = `${person.node.name} is refused ${letter.reference.slice(0, 8)} ${when}`;
  context.expect(what, seen === 'http.404', { observed: seen, expected: 'http.404' });
}
