import { fc, test as property } from '@fast-check/vitest';
import { afterEach, describe, expect, test } from 'vitest';
import { selectorOf } from '../../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../../formats/ethereum/chain-error.ts';
import { decodeAnswer as decodeAnswerTo } from '../../../../formats/ethereum/json-rpc.ts';
import { SharedResults } from '../../../../formats/shared-results.ts';
import { createChain } from '../../../../node/onchain/chain.ts';

function failure(work: () => unknown): ChainError {
  try {
    work();
  } catch (error) {
    if (error instanceof ChainError) return error;
    throw error;
  }
  throw new Error('expected a ChainError');
}

const decodeAnswer = (text: string, method: string) => decodeAnswerTo(text, { id: 1, method });
const refused = (error: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, error });

describe('long answers that nodes of one process read', () => {
  afterEach(() => SharedResults.findBy(() => undefined));
  const header = (id: number, hash = '0x1') =>
    JSON.stringify({ jsonrpc: '2.0', id, result: { logsBloom: '0'.repeat(512), hash } });
  const read = (text: string, id: number) => decodeAnswerTo(text, { id, method: 'eth_getBlockByNumber' });

  test('are parsed once for all nodes of a process', () => {
    const shared = new SharedResults();
    SharedResults.findBy(() => shared);
    const first = read(header(1), 1);
    expect(read(header(7), 7)).toBe(first);
    expect(read(header(2, '0x2'), 2)).toMatchObject({ hash: '0x2' });
    expect(read(header(3), 3)).toEqual(first);
  });

  test('are refused as before when they are answers to others, or none', () => {
    const shared = new SharedResults();
    SharedResults.findBy(() => shared);
    read(header(1), 1);
    const another = header(1).replace('"result"', '"id":2,"result"');
    expect(failure(() => read(header(2), 1)).message).toContain('answer to another request');
    expect(failure(() => read(another, 1)).message).toContain('answer to another request');
    expect(failure(() => read(header(1).slice(0, -1), 1)).message).toContain('not JSON');
  });
});

describe('answers', () => {
  test('a result is given as it is, null included', () => {
    expect(decodeAnswer('{"id":1,"result":"0x10"}', 'm')).toBe('0x10');
    expect(decodeAnswer('{"id":1,"result":null}', 'm')).toBeNull();
  });

  test.each([
    ['another', { id: 2, result: '0x10' }],
    ['no', { result: '0x10' }],
    ['no', { id: null, error: null, result: '0x10' }],
    ['another', { id: 2, error: { code: 3, message: 'execution reverted' } }],
  ])('with the id of %s request is malformed: %j', (_, answer) => {
    expect(failure(() => decodeAnswer(JSON.stringify(answer), 'eth_call'))).toMatchObject({
      code: 'RPC_ERROR',
      message: 'malformed answer: eth_call: answer to another request',
    });
  });

  test('without an id is a refusal: the endpoint could not read the request', () => {
    for (const id of [null, undefined]) {
      const text = JSON.stringify({ id, error: { message: 'parse error' } });
      expect(failure(() => decodeAnswer(text, 'm')).message).toBe('m: parse error');
    }
  });

  test.each(['', 'no JSON', '[]', '1', '"x"', 'null', '{}', '{"id":1}', '{"error":"text"}', '{"error":[1]}'])(
    '%j is a malformed answer',
    (text) => {
      expect(failure(() => decodeAnswer(text, 'eth_call'))).toMatchObject({
        code: 'RPC_ERROR',
        message: expect.stringContaining('eth_call') as string,
      });
    },
  );

  test('a refusal carries the method and the words of the endpoint', () => {
    const error = failure(() => decodeAnswer(refused({ code: -32_003, message: 'nonce too low' }), 'eth_x'));
    expect(error).toMatchObject({ code: 'RPC_ERROR', message: 'eth_x: nonce too low', revert: undefined });
  });

  property.prop([fc.json()])('any JSON is a value or a ChainError', (text) => {
    try {
      decodeAnswer(text, 'm');
    } catch (error) {
      expect(error).toBeInstanceOf(ChainError);
    }
  });

  const member = fc.record({ code: fc.jsonValue(), message: fc.jsonValue(), data: fc.jsonValue() });
  property.prop([fc.oneof(member, fc.jsonValue())])('any error member is a ChainError', (error) => {
    fc.pre(error !== null);
    failure(() => decodeAnswer(refused(error), 'm'));
  });
});

