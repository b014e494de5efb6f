import { expect, test } from 'vitest';
import { ClientError, classOfAnswer, classOfFailure } from '../../../../harness/client/errors.ts';
import { CHAIN_TIMEOUT_MS } from '../../../../harness/client/http.ts';
import { amount, parseJson } from '../../../../harness/client/json.ts';
import { MINED_WITHIN_MS } from '../../../../node/onchain/transactions/patience.ts';

test.each([
  [402, 'batch is overissued', 'stamp.full'],
  [404, 'batch with id not found', 'stamp.unknown'],
  [422, 'batch not usable yet or does not exist', 'stamp.not_usable'],
  [404, 'chunk not found', 'retr.not_found'],
  [404, 'Not Found', 'http.404'],
  [500, 'done split failed', 'http.500'],
])('%i "%s" has class %s', (status, message, wanted) => {
  expect(classOfAnswer(status, message)).toBe(wanted);
});

const coded = (code: string) => Object.assign(new Error('failed'), { code });

test.each([
  ['ECONNREFUSED', 'client.connect'],
  ['UND_ERR_CONNECT_TIMEOUT', 'client.connect'],
  ['UND_ERR_HEADERS_TIMEOUT', 'client.timeout'],
  ['ECONNRESET', 'client.reset'],
  ['UND_ERR_SOCKET', 'client.reset'],
])('%s before an answer has class %s', (code, wanted) => {
  expect(classOfFailure(coded(code), false)).toBe(wanted);
});

test('a connection lost within the body is a short body', () => {
  expect(classOfFailure(coded('ECONNRESET'), true)).toBe('client.short_body');
});

test('a deadline is a timeout wherever it expires', () => {
  const deadline = new DOMException('too late', 'TimeoutError');
  expect(classOfFailure(deadline, false)).toBe('client.timeout');
  expect(classOfFailure(new Error('aborted', { cause: deadline }), true)).toBe('client.timeout');
});

test('an error names node, request, status, message and reasons, and shortens references', () => {
  const error = new ClientError('invalid header params', {
    class: 'http.400',
    node: 'node-2',
    method: 'POST',
    path: `/bytes/${'ab'.repeat(32)}`,
    status: 400,
    reasons: ['svc-tag: invalid syntax'],
  });
  expect(error.message).toBe(
    'node-2: POST /bytes/abababab…: 400 invalid header params (svc-tag: invalid syntax)',
  );
});

test('integers beyond 2^53 keep every digit', () => {
  expect(parseJson('{"a":18446744073709551617,"b":-100000000000000000000,"c":12,"d":0.5}')).toEqual({
    a: 18_446_744_073_709_551_617n,
    b: -100_000_000_000_000_000_000n,
    c: 12,
    d: 0.5,
  });
});

test.each([12, 12n, '12'])('the amount %s is accepted in each notation', (value) => {
  expect(amount(value)).toBe(12n);
});

test('an operation of two transactions is awaited until the node says which one is stuck', () => {
  expect(CHAIN_TIMEOUT_MS).toBeGreaterThan(2 * MINED_WITHIN_MS);
});

test('what a node says is one line of plain text, at most 500 characters', () => {
  const about = { class: 'http.500', node: 'node-0', method: 'GET', path: '/node', status: 500 } as const;
  expect(new ClientError('no\n\u001b[2J\u202e', { ...about, reasons: ['x\ry'] }).message).toBe(
    'node-0: GET /node: 500 no \\u001b[2J\\u202e (x y)',
  );
  expect(new ClientError('z'.repeat(1_000_000), about).message).toHaveLength(
    'node-0: GET /node: '.length + 500,
  );
});
