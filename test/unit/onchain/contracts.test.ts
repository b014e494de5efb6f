import { fc, test as property } from '@fast-check/vitest';
import { Interface } from 'ethers';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { encodeCall, encodeWord, readWords, selectorOf, topicOf } from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { ERROR_OF_SELECTOR } from '../../../formats/ethereum/revert.ts';
import {
  batchIdOf,
  decodePostageEvent,
  EVENTS,
  encodeApprove,
  encodeCreateBatch,
  FUNCTIONS,
  POSTAGE_TOPICS,
} from '../../../node/onchain/contracts.ts';
import { type LogEntry } from '../../../node/onchain/ports.ts';
import signatures from '../../vectors/abi-signatures.json' with { type: 'json' };
import contracts from '../../vectors/contracts.json' with { type: 'json' };

const known = [signatures.PostageStamp, signatures.TestToken];

describe('selectors and topics', () => {
  test.each(Object.values(FUNCTIONS))('%s has the selector of the contract', (signature) => {
    const row = known.flatMap((contract) => contract.functions).find((f) => f.signature === signature);
    expect(selectorOf(signature)).toBe(row?.selector);
  });

  test.each(Object.values(EVENTS))('%s has the topic of the contract', (signature) => {
    const row = signatures.PostageStamp.events.find((event) => event.signature === signature);
    expect(topicOf(signature)).toBe(row?.topic0);
  });

  test('every custom error of PostageStamp is known by its selector', () => {
    for (const { signature, selector } of signatures.PostageStamp.errors) {
      expect(ERROR_OF_SELECTOR.get(selector)).toBe(signature);
    }
  });

  test('the listener asks for the five topics in the order of the reference filter', () => {
    expect(POSTAGE_TOPICS).toEqual(contracts.logFilter.topics[0]);
  });
});

describe('call data', () => {
  const abi = new Interface(Object.values(FUNCTIONS).map((signature) => `function ${signature}`));
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const uint = (bits: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });

  property.prop([bytes(20), uint(256), fc.nat(255), fc.nat(255), bytes(32), fc.boolean()])(
    'createBatch is encoded as a full ABI library does',
    (owner, amountPerChunk, depth, bucketDepth, nonce, immutable) => {
      const args = [`0x${toHex(owner)}`, amountPerChunk, depth, bucketDepth, nonce, immutable];
      expect(encodeCreateBatch({ owner, amountPerChunk, depth, bucketDepth, nonce, immutable })).toBe(
        abi.encodeFunctionData('createBatch', args),
      );
    },
  );

  property.prop([bytes(20), uint(256)])(
    'approve is encoded as a full ABI library does',
    (spender, amount) => {
      expect(encodeApprove(spender, amount)).toBe(
        abi.encodeFunctionData('approve', [`0x${toHex(spender)}`, amount]),
      );
    },
  );

  property.prop([uint(256), bytes(20), bytes(32), fc.boolean()])(
    'words round trip',
    (number, address, word, flag) => {
      const words = readWords(encodeCall('0x', number, address, word, flag), 'test');
      expect([words.uint(0), words.address(1), words.bytes32(2), words.bool(3)]).toEqual([
        number,
        address,
        word,
        flag,
      ]);
    },
  );

  test.each([-1n, 1n << 256n])('%s is not a uint256', (number) => {
    expect(() => encodeWord(number)).toThrow(RangeError);
  });

  test('bytes of length other than 20 or 32 are not a static value', () => {
    expect(() => encodeWord(new Uint8Array(21))).toThrow(RangeError);
  });
});

test.each(contracts.batchIds)('batch id of $msgSender with nonce $nonce', ({ msgSender, nonce, batchId }) => {
  expect(`0x${toHex(batchIdOf(fromHex(msgSender), fromHex(nonce)))}`).toBe(batchId);
});

describe('events', () => {
  const abi = new Interface([
    'event BatchCreated(bytes32 indexed batchId, uint256 totalAmount, uint256 normalisedBalance, address owner, uint8 depth, uint8 bucketDepth, bool immutableFlag)',
    'event BatchTopUp(bytes32 indexed batchId, uint256 topupAmount, uint256 normalisedBalance)',
    'event BatchDepthIncrease(bytes32 indexed batchId, uint8 newDepth, uint256 normalisedBalance)',
    'event PriceUpdate(uint256 price)',
    'event Paused(address account)',
  ]);
  const { batchId, owner } = contracts.postageScenario;
  const id = fromHex(batchId);
  const entry = (name: string, args: readonly unknown[]): LogEntry => ({
    ...abi.encodeEventLog(name, args),
    address: `0x${'0'.repeat(40)}`,
    blockNumber: 18,
    transactionHash: '0x',
    logIndex: 0,
  });

  test('BatchCreated of the scenario', () => {
    const args = [batchId, 1_310_720_000_000n, 10_144_000n, owner, 17, 16, false];
    expect(decodePostageEvent(entry('BatchCreated', args))).toEqual({
      kind: 'BatchCreated',
      id,
      totalAmount: 1_310_720_000_000n,
      normalisedBalance: 10_144_000n,
      owner: fromHex(owner),
      depth: 17,
      bucketDepth: 16,
      immutable: false,
    });
  });

  test('BatchTopUp, BatchDepthIncrease, PriceUpdate and Paused', () => {
    expect(decodePostageEvent(entry('BatchTopUp', [batchId, 655_360_000_000n, 15_144_000n]))).toEqual({
      kind: 'BatchTopUp',
      id,
      topUpAmount: 655_360_000_000n,
      normalisedBalance: 15_144_000n,
    });
    expect(decodePostageEvent(entry('BatchDepthIncrease', [batchId, 18, 7_668_000n]))).toEqual({
      kind: 'BatchDepthIncrease',
      id,
      depth: 18,
      normalisedBalance: 7_668_000n,
    });
    expect(decodePostageEvent(entry('PriceUpdate', [24_000n]))).toEqual({
      kind: 'PriceUpdate',
      price: 24_000n,
    });
    expect(decodePostageEvent(entry('Paused', [owner]))).toEqual({ kind: 'Paused' });
  });

  test('an event that the node does not follow is ignored', () => {
    expect(
      decodePostageEvent({ ...entry('PriceUpdate', [1n]), topics: [topicOf('Other()')] }),
    ).toBeUndefined();
    expect(decodePostageEvent({ ...entry('PriceUpdate', [1n]), topics: [] })).toBeUndefined();
  });

  test('a truncated event is a malformed answer', () => {
    const whole = entry('BatchCreated', [batchId, 1n, 1n, owner, 17, 16, false]);
    for (const cut of [
      { data: whole.data.slice(0, -64) },
      { data: '0x' },
      { topics: whole.topics.slice(0, 1) },
    ]) {
      expect(() => decodePostageEvent({ ...whole, ...cut })).toThrow(ChainError);
    }
  });
});
