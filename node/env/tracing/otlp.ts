/** OTLP over HTTP, as JSON. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** Limit of a request with its retries. */
const TIMEOUT_MS = 5000;

/** @param url with its path */
export function otlpExporter(url: string): SpanExporter {
  return new OTLPTraceExporter({ url, timeoutMillis: TIMEOUT_MS });
}
