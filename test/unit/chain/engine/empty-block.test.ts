import { expect, test, vi } from 'vitest';
import { emptyBlockAfter } from '../../../../chain/engine/in-process/empty-block.ts';
import { startInProcess } from '../../../../chain/engine/in-process/engine.ts';
import { openProvider } from '../../../../chain/engine/in-process/provider.ts';
import { systemClock } from '../../../../formats/clock.ts';
import { quantity } from '../../../../formats/ethereum/hex.ts';

const CHAIN_ID = 31_337;
const START_S = 1_800_000_000;
const OWED_MAX = 256;

type Block = Readonly<Record<string, unknown>>;

test('an empty block is what the provider makes of the one before it', async () => {
  const provider = await openProvider(CHAIN_ID);
  const mined = async (timeS: number): Promise<Block> => {
    const mine = { jsonrpc: '2.0', id: 0, method: 'evm_mine', params: [quantity(timeS)] };
    const look = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] };
    const { data } = await provider.handleRequest(JSON.stringify([mine, look]));
    return (JSON.parse(String(data)) as { result: [unknown, Block] }).result[1];
  };
  let before = await mined(START_S);
  // Numbers and fees of one byte and of two.
  for (let timeS = START_S; Number(before['number']) < 300; timeS += Number(before['number']) % 3) {
    const block = await mined(timeS);
    expect(emptyBlockAfter(before, timeS)).toEqual(block);
    before = block;
  }
});

test('a block after one with transactions does not follow from it', () => {
  expect(emptyBlockAfter({ gasUsed: '0x5208', blobGasUsed: '0x0', excessBlobGas: '0x0' }, 1)).toBeUndefined();
});

test('empty blocks come without the provider, which mines all of them when something else is asked', async () => {
  const time = { ms: START_S * 1000 };
  const { rpc } = await startInProcess({
    chainId: CHAIN_ID,
    clock: { ...systemClock(), now: () => time.ms },
    work: (ask) => ask(),
  });
  const asked = vi.spyOn(
    Object.getPrototypeOf(await openProvider(CHAIN_ID)) as Awaited<ReturnType<typeof openProvider>>,
    'handleRequest',
  );
  const next = async () => {
    time.ms += 1000;
    await rpc.call('evm_mine');
    return (await rpc.call('eth_getBlockByNumber', 'latest', false)) as Block;
  };
  const seen = [await next()];
  asked.mockClear();
  while (seen.length <= OWED_MAX / 2) seen.push(await next());
  expect(asked).not.toHaveBeenCalled();
  for (const block of seen) {
    expect(await rpc.call('eth_getBlockByNumber', block['number'], false)).toEqual(block);
  }
  asked.mockClear();
  const last = Array.from({ length: OWED_MAX }, next);
  await Promise.all(last);
  expect(asked).toHaveBeenCalledTimes(1);
  asked.mockRestore();
});

test.each([
  ['evm_setBlockGasLimit', '0x10000'],
  ['hardhat_setPrevRandao', `0x${'22'.repeat(32)}`],
])('%s changes the next block, and those after it follow from that', async (method, value) => {
  const { rpc } = await startInProcess({ chainId: CHAIN_ID, clock: systemClock(), work: (ask) => ask() });
  await rpc.call('evm_mine');
  await rpc.call(method, value);
  for (const number of ['0x2', '0x3']) {
    await rpc.call('evm_mine');
    const head = (await rpc.call('eth_getBlockByNumber', 'latest', false)) as Block;
    expect(head['number']).toBe(number);
    expect(await rpc.call('eth_getBlockByNumber', number, false)).toEqual(head);
    if (number === '0x2') expect(Object.values(head)).toContain(value);
  }
});
