/** Our node with the change in its sources that `OTHER_CHANGE` names. */
import type { Edit } from '../../planted/bugs.ts';
import { plant } from '../../planted/plant.ts';

/** @param more accounting units */
function served(protocol: string, more: string): Edit {
  const from = 'accounting.price(host.overlay, address)';
  return { file: `protocols/${protocol}/serving.ts`, from, to: `${from} + ${more}` };
}

function refreshed(more: string): Edit {
  const from = 'rate: forClass(this.#options.refreshRate, peer.fullNode, this.#options.lightFactor)';
  return { file: 'protocols/pseudosettle/pseudosettle.ts', from, to: `${from} + ${more}` };
}

const CHANGES: Readonly<Record<string, readonly Edit[]>> = {
  none: [],
  // A multiple of the unit of prices.
  retrieval: [served('retrieval', '10_000n')],
  prices: [
    served('pushsync', '1n'),
    {
      file: 'protocols/retrieval/retrieval.ts',
      from: 'accounting.price(peer.overlay, wanted.address), originated',
      to: 'accounting.price(peer.overlay, wanted.address) + 1n, originated',
    },
    refreshed('(peer.fullNode ? 0n : 1n)'),
  ],
  // A push is booked with the next retrieval of any peer.
  late: [
    {
      file: 'protocols/pushsync/serving.ts',
      from: '      debit.apply();',
      to: '      (globalThis.late ??= []).push(debit);',
    },
    { file: 'protocols/pushsync/serving.ts', from: '      debit.release();', to: '' },
    {
      file: 'protocols/retrieval/serving.ts',
      from: '      debit.apply();',
      to: '      for (const push of globalThis.late?.splice(0) ?? []) push.apply();\n      debit.apply();',
    },
    refreshed('(peer.fullNode ? -100_000n : 0n)'),
  ],
  order: [
    {
      file: 'manifest/metadata.ts',
      from: 'Buffer.compare(Buffer.from(a), Buffer.from(b))',
      to: 'Buffer.compare(Buffer.from(b), Buffer.from(a))',
    },
  ],
};

const change = CHANGES[process.env['OTHER_CHANGE'] ?? ''];
if (change === undefined) throw new Error(`OTHER_CHANGE: expected one of ${Object.keys(CHANGES).join(', ')}`);
plant(change);
await import('../../../node/main.ts');
