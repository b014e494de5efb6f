import { expect, test } from 'vitest';
import { corrupted } from '../../../../../../../harness/places/links/tap/faults/corrupt.ts';
import type { MessageRule } from '../../../../../../../harness/places/links/tap/faults/rule.ts';
import { expectKnown, MessageRules } from '../../../../../../../harness/places/links/tap/faults/rules.ts';
import { decodeMessage, encodeMessage } from '../../../../../../../node/p2p/codec/codec.ts';
import { Delivery, Receipt } from '../../../../../../../node/protocols/pushsync/wire.ts';
import {
  Request,
  Delivery as RetrievalDelivery,
} from '../../../../../../../node/protocols/retrieval/wire.ts';

const NODES = ['a', 'b', 'c'];
const RULE: MessageRule = {
  between: [NODES, NODES],
  oneWay: false,
  protocol: 'pushsync',
  message: 'receipt',
  share: 1,
  seed: '7',
  actions: { drop: 'hang' },
};
const receipt = encodeMessage(Receipt, {
  address: Buffer.alloc(32, 0x6f),
  signature: Buffer.alloc(65, 3),
  storageRadius: 300,
});
const RECEIPT = {
  from: 'a',
  to: 'b',
  protocol: 'pushsync',
  message: 'receipt',
  table: Receipt,
  again: undefined,
  awaited: undefined,
  bytes: receipt,
  decoded: decodeMessage(Receipt, receipt),
  address: undefined,
};

function hits(rule: Partial<MessageRule>, count: number): number[] {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, ...rule });
  const all = Array.from({ length: count }, (_, index) => index);
  return all.filter(() => rules.judged(RECEIPT) !== undefined);
}

test('a share of a tenth hits a tenth of ten thousand messages, the same ones for the same seed', () => {
  const one = hits({ share: 0.1 }, 10_000);
  // Four standard deviations of a binomial distribution.
  expect(Math.abs(one.length - 1000)).toBeLessThan(4 * Math.sqrt(10_000 * 0.1 * 0.9));
  expect(hits({ share: 0.1 }, 10_000)).toEqual(one);
  const other = hits({ share: 0.1, seed: '8' }, 10_000);
  expect(Math.abs(other.length - 1000)).toBeLessThan(4 * Math.sqrt(10_000 * 0.1 * 0.9));
  // Two independent draws have a hundredth in common.
  expect(one.filter((number) => other.includes(number)).length).toBeLessThan(200);
});

test('a rule of all means the messages of every node', () => {
  expect(hits({ between: [['all'], ['b']] }, 2)).toEqual([0, 1]);
  expect(hits({ between: [['all'], ['c']] }, 2)).toEqual([]);
});

test('what is drawn for a pair does not depend on what others say meanwhile', () => {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, share: 0.5 });
  const drawn: number[] = [];
  for (let number = 0; number < 100; number++) {
    rules.judged({ ...RECEIPT, from: 'c' });
    if (rules.judged(RECEIPT) !== undefined) drawn.push(number);
  }
  expect(drawn).toEqual(hits({ share: 0.5 }, 100));
});

test('every third, the first two of them', () => {
  expect(hits({ every: 3 }, 10)).toEqual([2, 5, 8]);
  expect(hits({ every: 3, first: 2 }, 10)).toEqual([2, 5]);
  expect(hits({ first: 2 }, 10)).toEqual([0, 1]);
});

test('a rule counts the messages that it means, whether it chooses them or not', () => {
  const rules = new MessageRules();
  const where = 'storageRadius is 300';
  rules.begin('r', { ...RULE, between: [['a'], ['b']], oneWay: true, where, every: 2, first: 1 });
  for (let count = 0; count < 5; count++) rules.judged(RECEIPT);
  for (const other of [{ from: 'c' }, { message: 'delivery' }, { protocol: 'retrieval' }])
    rules.judged({ ...RECEIPT, ...other });
  rules.judged({ ...RECEIPT, decoded: { ...RECEIPT.decoded, storageRadius: 3 } });
  expect(rules.effect('r')).toMatchObject({ 'messages dropped': 1, 'messages met': 5 });
});

