import { expect, test } from 'vitest';
import { parseOptionFile } from '../../../node/option-file.ts';

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';

test.each([
  [
    'YAML',
    `password: 0123\ntoken-address: ${TOKEN}\nnode-name: 1.10\nfull-node: true\nbootnode: [1e5, 'b']\n`,
  ],
  [
    'JSON',
    `{"password": "0123", "token-address": "${TOKEN}", "node-name": 1.10, "full-node": true, "bootnode": [1e5, "b"]}`,
  ],
])('values of %s stay the text that was written', (_, text) => {
  const { 'full-node': fullNode, ...others } = parseOptionFile(text) as Record<string, unknown>;
  expect(others).toEqual({
    password: '0123',
    'token-address': TOKEN,
    'node-name': '1.10',
    bootnode: ['1e5', 'b'],
  });
  expect(String(fullNode)).toBe('true');
});

test.each(['swap-initial-deposit: 10000000000000001', '{"swap-initial-deposit": 10000000000000001}'])(
  'a number beyond the exact doubles stays exact: %s',
  (text) => {
    expect(parseOptionFile(text)).toEqual({ 'swap-initial-deposit': '10000000000000001' });
  },
);

test('a missing value is none, and so is an empty file', () => {
  expect(parseOptionFile('password:\nnode-name: ~\n')).toEqual({ password: null, 'node-name': null });
  expect(parseOptionFile('# nothing yet\n')).toBeNull();
});

test('broken YAML is an error that says where', () => {
  expect(() => parseOptionFile('a: [1,\n b: {')).toThrow(/at line 2/);
});

test('YAML longer than 32 KiB is refused unread, JSON of any length is read', () => {
  const longest = `node-name: ${'a'.repeat(32 * 1024 - 11)}`;
  expect(parseOptionFile(longest)).toHaveProperty('node-name');
  expect(() => parseOptionFile(`${longest}a`)).toThrow('32769 bytes of YAML, expected at most 32768');
  expect(parseOptionFile(JSON.stringify({ 'node-name': 'a'.repeat(40_000) }))).toHaveProperty('node-name');
});
