import { expect, test } from 'vitest';
import { type Call, callsOf, whyNot } from '../../../../chain/gate/methods.ts';

const call = (method: string, params?: unknown): Call => ({ jsonrpc: '2.0', id: 1, method, params });

test.each([
  'eth_sendTransaction',
  'eth_sendUnsignedTransaction',
  'eth_sign',
  'eth_signTransaction',
  'eth_signTypedData_v4',
  'personal_sign',
  'wallet_sendTransaction',
  'anvil_impersonateAccount',
  'anvil_setCode',
  'hardhat_setBalance',
  'tenderly_setBalance',
  'evm_increaseTime',
  'debug_traceCall',
  'trace_filter',
  'txpool_content',
  'ots_traceTransaction',
  'EVM_mine',
  '__proto__',
  'constructor',
])('%s is for holders of the token', (method) => {
  expect(whyNot(call(method), false)).toContain("without the chain's token");
  expect(whyNot(call(method), true)).toBeUndefined();
});

test.each(['eth_call', 'eth_getLogs', 'eth_sendRawTransaction', 'eth_newFilter', 'net_version'])(
  '%s is for everyone',
  (method) => {
    expect(whyNot(call(method), false)).toBeUndefined();
  },
);

test.each([
  ['anvil_reset', [{ forking: { jsonRpcUrl: 'http://127.0.0.1:1' } }]],
  ['hardhat_reset', [{ forking: { jsonRpcUrl: 'http://127.0.0.1:1', blockNumber: 1 } }]],
  ['anvil_reset', { forking: { jsonRpcUrl: 'http://127.0.0.1:1' } }],
  ['anvil_setRpcUrl', ['http://127.0.0.1:1']],
  ['hardhat_setRpcUrl', ['http://127.0.0.1:1']],
  ['eth_subscribe', ['newHeads']],
])('%s with %j is for no one', (method, params) => {
  expect(whyNot(call(method, params), true)).toMatch(/is not available: /);
});

test('a reset that does not fork is for holders of the token', () => {
  for (const params of [undefined, [], [null], [{}]]) {
    expect(whyNot(call('anvil_reset', params), true)).toBeUndefined();
  }
});

test.each(['1', '-1.5', '"a"', 'null'])('a call may have the id %s', (id) => {
  expect(callsOf(JSON.parse(`{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"}`))).toHaveLength(1);
});

test.each(['1e400', 'true', '[]', '{}'])('no call may have the id %s, which no answer could repeat', (id) => {
  expect(callsOf(JSON.parse(`[{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"}]`))).toBeUndefined();
});
