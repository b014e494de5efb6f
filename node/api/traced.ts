/** Requests as spans: those about content, and those with a context. No WebSockets. */
import { contextOfRequest, traceparentOf } from '../env/tracing/span-context.ts';
import type { Tracing } from '../env/tracing/tracing.ts';
import type { Dialect } from './dialect.ts';
import type { KnownExchange } from './dispatch.ts';

/** The span ends with the answer. Never rejects when `answer` does not. */
export async function tracedRequest(
  exchange: KnownExchange,
  { tracing, dialect }: { readonly tracing: Tracing; readonly dialect: Dialect },
  answer: () => Promise<void>,
): Promise<void> {
  const { request, response, method, route } = exchange;
  const { active, other = active } = dialect.headers.traceId;
  const header = (name: string) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const parent = contextOfRequest({
    traceparent: header('traceparent'),
    own: header(active) ?? header(other),
  });
  if (request.headers.upgrade !== undefined || (parent === undefined && !carriesContent(exchange))) {
    return answer();
  }
  const attributes = { 'http.request.method': method, 'http.route': route };
  const settings = { kind: 'server' as const, parent: parent ?? ('none' as const), attributes };
  await tracing.span(`${method} ${route}`, settings, async (span) => {
    response.setHeader('traceresponse', traceparentOf(span.context));
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    await answer();
    await closed;
    const { statusCode: status } = response;
    span.annotate({ 'http.response.status_code': status, 'url.path': withoutKeys(request.url ?? '') });
    if (!response.writableFinished) span.fail(new Error('the client did not take the whole answer'));
    else if (status >= 500) span.fail(new Error(`answered ${status}`));
  });
}

/** Second halves of encrypted references are keys, and traces leave the node. */
function withoutKeys(url: string): string {
  const [path = ''] = url.split('?', 1);
  return path.replaceAll(/([0-9a-f]{64})[0-9a-f]{64}/gi, '$1…');
}

function carriesContent({ routes, method }: KnownExchange): boolean {
  const row = routes.byMethod.get(method);
  const content = row?.body?.content;
  return content === 'octets' || content === 'files' || row?.response === 'octets';
}
