import { Chain } from '../../../../harness/chain/chain.ts';
import { StampsClient } from '../../../../harness/client/sessions.ts';
import { ChunksClient } from '../../../../harness/client/transfers.ts';
import type { Stamp } from '../../../../harness/client/types.ts';
import { all, answers, changes, impatience, type Lie, type Mutation, takesAll } from './lies.ts';

const HASH = `0x${'ab'.repeat(32)}`;

/** Each answer has one unit less. */
function leakingChain(): Lie {
  let lost = 0n;
  return changes(Chain.prototype, 'tokenBalance', (tokens) => tokens - lost++);
}

function unchanged(): Lie {
  const first = new Map<string, Stamp>();
  return changes(StampsClient.prototype, 'get', (stamp, id) => {
    const known = first.get(id) ?? stamp;
    if (known.usable) first.set(id, known);
    return known;
  });
}
function shared(): Lie {
  const bought: string[] = [];
  return all(
    changes(StampsClient.prototype, 'buy', (answer) => {
      bought.push(answer.batchID);
      return answer;
    }),
    changes(StampsClient.prototype, 'list', (stamps) => {
      const [first] = stamps;
      return first === undefined ? stamps : [...stamps, ...bought.map((batchID) => ({ ...first, batchID }))];
    }),
  );
}
export const POSTAGE: readonly Mutation[] = [
  [
    'postage',
    {},
    all(
      impatience,
      unchanged(),
      changes(StampsClient.prototype, 'get', (stamp) => ({ ...stamp, label: 'another' })),
    ),
    /: the batch is what was asked for/,
    /a top-up adds its amount, and changes nothing else/,
    /a top-up extends the lifetime by what was added/,
    /a dilution changes the depth/,
    /a dilution shortens the lifetime accordingly/,
    /: the batch is used up to its bucket/,
  ],
  [
    'postage',
    {},
    leakingChain(),
    /: it costs its amount for every chunk/,
    /a top-up costs its amount for every chunk/,
    /a dilution costs no tokens/,
  ],
  [
    'postage',
    {},
    all(
      shared(),
      answers(StampsClient.prototype, 'network', () => []),
      answers(ChunksClient.prototype, 'download', () => new Uint8Array(3)),
    ),
    /node-\d does not offer the batch of another/,
    /node-\d knows the batch and its owner/,
    /a mutable batch takes a chunk for a full bucket/,
  ],
  [
    'postage',
    {},
    all(
      takesAll(StampsClient.prototype, 'buy', () => ({ batchID: 'ab'.repeat(32), txHash: HASH })),
      takesAll(StampsClient.prototype, 'dilute', () => HASH),
      takesAll(ChunksClient.prototype, 'upload', () => ({ reference: 'ab'.repeat(32) })),
    ),
    /of two purchases at once one is refused/,
    /a dilution to less is refused/,
    /a chunk for a bucket that is full is refused/,
  ],
];
