/** A row's evidence. */
import type { Exchange } from '../row.ts';

const LINES_MAX = 40;
const BYTES_SHOWN = 48;

export class Transcript {
  readonly #record: (exchange: Exchange) => void;
  #sent: string[] = [];
  #received: string[] = [];
  #asks: string[] = [];

  constructor(record: (exchange: Exchange) => void) {
    this.#record = record;
  }

  sent(line: string, asks?: string): void {
    if (this.#received.length > 0) this.flush();
    if (asks !== undefined) this.#asks.push(asks);
    if (this.#sent.length < LINES_MAX) this.#sent.push(line);
  }

  received(line: string): void {
    if (this.#received.length < LINES_MAX) this.#received.push(line);
  }

  /** Kept elsewhere. */
  add(exchange: Exchange): void {
    this.flush();
    this.#record(exchange);
  }

  flush(): void {
    if (this.#sent.length + this.#received.length === 0) return;
    const [sent, received] = [this.#sent.join('\n'), this.#received.join('\n')];
    this.#record({ sent, received, asks: this.#asks });
    this.#asks = [];
    this.#sent = [];
    this.#received = [];
  }
}

/** Hex, shortened, without empty fields. */
export function messageText(message: object): string {
  const fields = Object.entries(message).flatMap(([name, value]) => {
    const text = valueText(value);
    return text === undefined ? [] : [`${name}: ${text}`];
  });
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

function valueText(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return value.length === 0 ? undefined : hexText(value);
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  if (typeof value === 'string') return value === '' ? undefined : JSON.stringify(value.slice(0, 120));
  if (Array.isArray(value)) {
    const shown = value.slice(0, 3).map((one) => valueText(one) ?? 'empty');
    return `[${shown.join(', ')}${value.length > 3 ? `, … ${value.length} in all` : ''}]`;
  }
  if (value instanceof Map) return value.size === 0 ? undefined : `${value.size} entries`;
  return typeof value === 'object' && value !== null ? messageText(value) : undefined;
}

export function hexText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes.subarray(0, BYTES_SHOWN)).toString('hex');
  return bytes.length > BYTES_SHOWN ? `${hex}… (${bytes.length} bytes)` : hex;
}