test('a rule means its protocol, its message, its nodes and its direction', () => {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, between: [['a'], ['b']], oneWay: true });
  expect(rules.judged(RECEIPT)?.drop).toBe('hang');
  expect(rules.judged({ ...RECEIPT, from: 'b', to: 'a' })).toBeUndefined();
  expect(rules.judged({ ...RECEIPT, to: 'c' })).toBeUndefined();
  expect(rules.judged({ ...RECEIPT, message: 'delivery' })).toBeUndefined();
  expect(rules.judged({ ...RECEIPT, protocol: 'retrieval' })).toBeUndefined();
  expect(rules.effect('r')).toMatchObject({ 'messages dropped': 1 });
  rules.end('r');
  expect(rules.judged(RECEIPT)).toBeUndefined();
  expect(rules.effect('r')).toMatchObject({ 'messages dropped': 1 });
});

test('all rules that mean a message do their part, and a delay is within its range', () => {
  const rules = new MessageRules();
  rules.begin('slow', { ...RULE, actions: { delayMs: [2000, 5000] } });
  rules.begin('twice', { ...RULE, actions: { duplicate: true, corrupt: 'signature' } });
  const verdicts = Array.from({ length: 100 }, () => rules.judged(RECEIPT));
  const delays = verdicts.map((verdict) => verdict?.delayMs ?? 0);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(2000);
  expect(Math.max(...delays)).toBeLessThan(5000);
  expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(1500);
  expect(verdicts[0]).toMatchObject({ copies: 1, done: ['delayed', 'corrupted', 'duplicated'] });
  expect(rules.effect('twice')).toMatchObject({ 'messages duplicated': 100, 'messages corrupted': 100 });
});

test.each(['signature', 'storageRadius'] as const)('one bit of %s is flipped, and nothing else', (field) => {
  const changed = corrupted(receipt, Receipt, { field, random: () => 0.99 });
  const before = decodeMessage(Receipt, receipt);
  const after = decodeMessage(Receipt, changed);
  expect(changed.length).toBe(receipt.length);
  expect(after[field]).not.toEqual(before[field]);
  expect({ ...after, [field]: before[field] }).toEqual(before);
});

test('a message without the field is spared, and is none of those that are counted off', () => {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, message: undefined, first: 1, actions: { corrupt: 'err' } });
  expect(rules.judged(RECEIPT)).toBeUndefined();
  expect(rules.effect('r')).toMatchObject({ 'messages corrupted': 0 });
  const refusal = encodeMessage(Receipt, { err: 'no room' });
  expect(rules.judged({ ...RECEIPT, bytes: refusal })?.bytes).not.toEqual(refusal);
  expect(rules.judged({ ...RECEIPT, bytes: refusal })).toBeUndefined();
  expect(rules.effect('r')).toMatchObject({ 'messages corrupted': 1 });
});

test.each([
  ['address starts 0110', true],
  ['address starts 01101111 01', undefined],
  ['address starts 0111', false],
  [`address is ${'6f'.repeat(32)}`, true],
  [`address is 0x${'6F'.repeat(32)}`, true],
  [`address is ${'60'.repeat(32)}`, false],
  ['storageRadius is 300', true],
  ['storageRadius above 299', true],
  ['storageRadius above 300', false],
  ['storageRadius below 301', true],
  ['err is no room', false],
  ['nonce starts 0', false],
])('%s: %s', (where, isMeant) => {
  const judged = () => {
    const rules = new MessageRules();
    rules.begin('r', { ...RULE, where });
    return rules.judged(RECEIPT) !== undefined;
  };
  if (isMeant === undefined) expect(judged).toThrow(RangeError);
  else expect(judged()).toBe(isMeant);
});

test('of messages that are meant the first is hit, whatever came before', () => {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, where: 'storageRadius is 300', first: 1, every: 2 });
  const other = { ...RECEIPT, decoded: { storageRadius: 3 } };
  const judged = [other, RECEIPT, other, RECEIPT, RECEIPT, RECEIPT].map((message) => rules.judged(message));
  expect(judged.map((verdict) => verdict !== undefined)).toEqual([false, false, false, true, false, false]);
});

