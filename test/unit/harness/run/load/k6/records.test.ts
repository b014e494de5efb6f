import { expect, test } from 'vitest';
import { classOfFailure, recordOf, requestOf } from '../../../../../../harness/run/load/load-book.ts';

test('a line of the helper library is an operation, a line of the script is not', () => {
  expect(recordOf('svcnet {"operation":"upload","node":"node-0"}')).toEqual({
    operation: 'upload',
    node: 'node-0',
  });
  const printed = (msg: string) =>
    recordOf(JSON.stringify({ level: 'info', msg, time: '2026-11-22T10:00:00Z' }));
  expect(printed('svcnet {"operation":"upload","node":"node-0"}')).toEqual({
    operation: 'upload',
    node: 'node-0',
  });
  expect(printed('hello')).toBeUndefined();
  expect(printed('svcnet says hello')).toBeUndefined();
  expect(recordOf('hello')).toBeUndefined();
});

test.each([
  [{ class: 'data.mismatch', message: '' }, 'data.mismatch'],
  [{ status: 402, message: 'batch is overissued' }, 'stamp.full'],
  [{ status: 500, message: 'broken' }, 'http.500'],
  [{ status: 0, code: 1050, message: '' }, 'client.timeout'],
  [{ status: 0, code: 1212, message: '' }, 'client.connect'],
  [{ status: 0, code: 1220, message: '' }, 'client.reset'],
  [{ status: 0, code: 9999, message: '' }, 'client.reset'],
])('%j has class %s', (failure, expected) => {
  expect(classOfFailure(failure)).toBe(expected);
});

const nodes = [
  {
    name: 'node-0',
    api: 'http://127.0.0.1:17000',
    overlay: '',
    mode: 'full',
    headerPrefix: 'svc-',
    files: '/svc',
    batch: '',
  },
] as const;
const point = (tags: Record<string, string>, metric = 'http_req_duration') =>
  JSON.stringify({ metric, type: 'Point', data: { time: '2026-11-22T10:00:00.5Z', value: 12.5, tags } });

test('a request of a script is an operation of the node that it was sent to', () => {
  const tags = { node: 'node-0', endpoint: 'GET /bytes', name: 'GET /bytes', method: 'GET' };
  expect(requestOf(point({ ...tags, status: '200', expected_response: 'true' }), nodes)).toEqual({
    operation: 'GET /bytes',
    node: 'node-0',
    endMs: Date.parse('2026-11-22T10:00:00.5Z'),
    latencyMs: 12.5,
    bytes: 0,
  });
  expect(requestOf(point(tags, 'http_reqs'), nodes)).toBeUndefined();
});

test.each([
  ['http://127.0.0.1:17000/bytes/abc', 'GET /bytes', 'node-0'],
  ['http://elsewhere:80/x', 'GET /x', 'elsewhere'],
])('a request of a module from elsewhere has only its URL for a name: %s', (name, operation, node) => {
  expect(requestOf(point({ name, method: 'GET' }), nodes)).toMatchObject({ operation, node });
});

test('a request without the expected answer has failed', () => {
  const tags = { node: 'elsewhere', endpoint: 'POST /x', status: '0', error_code: '1212', error: 'refused' };
  expect(requestOf(point({ ...tags, expected_response: 'false' }), nodes)).toMatchObject({
    operation: 'POST /x',
    node: 'elsewhere',
    failure: { status: 0, code: 1212, message: 'refused' },
  });
});
