import { expect, test } from 'vitest';
import chainStall from '../../../scenarios/chain-stall.ts';

test.each([
  [500, '500 ms'],
  [1000, '1.0 s'],
])('a stall of %d ms, in which no block may be due, is refused', async (stall, got) => {
  const context = { cluster: { chain: { blockTimeMs: 1000 } }, parameters: { stall } };
  await expect(chainStall.run(context as never)).rejects.toMatchObject({
    code: 'USAGE',
    message: `stall: got ${got}, expected more than the 1.0 s between two blocks of this chain`,
  });
});
