import { DURATION_EXPECTED, durationText, parseDurationMs } from '../formats/units.ts';

export interface OptionSpec<T> {
  readonly default: T | undefined;
  readonly unit?: string;
  readonly help: string;
  /** Part of every error about the value. */
  readonly expected: string;
  /** Undefined for text of no such value. */
  readonly parse: (text: string) => T | undefined;
  /** May be repeated; a file holds a list. */
  readonly repeatable?: true;
  readonly secret?: true;
}

export const text = (help: string, fallback: string | undefined): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: 'text',
  parse: (value) => value,
});

export const secret = (help: string): OptionSpec<string> & { readonly secret: true } => ({
  ...text(help, ''),
  secret: true,
});

/** May stand in an `Authorization` header. */
export const token = (help: string): OptionSpec<string> & { readonly secret: true } => ({
  ...secret(help),
  expected: '16 to 512 letters, digits and - . _ ~ + / =',
  parse: (value) => (/^(?:[\w.~+/=-]{16,512})?$/.test(value) ? value : undefined),
});

export const flag = (help: string, fallback = false): OptionSpec<boolean> => ({
  help,
  default: fallback,
  expected: 'true or false',
  parse(value) {
    // As in YAML, and on the public network's nodes.
    const word = value.toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : undefined;
  },
});

export const whole = (
  help: string,
  fallback: number,
  range: { min: number; max: number },
  unit: string,
): OptionSpec<number> => ({
  help,
  unit,
  default: fallback,
  expected: `a whole number from ${range.min} to ${range.max}`,
  parse(value) {
    if (!/^\d{1,15}$/.test(value)) return undefined;
    const number = Number(value);
    return number >= range.min && number <= range.max ? number : undefined;
  },
});

export const wholeOr = <W extends string>(
  help: string,
  fallback: W,
  range: { min: number; max: number },
  unit: string,
): OptionSpec<number | W> => {
  const numbers = whole(help, range.min, range, unit);
  return {
    ...numbers,
    default: fallback,
    expected: `${fallback} or ${numbers.expected}`,
    parse: (value) => (value === fallback ? fallback : numbers.parse(value)),
  };
};

/** As other nodes write them, or fractions for a test's chain. */
export const seconds = (
  help: string,
  fallback: number,
  range: { min: number; max: number },
): OptionSpec<number> => ({
  help,
  unit: 's',
  default: fallback,
  expected: `a number from ${range.min} to ${range.max}`,
  parse(value) {
    if (!/^\d{1,9}(\.\d{1,6})?$/.test(value)) return undefined;
    const number = Number(value);
    return number >= range.min && number <= range.max ? number : undefined;
  },
});

export const list = (help: string, expected: string, item: RegExp): OptionSpec<readonly string[]> => ({
  help,
  default: [],
  expected,
  repeatable: true,
  parse(value) {
    const items = value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    return items.every((part) => item.test(part)) ? items : undefined;
  },
});

/** Those of WebSockets have no values. The transport decides what can be dialled. */
const PROTOCOL = String.raw`(?:\/(?:ws|wss|tls)(?=\/|$)|\/(?!(?:ws|wss|tls)(?:\/|$))[^/\s]+\/[^/\s]+)`;
export const MULTIADDRESS = new RegExp(`^${PROTOCOL}+$`);
export const MULTIADDRESS_WITH_ID = new RegExp(String.raw`^${PROTOCOL}*\/p2p\/[^/\s]+$`);
export const HOST_NAME =
  /^(?:\*|[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*)$/i;
export const ORIGIN = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/\s]+)$/i;

/** @param fallback empty: may be left out */
export const address = (help: string, fallback: string): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: 'host:port, for example 127.0.0.1:1633',
  parse(value) {
    if (value === fallback) return value;
    const port = /^(?:\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(value)?.[1];
    return port !== undefined && Number(port) <= 65_535 ? value : undefined;
  },
});

/** @param fallback empty: may be left out */
export const contract = (help: string, fallback?: ''): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: '0x and 40 hex digits',
  parse(value) {
    if (value === fallback) return value;
    return /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : undefined;
  },
});

/** Base units, too large for a double. */
export const tokens = (help: string): OptionSpec<bigint> => ({
  help,
  default: 0n,
  unit: 'base units',
  expected: 'a whole number of at most 78 digits',
  parse: (value) => (/^\d{1,78}$/.test(value) ? BigInt(value) : undefined),
});

/** With a unit, kept in ms. @param minMs 0 where none makes sense */
export const duration = (
  help: string,
  fallbackMs: number,
  minMs = 1,
): OptionSpec<number> & { readonly unit: 'duration' } => ({
  help,
  default: fallbackMs,
  unit: 'duration',
  expected: minMs === 0 ? DURATION_EXPECTED : `${DURATION_EXPECTED}, at least ${durationText(minMs)}`,
  parse(value) {
    const ms = Math.round(parseDurationMs(value) ?? Number.NaN);
    return ms >= minMs ? ms : undefined;
  },
});

export const word = <W extends string>(help: string, fallback: W, words: readonly W[]): OptionSpec<W> => ({
  help,
  default: fallback,
  expected: `one of ${words.join(', ')}`,
  parse: (value) => words.find((known) => known === value),
});

export const endpoint = (help: string): OptionSpec<string> => ({
  help,
  default: undefined,
  expected: 'an http:// or https:// URL, with %25 for a % in its user or password',
  parse(value) {
    const url = URL.parse(value);
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
    return isEscaped(url.username) && isEscaped(url.password) ? value : undefined;
  },
});

function isEscaped(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

/** Without a path: the default one. */
export const traceReceiver = (help: string, fallback: string): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: 'host:port, or an http:// or https:// URL',
  parse(value) {
    const url = /^[^/\s]+:\d{1,5}$/.test(value) ? `http://${value}` : value;
    return /^https?:\/\/[^/]/.test(url) && URL.canParse(url) ? url : undefined;
  },
});

export const ratio = (help: string, fallback: number): OptionSpec<number> => ({
  help,
  default: fallback,
  expected: 'a number from 0 to 1',
  parse: (value) => (/^(?:0|1|0?\.\d{1,15}|1\.0+)$/.test(value) ? Number(value) : undefined),
});
