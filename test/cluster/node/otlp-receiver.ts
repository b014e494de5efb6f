import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

const BINARY = 'application/x-protobuf';

export interface ReceivedSpan {
  /** `service.name` of its node. */
  readonly service: string;
  /** `service.instance.id`. */
  readonly instance: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty at the beginning of a trace. */
  readonly parentSpanId: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly events: readonly string[];
  readonly failed: boolean;
}

export interface OtlpReceiver extends AsyncDisposable {
  /** `http://HOST:PORT` */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly string[];
  /** Requests in the binary encoding, which other implementations send. */
  readonly binary: readonly Buffer[];
}

/** 64-bit numbers are text. */
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

interface WireAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number | string;
    readonly doubleValue?: number;
    readonly boolValue?: boolean;
  };
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly WireAttribute[];
  readonly events?: readonly { readonly name: string }[];
  readonly status: { readonly code: number };
}

/** @param host address to listen at */
export async function otlpReceiver(host = '127.0.0.1'): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: string[] = [];
  const binary: Buffer[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = await bodyOf(request);
    const type = request.headers['content-type'] ?? '';
    response.setHeader('content-type', type);
    if (type === BINARY) {
      binary.push(sent);
      response.end();
      return;
    }
    spans.push(...spansOf(JSON.parse(sent.toString('utf8')) as ExportRequest));
    response.end('{}');
  };
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    void take(request, response);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    binary,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

function spansOf({ resourceSpans }: ExportRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const { 'service.name': service, 'service.instance.id': instance } = valuesOf(resource.attributes);
    return scopeSpans
      .flatMap((scope) => scope.spans)
      .map((span) => ({
        service: String(service),
        instance: String(instance),
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        kind: span.kind,
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        attributes: valuesOf(span.attributes ?? []),
        events: (span.events ?? []).map(({ name }) => name),
        failed: span.status.code === 2,
      }));
  });
}

function valuesOf(attributes: readonly WireAttribute[]): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
}
