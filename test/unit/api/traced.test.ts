import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { dialectOf } from '../../../node/api/dialect.ts';
import { tracedRequest } from '../../../node/api/traced.ts';
import type { Attributes, Tracing } from '../../../node/env/tracing/tracing.ts';

const CONTEXT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true };

async function valueIn(url: string): Promise<Attributes> {
  const annotations: Attributes[] = [];
  const span = {
    context: CONTEXT,
    annotate: (attributes: Attributes) => void annotations.push(attributes),
    event: () => undefined,
    fail: () => undefined,
  };
  const tracing = { span: (_name, _options, work) => work(span) } as Pick<Tracing, 'span'> as Tracing;
  const response = Object.assign(new EventEmitter(), {
    statusCode: 200,
    writableFinished: true,
    setHeader: () => undefined,
  });
  const request = { url, headers: { traceparent: `00-${CONTEXT.traceId}-${CONTEXT.spanId}-01` } };
  const exchange = { request, response, method: 'GET', route: '/bytes/{address}' };
  await tracedRequest(exchange as never, { tracing, dialect: dialectOf('svc') }, async () => {
    queueMicrotask(() => response.emit('close'));
  });
  return Object.assign({}, ...annotations);
}

test.each([
  [`/bytes/${'ab'.repeat(32)}`, `/bytes/${'ab'.repeat(32)}`],
  [`/bzz/${'ab'.repeat(32)}${'cd'.repeat(32)}/a.txt?x=1`, `/bzz/${'ab'.repeat(32)}…/a.txt`],
  [`/v1/bytes/${'AB'.repeat(32)}${'CD'.repeat(32)}`, `/v1/bytes/${'AB'.repeat(32)}…`],
])('the path is recorded without the key of encrypted content: %s', async (url, told) => {
  expect(await valueIn(url)).toEqual({ 'http.response.status_code': 200, 'url.path': told });
});