describe('reverts', () => {
  const reverted = (data: unknown, message = 'execution reverted') =>
    failure(() => decodeAnswer(refused({ code: 3, message, data }), 'eth_call'));
  const word = (value: number) => value.toString(16).padStart(64, '0');

  test('a custom error is named by its selector', () => {
    const data = selectorOf('NotBatchOwner()');
    expect(reverted(data)).toMatchObject({ code: 'REVERTED', revert: { reason: 'NotBatchOwner()', data } });
  });

  test('an unknown custom error is shown as its selector', () => {
    expect(reverted('0x01020304ff').revert).toEqual({
      reason: 'custom error 0x01020304',
      data: '0x01020304ff',
    });
  });

  test('a reason string is decoded', () => {
    const text = Buffer.from('Pausable: paused').toString('hex').padEnd(64, '0');
    expect(reverted(`0x08c379a0${word(32)}${word(16)}${text}`).revert?.reason).toBe('Pausable: paused');
  });

  test('a panic is decoded', () => {
    expect(reverted(`0x4e487b71${word(0x11)}`).revert?.reason).toBe('Panic(0x11)');
  });

  test.each(['0x', '0x01', undefined, 7, 'no hex', '0x123', {}])(
    'data %j without a selector leaves the words of the endpoint',
    (data) => {
      expect(reverted(data, 'execution reverted: why').revert?.reason).toBe('execution reverted: why');
    },
  );

  test('data inside data is found', () => {
    expect(reverted({ data: selectorOf('BatchExists()') }).revert?.reason).toBe('BatchExists()');
  });

  test('a revert under another code is known by its words', () => {
    const error = failure(() => decodeAnswer(refused({ code: -32_000, message: 'execution reverted' }), 'm'));
    expect(error.code).toBe('REVERTED');
  });

  property.prop([fc.uint8Array({ maxLength: 200 })])(
    'a reason that is longer than its data, or endless, does no harm',
    (bytes) => {
      const { revert } = reverted(`0x08c379a0${Buffer.from(bytes).toString('hex')}`);
      expect(revert?.reason.length).toBeLessThanOrEqual(256);
    },
  );
});

describe('methods', () => {
  const methods = {
    chainId: (chain) => chain.chainId(),
    blockNumber: (chain) => chain.blockNumber(),
    call: (chain) => chain.call({ to: '0x', data: '0x' }),
    logs: (chain) => chain.logs({ address: '0x', topics: [], fromBlock: 1, toBlock: 2 }),
    nativeBalance: (chain) => chain.nativeBalance('0x'),
    transactionCount: (chain) => chain.transactionCount('0x'),
    baseFee: (chain) => chain.baseFee(),
    suggestedTip: (chain) => chain.suggestedTip(),
    estimateGas: (chain) => chain.estimateGas({ to: '0x', data: '0x' }),
    sendRawTransaction: (chain) => chain.sendRawTransaction('0x'),
    receipt: (chain) => chain.receipt('0x'),
    transactionState: (chain) => chain.transactionState('0x'),
  } satisfies Record<string, (chain: ReturnType<typeof createChain>) => Promise<unknown>>;

  const field = fc.constantFrom(
    'address',
    'topics',
    'data',
    'blockNumber',
    'transactionHash',
    'logIndex',
    'status',
  );
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('0x', '0x1', '0x01', '0xzz', `0x${'f'.repeat(70)}`));
  const broken = fc.oneof(value, fc.dictionary(field, value), fc.array(fc.dictionary(field, value)));

  test.each(Object.entries(methods))('%s takes any result or throws a ChainError', async (_, method) => {
    await fc.assert(
      fc.asyncProperty(broken, async (result) => {
        const outcome = await method(createChain(() => Promise.resolve(result))).catch(
          (error: unknown) => error,
        );
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ChainError);
      }),
    );
  });

  test('the receipt of another transaction is malformed', async () => {
    const fields = { status: '0x1', blockNumber: '0x1', gasUsed: '0x5208', logs: [] };
    const chain = createChain(() => Promise.resolve({ ...fields, transactionHash: '0xaB' }));
    expect(await chain.receipt('0xab')).toMatchObject({ transactionHash: '0xaB', status: 'success' });
    await expect(chain.receipt('0xac')).rejects.toMatchObject({
      code: 'RPC_ERROR',
      message: 'malformed answer: receipt: of transaction 0xaB, not 0xac',
    });
  });

  test('logs are read with their position, addresses in lower case', async () => {
    const sent: unknown[] = [];
    const chain = createChain((method, params) => {
      sent.push(method, ...params);
      return Promise.resolve([
        {
          address: '0xAB',
          topics: ['0xCD'],
          data: '0x01',
          blockNumber: '0x12',
          transactionHash: '0xef',
          logIndex: '0x0',
          removed: false,
        },
      ]);
    });
    const filter = { address: '0xab', topics: [['0xcd']], fromBlock: 16, toBlock: 255 };
    expect(await chain.logs(filter)).toEqual([
      {
        address: '0xab',
        topics: ['0xcd'],
        data: '0x01',
        blockNumber: 18,
        transactionHash: '0xef',
        logIndex: 0,
      },
    ]);
    expect(sent).toEqual([
      'eth_getLogs',
      { fromBlock: '0x10', toBlock: '0xff', address: ['0xab'], topics: [['0xcd']] },
    ]);
  });

  test('a receipt distinguishes success from failure, and null means that there is none', async () => {
    const answer = (status: string) => ({
      transactionHash: '0xaa',
      status,
      blockNumber: '0x2',
      gasUsed: '0x5208',
      logs: [],
    });
    const receipt = (result: unknown) => createChain(() => Promise.resolve(result)).receipt('0xaa');
    expect(await receipt(null)).toBeUndefined();
    expect(await receipt(answer('0x0'))).toMatchObject({ status: 'reverted', gasUsed: 21_000n });
    expect(await receipt(answer('0x1'))).toMatchObject({ status: 'success', blockNumber: 2 });
  });

  test('a chain without EIP-1559 has no base fee', async () => {
    const baseFee = (header: unknown) => createChain(() => Promise.resolve(header)).baseFee();
    expect(await baseFee({ number: '0x1' })).toBeUndefined();
    expect(await baseFee({ baseFeePerGas: '0x0' })).toBe(0n);
  });
});
