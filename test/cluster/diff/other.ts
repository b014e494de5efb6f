/** Our node with a small change in its sources that its variable `OTHER_CHANGE` names: another implementation, nearly. */
import type { Edit } from '../../planted/bugs.ts';
import { plant } from '../../planted/plant.ts';

/** What a node charges for a chunk of a peer. @param more accounting units */
function served(protocol: string, more: string): Edit {
  const from = 'accounting.price(host.overlay, address)';
  return { file: `protocols/${protocol}/serving.ts`, from, to: `${from} + ${more}` };
}

const CHANGES: Readonly<Record<string, readonly Edit[]>> = {
  none: [],
  pushsync: [served('pushsync', '1n')],
  // A multiple of the unit of prices.
  retrieval: [served('retrieval', '10_000n')],
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
