import { expect, test } from 'vitest';
import { KnownAnswers } from '../../../../chain/engine/in-process/known.ts';

const READ = { id: 1, method: 'eth_blockNumber', params: [] };

test('an answer is forgotten when a call may have changed the chain, even one that failed', async () => {
  const known = new KnownAnswers();
  const answer = (text: string) => known.answerTo(READ, () => Promise.resolve(text));
  expect([await answer('first'), await answer('second')]).toEqual(['first', 'first']);
  const fails = known.answerTo({ id: 2, method: 'evm_mine', params: [] }, () =>
    Promise.reject(new Error('broken')),
  );
  await expect(fails).rejects.toThrow('broken');
  expect(await answer('third')).toBe('third');
});

test('a receipt stays known while blocks come, and until one may be taken back', async () => {
  const known = new KnownAnswers();
  const asked = { id: 1, method: 'eth_getTransactionReceipt', params: ['0x1'] };
  const receipt = (result: object | null) =>
    known.answerTo(asked, () => Promise.resolve(JSON.stringify({ result })));
  const change = (method: string) => known.answerTo({ id: 2, method, params: [] }, () => Promise.resolve(''));
  expect(JSON.parse(await receipt(null))).toEqual({ result: null });
  await change('evm_mine');
  const first = await receipt({ block: 1 });
  await change('evm_mine');
  await change('eth_sendRawTransaction');
  expect([await receipt({ block: 2 }), known.answerOf(asked)]).toEqual([first, first]);
  await change('anvil_rollback');
  expect(JSON.parse(await receipt(null))).toEqual({ result: null });
});

test('a question about the pending block is always computed: its time is that of the call', async () => {
  const known = new KnownAnswers();
  const pending = { id: 1, method: 'eth_getBlockByNumber', params: ['pending', false] };
  const answer = (text: string) => known.answerTo(pending, () => Promise.resolve(text));
  expect([await answer('first'), await answer('second')]).toEqual(['first', 'second']);
});

test.each([
  ['reads', 'eth_getBalance', '"0x1"'],
  ['receipts', 'eth_getTransactionReceipt', '{}'],
])('of more than a thousand %s the earlier ones are forgotten', async (_what, method, result) => {
  const known = new KnownAnswers();
  const asked = (params: readonly unknown[]) => ({ id: 1, method, params });
  for (let i = 0; i <= 1000; i++)
    await known.answerTo(asked([i]), () => Promise.resolve(`{"result":${result}}`));
  expect([0, 999, 1000].map((i) => known.answerOf(asked([i])) !== undefined)).toEqual([false, false, true]);
});
