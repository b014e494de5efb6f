import { expect, test } from 'vitest';
import {
  DIGITS,
  expectAmount,
  expectBytes,
  expectChainHex,
  expectHex,
  expectTimeout,
  expectWhole,
} from '../../../../harness/base/arguments.ts';

test.each([
  ['ab'.repeat(32), DIGITS.hash],
  ['AB'.repeat(32), DIGITS.reference],
  ['ab'.repeat(64), DIGITS.reference],
  ['02'.padEnd(66, 'a'), DIGITS.publicKey],
])('%s is accepted', (value, digits) => {
  expect(() => expectHex('door', value, digits)).not.toThrow();
});

const MISTAKES: readonly (readonly [door: () => void, message: string | RegExp])[] = [
  [
    () => expectHex('synced: reference', 'abc', DIGITS.reference),
    "synced: reference: got 'abc', expected 64 or 128 hex digits",
  ],
  [() => expectHex('usable: batch', 'xyz', DIGITS.hash), "usable: batch: got 'xyz', expected 64 hex digits"],
  [() => expectHex('door', undefined, DIGITS.hash), 'door: got undefined, expected 64 hex digits'],
  [() => expectHex('door', { reference: 'ab' }, DIGITS.hash), 'door: got an object, expected 64 hex digits'],
  [
    () => expectHex('door', 'ab'.repeat(31), DIGITS.hash),
    "door: got 'abababababababababababababababababababab…' (62 characters), expected 64 hex digits",
  ],
  [() => expectHex('door', `0x${'ab'.repeat(31)}`, DIGITS.hash), /^door: got '0xab.*expected 64 hex digits$/],
  [() => expectChainHex('door', '0x12', DIGITS.account), "door: got '0x12', expected 40 hex digits"],
  [
    () => expectWhole('tags.get: uid', Number.NaN, { min: 0 }),
    'tags.get: uid: got NaN, expected a whole number from 0',
  ],
  [() => expectWhole('door', -1, { min: 0, max: 4 }), 'door: got -1, expected a whole number from 0 to 4'],
  [() => expectWhole('door', 1.5, { min: 0 }), 'door: got 1.5, expected a whole number from 0'],
  [() => expectWhole('door', '3', { min: 0 }), "door: got '3', expected a whole number from 0"],
  [() => expectAmount('door', -5n), 'door: got -5n, expected a bigint from 0n'],
  [() => expectAmount('door', 5), 'door: got 5, expected a bigint from 0n'],
  [() => expectBytes('door', new Uint8Array(3), 32), 'door: got 3 bytes, expected a Uint8Array of 32 bytes'],
  [() => expectBytes('door', [1, 2]), 'door: got [1, 2], expected a Uint8Array'],
  [() => expectBytes('door', [['a', [1]], 'b']), "door: got [['a', a list], 'b'], expected a Uint8Array"],
  [
    () => expectBytes('door', Array(10).fill(0)),
    'door: got [0, 0, 0, 0, 0, 0, 0, 0, … of 10], expected a Uint8Array',
  ],
  [
    () => expectTimeout('timeoutMs', Number.NaN),
    'timeoutMs: got NaN, expected milliseconds from 0 to 2147483647',
  ],
  [() => expectTimeout('timeoutMs', Number.POSITIVE_INFINITY), /got Infinity/],
];

test.each(MISTAKES.map(([door, message]) => ({ door, message })))('$message', ({ door, message }) => {
  expect(door).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }) as Error);
  expect(door).toThrow(message);
});