test('a chunk is selected by the address that was asked for', () => {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, protocol: 'retrieval', message: undefined, where: 'address starts 1' });
  const passing = (asked: number) => {
    const request = { addr: Buffer.alloc(32, asked) };
    const delivery = { data: Buffer.alloc(8) };
    const of = { ...RECEIPT, protocol: 'retrieval', bytes: new Uint8Array(0) };
    return [
      { ...of, message: 'request', table: Request, decoded: request },
      { ...of, message: 'delivery', table: RetrievalDelivery, decoded: delivery, address: request.addr },
    ].map((message) => rules.judged(message) !== undefined);
  };
  expect(passing(0x80)).toEqual([true, true]);
  expect(passing(0x7f)).toEqual([false, false]);
});

test.each([
  ['address', "expected a field, then 'starts' and bits"],
  ['address contains 01', "expected a field, then 'starts' and bits"],
  ['stamp starts 01', "where: no field 'stamp' (known: address, signature, nonce, err, storageRadius)"],
  ['address starts 0x3f', 'expected address starts with bits (0 and 1, at most 256 of them)'],
  [`address starts ${'0'.repeat(257)}`, 'at most 256 of them'],
  ['address is 3f', 'the 64 hex digits of an address'],
  ['signature above 3', 'expected signature starts with bits'],
  [
    'storageRadius starts 01',
    'expected storageRadius is, above or below a whole number from 0 to 4294967295',
  ],
  ['storageRadius below 0', 'can be a whole number from 0 to 4294967295'],
  ['storageRadius above 4294967295', 'can be a whole number'],
  ['storageRadius is -1', 'can be a whole number'],
  ['err above 3', 'expected err starts or is a text'],
])('%s can never be met, and is refused', (where, why) => {
  expect(() => expectKnown({ ...RULE, where })).toThrow(why);
});

test('what opens a conversation can be replayed, and what answers cannot', () => {
  const replay = { ...RULE, actions: { replayMs: 1000 } };
  expect(() => expectKnown(replay)).toThrow(
    'pushsync receipt cannot be replayed: an answer has no stream of its own (messages that have: delivery)',
  );
  expect(() => expectKnown({ ...replay, message: undefined })).not.toThrow();
  expect(() => expectKnown({ ...replay, message: 'delivery' })).not.toThrow();
  const rules = new MessageRules();
  rules.begin('r', { ...replay, message: undefined });
  expect(rules.judged(RECEIPT)).toBeUndefined();
  const later: number[] = [];
  const again = { isPossible: () => true, later: (afterMs: number) => void later.push(afterMs) };
  expect(rules.judged({ ...RECEIPT, again })).toMatchObject({ done: ['kept for a replay'] });
  expect(later).toEqual([1000]);
});

test('a message for whose replay there is no room is spared, and is not one of the first', () => {
  const rules = new MessageRules();
  rules.begin('r', { ...RULE, message: undefined, first: 1, actions: { replayMs: 1000 } });
  const later = () => undefined;
  expect(rules.judged({ ...RECEIPT, again: { isPossible: () => false, later } })).toBeUndefined();
  expect(rules.judged({ ...RECEIPT, again: { isPossible: () => true, later } })).toBeDefined();
  expect(rules.judged({ ...RECEIPT, again: { isPossible: () => true, later } })).toBeUndefined();
});

test('a field that holds several values selects nothing', () => {
  const rule = { ...RULE, protocol: 'pullsync', message: 'offer', where: 'chunks is 3' };
  expect(() => expectKnown(rule)).toThrow("field 'chunks' holds several values");
});

test('a rule that no message can match is refused with what is known', () => {
  expect(() => expectKnown(RULE)).not.toThrow();
  expect(() => expectKnown({ ...RULE, message: 'recipt' })).toThrow(
    "no message 'recipt' of pushsync (known: delivery, receipt)",
  );
  expect(() => expectKnown({ ...RULE, actions: { corrupt: 'stamp' } })).toThrow(
    "no field 'stamp' of pushsync receipt (known: address, signature, nonce, err, storageRadius)",
  );
  expect(() => expectKnown({ ...RULE, message: undefined, actions: { corrupt: 'stamp' } })).not.toThrow();
  expect(() => expectKnown({ ...RULE, protocol: 'ping' })).toThrow(/ping has no messages \(.*pushsync/);
  expect(Object.keys(Delivery)).toContain('stamp');
  // As another version might ask for it.
  const { between: _, ...incomplete } = RULE;
  expect(() => expectKnown(incomplete as MessageRule)).toThrow('expected two lists of nodes');
});
