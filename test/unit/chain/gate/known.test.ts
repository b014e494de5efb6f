import { expect, test } from 'vitest';
import { createAdmission } from '../../../../chain/admission.ts';
import { startGate } from '../../../../chain/gate/gate.ts';
import { JudgedCalls } from '../../../../chain/gate/judged-calls.ts';
import { systemClock } from '../../../../formats/clock.ts';

const HEAD = '"method":"eth_getBlockByNumber","params":["latest",false]}';
const asked = (id: number | string, rest = HEAD) => `{"jsonrpc":"2.0","id":${id},${rest}`;

test('a call is the same one with every id', () => {
  const judged = new JudgedCalls();
  const first = judged.find(asked(1));
  const call = { jsonrpc: '2.0', id: null, method: 'eth_getBlockByNumber', params: ['latest', false] };
  expect(first).toEqual({ id: '1', call });
  expect(judged.find(asked(2))).toEqual({ id: '2', call: first?.call });
  expect(judged.find(asked(2))?.call).toBe(first?.call);
});

test('gas without end is bounded', () => {
  const unbounded = asked(1, '"method":"eth_call","params":[{"gas":"0xffffffffffff"},"latest"]}');
  expect(new JudgedCalls().find(unbounded)?.call.params).toEqual([{ gas: '0x1c9c380' }, 'latest']);
});

test.each([
  ['a method for the token alone', asked(1, '"method":"anvil_mine","params":[]}')],
  ['an unknown method', asked(1, '"method":"eth_tomorrow"}')],
  ['a second id', asked(1, '"id":1,"method":"eth_chainId"}')],
  ['an id that is no number', asked('"1"')],
  ['an id with a fraction', asked('1.5')],
  ['an id that is no JSON', asked('007')],
  ['a call too long to keep', asked(1, `"method":"eth_call","params":["${'0'.repeat(10_000)}"]}`)],
  ['no method', asked(1, '"params":[]}')],
  ['more simulated calls than are allowed', asked(1, simulating(1001))],
  ['half a call', asked(1, HEAD.slice(0, -1))],
  ['a batch', `[${asked(1)}]`],
  ['nothing', ''],
])('%s is not judged here, however often it is asked', (_what, text) => {
  const judged = new JudgedCalls();
  expect([judged.find(text), judged.find(text)]).toEqual([undefined, undefined]);
});

test('what the chain knows is answered at once and counted, unless a fault meets the client', async () => {
  const admission = createAdmission({ token: 'token', allowedHosts: ['chain'], origins: [] });
  const gate = await startGate(
    {
      ask: async () => '',
      known: ({ method }) => (method === 'eth_chainId' ? '{"result":"0x1"}' : undefined),
    },
    { host: 'chain', port: 0, admission, clock: systemClock(), listen: async () => 1 },
  );
  const known = (rest: string, { host = 'chain', client = 'node-0' } = {}) =>
    gate.known({ host, pathname: `/${client}` }, asked(7, rest));
  const chainId = '"method":"eth_chainId","params":[]}';
  expect(known(chainId)).toBe('{"jsonrpc":"2.0","id":7,"result":"0x1"}');
  expect([known(HEAD), known(chainId, { host: 'elsewhere.example' })]).toEqual([undefined, undefined]);
  gate.setFault('slow', { fault: { kind: 'slow', ms: 1000 }, client: 'node-0' });
  expect([known(chainId), known(chainId, { client: 'node-1' })]).toEqual([undefined, expect.any(String)]);
  gate.setFault('slow', undefined);
  expect(known(chainId)).toEqual(expect.any(String));
  expect(['node-0', 'node-1'].map((client) => gate.counts.get(client)?.requests)).toEqual([2, 1]);
  await gate.close();
});

function simulating(calls: number): string {
  const params = [{ blockStateCalls: [{ calls: Array.from({ length: calls }, () => ({})) }] }];
  return `"method":"eth_simulateV1","params":${JSON.stringify(params)}}`;
}
