/** Each is sent once, and heard once by a node that was left alone meanwhile. */
import type { ClusterNode, Subscription } from 'svcnet';
import type { ScheduledOperation } from 'svcnet/scenario';
import { batchOf, inTime, runningNode } from '../steps.ts';
import type { Outcome, StormContext } from './parameters.ts';

type Message = Extract<ScheduledOperation, { do: 'message' }>;

const TOPIC = 'storm';
/** Of the receiver's overlay, mined for: a few hundred hashes. */
const PREFIX_BYTES = 1;
const HEARD_WITHIN_MS = 60_000;

/** Accepted by the network. */
interface Sent {
  readonly text: string;
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  readonly subscription: Subscription;
}

export class Messages implements Disposable {
  readonly #context: StormContext;
  readonly #isHarmed: (node: ClusterNode) => boolean;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #sent: Sent[] = [];

  constructor(context: StormContext, isHarmed: (node: ClusterNode) => boolean) {
    this.#context = context;
    this.#isHarmed = isHarmed;
  }

  async send({ n, node: name, to: receiver }: Message): Promise<Outcome> {
    const { cluster, signal } = this.#context;
    const [from, to] = [runningNode(cluster, name), runningNode(cluster, receiver)];
    if (from === undefined || to === undefined || this.#isHarmed(from) || this.#isHarmed(to))
      return 'refused';
    const subscription = await this.#listen(to);
    const text = `message ${n} from ${from.name}`;
    const { pssPublicKey: recipient } = await to.client.addresses(signal);
    const options = { batch: batchOf(from), recipient, signal };
    const target = to.overlay.slice(0, 2 * PREFIX_BYTES);
    const work = () => from.messages.send(TOPIC, [target], text, options);
    await this.#context.measure({ operation: 'send message', node: from.name }, work, () => text.length);
    this.#sent.push({ text, from, to, subscription });
    return 'done';
  }

  /** One per node, anew when the last has ended with its node. */
  async #listen(node: ClusterNode): Promise<Subscription> {
    const known = this.#subscriptions.get(node.name);
    if (known !== undefined && known.closed === undefined) return known;
    const fresh = await node.messages.listen(TOPIC, this.#context.signal);
    this.#subscriptions.set(node.name, fresh);
    return fresh;
  }

  /** Only messages whose subscription has lasted: the others may have been sent to a node that was gone. */
  async conclude(): Promise<void> {
    const expected = this.#sent.filter(({ subscription }) => subscription.closed === undefined);
    if (expected.length === 0)
      this.#context.unchecked('messages: none was sent to a node that has run since then');
    const unheard = () => expected.filter(({ text, subscription }) => !subscription.texts.includes(text));
    const probe = () => {
      const [first] = unheard();
      return Promise.resolve(
        first === undefined ? undefined : `${first.to.name} has not heard '${first.text}'`,
      );
    };
    await inTime('every message is heard', probe, { ...this.#context, timeoutMs: HEARD_WITHIN_MS });
    const lines = unheard().map(({ text, to }) => `${to.name} has not heard '${text}'`);
    this.#context.expect('every message is heard by the node it is for', lines.length === 0, {
      observed: `${expected.length - lines.length} of ${expected.length}`,
      expected: `${expected.length}, of ${this.#sent.length} sent: the others were for nodes that ended meanwhile`,
      ...(lines.length === 0 ? {} : { evidence: lines.slice(0, 20).join('\n') }),
    });
    if (expected.some(({ to }) => to.flavour !== 'svc'))
      this.#context.unchecked(
        'messages heard twice by a Bee: it hears one again with each copy of its chunk',
      );
    const twice = expected.filter(
      ({ to, text, subscription }) =>
        to.flavour === 'svc' && subscription.texts.filter((heard) => heard === text).length > 1,
    );
    this.#context.expect('no message is heard twice', twice.length === 0, {
      observed: twice.length,
      expected: 0,
      ...(twice.length === 0 ? {} : { evidence: twice.map(({ text }) => text).join('\n') }),
    });
    this.#context.figure({ name: 'messages sent', value: this.#sent.length, unit: '' });
  }

  [Symbol.dispose](): void {
    for (const subscription of this.#subscriptions.values()) subscription.close();
  }
}
