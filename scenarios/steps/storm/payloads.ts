/** Payloads after a storm, in sequence at one single-owner address. Each is a message. */
import type { ClusterNode, Subscription } from 'svcnet';
import { fromHex, makeCac, signSoc, socAddress, socParts, toHex } from 'svcnet/scenario';
import { ownerNear } from '../gsoc-owner.ts';
import { neighbourhoodOf } from '../presence.ts';
import { batchOf, inTime, workingNodes } from '../steps.ts';
import { expectNone } from './checks.ts';
import { drawPair } from './drawn.ts';
import type { StormContext } from './parameters.ts';

const TEXTS = ['first payload', 'second payload', 'third payload'] as const;
/** Bits shared with the listener's overlay: other nodes are hardly ever closer. */
const PROXIMITY = 12;
const HEARD_WITHIN_MS = 60_000;

/** Comes after the storm: a push that a fault keeps from the listener is not repeated after another payload. */
export function payloads(context: StormContext): Promise<void> {
  return context.step('payloads', async (progress) => {
    const { cluster, signal } = context;
    const full = workingNodes(cluster.nodes).filter(({ mode }) => mode === 'full');
    if (full.length < 2 || (await cluster.unlistedPeers(signal)).length > 0) {
      context.unchecked(
        'payloads at one address: for want of two full nodes, or because others may be closer than any of them',
      );
      return;
    }
    const [from, to] = drawPair(context.random('payloads'), full);
    const id = context.random('payload id').bytes(32);
    const owner = ownerNear(fromHex(to.overlay), id, PROXIMITY);
    const address = toHex(socAddress(id, owner.address));
    const { nodes } = await neighbourhoodOf(address, full, signal);
    // The others of the neighbourhood pull it.
    const listeners = [to, ...nodes.filter((node) => node !== to && node !== from)];
    progress.detail(`${from.name} to ${listeners.map(({ name }) => name).join(', ')}`);
    using stack = new DisposableStack();
    const heard: [ClusterNode, Subscription][] = [];
    for (const node of listeners)
      heard.push([node, stack.use(await node.messages.listenTo(address, signal))]);
    const unheard: string[] = [];
    for (const text of TEXTS) {
      const { data } = signSoc(id, makeCac(BigInt(text.length), Buffer.from(text)).data, owner);
      await from.soc.upload(toHex(owner.address), socParts(data), { batch: batchOf(from), signal });
      const probe = () => {
        const [deaf] = heard.find(([, { texts }]) => !texts.includes(text)) ?? [];
        return Promise.resolve(deaf && `${deaf.name} has not heard '${text}'`);
      };
      const limits = { ...context, timeoutMs: HEARD_WITHIN_MS };
      const missing = await inTime('a payload is heard', probe, limits);
      if (missing === undefined) continue;
      unheard.push(missing);
      break;
    }
    expectNone(context, 'every payload sent to one address is heard', unheard, `${TEXTS.length} payloads`);
  });
}
