/** A dishonest node may tell anything; an honest one must not pass it on. */
import { faultsOf, type TapEvent } from 'svcnet';
import { isHonest, plural } from 'svcnet/scenario';
import type { StormContext } from './parameters.ts';

const LOOKED_MS = 50;

export function watchDeliveries(context: StormContext): AsyncDisposable | undefined {
  const { cluster } = context;
  if (!cluster.capabilities.has('tap')) return undefined;
  const ended = new AbortController();
  const honest = new Set<string>();
  const invalid: TapEvent[] = [];
  let deliveries = 0;
  let failure: { readonly error: unknown } | undefined;
  const follow = async () => {
    const onMissed = (count: number) =>
      context.unchecked(`deliveries of honest nodes: ${plural(count, 'message')} passed too fast`);
    for await (const event of cluster.tap({ signal: ended.signal, onMissed })) {
      if (event.name !== 'delivery') continue;
      deliveries++;
      // An answer that a fault gives in its name is not the node's.
      if (event.fields['invalid'] === true && !faultsOf(event).includes('made up')) invalid.push(event);
    }
  };
  const following = follow().catch((error: unknown) => {
    failure = { error };
  });
  context.always({
    name: 'honest nodes deliver only what verifies',
    everyMs: LOOKED_MS,
    check: async () => {
      if (failure !== undefined) throw failure.error;
      // One that has left is known as what it was.
      for (const node of cluster.nodes) if (isHonest(node)) honest.add(node.name);
      if (deliveries === 0) return undefined;
      return invalid
        .filter(({ from }) => honest.has(from))
        .map(
          ({ from, to, protocol, fields }) =>
            `${from} delivers to ${to} by ${protocol} what is not the chunk ${JSON.stringify(fields['address'])}`,
        );
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      ended.abort();
      await following;
    },
  };
}
