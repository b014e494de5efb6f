/** Where spans are sent: OTLP over HTTP, as JSON. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** Time limit for one request with its retries, milliseconds. */
const TIMEOUT_MS = 5000;

/** @param url of the traces endpoint, with its path */
export function otlpExporter(url: string): SpanExporter {
  return new OTLPTraceExporter({ url, timeoutMillis: TIMEOUT_MS });
}
