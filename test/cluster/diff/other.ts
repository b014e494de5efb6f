/** Our node with a small change in its sources that its variable `OTHER_CHANGE` names: another implementation, nearly. */
import type { Edit } from '../../planted/bugs.ts';
import { plant } from '../../planted/plant.ts';

const CHANGES: Readonly<Record<string, readonly Edit[]>> = {
  none: [],
  price: [
    {
      file: 'accounting/rules.ts',
      from: 'BigInt(MAX_PO + 1 - po) * pricePerProximity)',
      to: 'BigInt(MAX_PO + 1 - po) * pricePerProximity + 1n)',
    },
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
