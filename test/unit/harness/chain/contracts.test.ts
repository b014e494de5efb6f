import { createServer, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { listening } from '../../../../harness/base/calls.ts';
import { MACHINE_CLOCK } from '../../../../harness/base/machine/clock.ts';
import { Chain } from '../../../../harness/chain/chain.ts';
import { CONTRACT_NAMES, knownContracts } from '../../../../harness/chain/contracts.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const TOKEN = `0x${'12'.repeat(20)}`;
const RECORD = {
  rpc: 'http://127.0.0.1:1',
  chainId: 5,
  networkId: 0,
  contracts: { token: TOKEN },
  startBlock: 0,
  blockTimeMs: 5000,
  steady: true,
};

test('reading an unknown address throws with the name of the contract, and it is not listed', () => {
  const contracts = knownContracts({ token: TOKEN });
  expect(contracts.token).toBe(TOKEN);
  expect(Object.entries(contracts)).toEqual([['token', TOKEN]]);
  expect(JSON.stringify(contracts)).toBe(JSON.stringify({ token: TOKEN }));
  for (const name of CONTRACT_NAMES.filter((contract) => contract !== 'token')) {
    expect(() => contracts[name]).toThrow(`the address of the contract ${name} is not known`);
  }
});

test('a chain without a control endpoint says what cannot be done', async () => {
  await using chain = Object.assign(new Chain(RECORD, MACHINE_CLOCK), {
    [Symbol.asyncDispose](this: Chain) {
      return this.close();
    },
  });
  expect(chain.controlled).toBe(false);
  const without = 'this chain has no control endpoint: ';
  await expect(chain.mine()).rejects.toThrow(`${without}blocks cannot be mined on demand`);
  await expect(chain.fund(TOKEN, { native: 1n })).rejects.toThrow(`${without}accounts cannot be funded`);
  await expect(chain.setStoragePrice(30_000n)).rejects.toThrow(`${without}prices cannot be set`);
  await expect(chain.pause()).rejects.toThrow(`${without}it cannot be paused`);
  await expect(chain.rpcCalls()).rejects.toMatchObject({ code: 'CHAIN_UNCONTROLLED' });
});

test('the chain of a network without one answers no call', async () => {
  const chain = new Chain({ ...RECORD, rpc: '' }, MACHINE_CLOCK);
  await expect(chain.height()).rejects.toThrow('eth_blockNumber: the nodes have no chain');
  await chain.close();
});

test('how long an answer may take is told by the clock of the cluster', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  await using server = createServer((_, response) => asked.resolve(response));
  const port = await listening(server, { host: '127.0.0.1', port: 0 });
  const clock = new ManualClock();
  const chain = new Chain({ ...RECORD, rpc: `http://127.0.0.1:${port}` }, clock);
  const height = chain.height();
  const refused = expect(height).rejects.toMatchObject({
    code: 'CHAIN_FAILED',
    message: 'eth_blockNumber: no result within 30000 ms',
  });
  const answer = await asked.promise;
  await clock.advance(30_000);
  answer.end(JSON.stringify([{ id: 0, result: '0x1' }]));
  await refused;
  await chain.close();
});
