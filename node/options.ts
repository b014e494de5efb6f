/**
 * Every option of a node, once. The command line, the environment (`SVC_<NAME>`), the configuration file, `--help`
 * and docs/reference/node-options.md are all derived from `OPTIONS`. Highest source first: flag, environment, file,
 * default.
 */

import { DURATION_EXPECTED, durationText, parseDurationMs } from '../formats/units.ts';
import { VERBOSITIES } from './env/verbosity.ts';

interface OptionSpec<T> {
  readonly default: T | undefined;
  readonly unit?: string;
  readonly help: string;
  /** Description of a valid value; part of every error about it. */
  readonly expected: string;
  /** Undefined when the text is not a value of this kind. */
  readonly parse: (text: string) => T | undefined;
  /** May be given several times; a file holds a list. */
  readonly repeatable?: true;
  /** Its value appears in no message. */
  readonly secret?: true;
}

const text = (help: string, fallback: string | undefined): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: 'text',
  parse: (value) => value,
});

const secret = (help: string): OptionSpec<string> & { readonly secret: true } => ({
  ...text(help, ''),
  secret: true,
});

/** As used in an `Authorization` header. */
const token = (help: string): OptionSpec<string> & { readonly secret: true } => ({
  ...secret(help),
  expected: '16 to 512 letters, digits and - . _ ~ + / =',
  parse: (value) => (/^(?:[\w.~+/=-]{16,512})?$/.test(value) ? value : undefined),
});

const flag = (help: string, fallback = false): OptionSpec<boolean> => ({
  help,
  default: fallback,
  expected: 'true or false',
  parse(value) {
    // YAML's `True` and `TRUE` are truth values too, on nodes of the public network as well.
    const word = value.toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : undefined;
  },
});

const whole = (
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

const wholeOr = <W extends string>(
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

/** Seconds, as other nodes of the network write them, and parts of a second: a test's chain may be that fast. */
const seconds = (
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

const list = (help: string, expected: string, item: RegExp): OptionSpec<readonly string[]> => ({
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

/** Pairs of a protocol and its value; the transport decides which ones can be dialled. */
const MULTIADDRESS = /^(?:\/[^/\s]+\/[^/\s]+)+$/;
const MULTIADDRESS_WITH_ID = /^(?:\/[^/\s]+\/[^/\s]+)*\/p2p\/[^/\s]+$/;
const HOST_NAME = /^(?:\*|[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*)$/i;
const ORIGIN = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/\s]+)$/i;

/** @param fallback empty when the option may be left out */
const address = (help: string, fallback: string): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: 'host:port, for example 127.0.0.1:1633',
  parse(value) {
    if (value === fallback) return value;
    const port = /^(?:\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(value)?.[1];
    return port !== undefined && Number(port) <= 65_535 ? value : undefined;
  },
});

/** @param fallback empty when the option may be left out */
const contract = (help: string, fallback?: ''): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: '0x and 40 hex digits',
  parse(value) {
    if (value === fallback) return value;
    return /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : undefined;
  },
});

/** Base units of the token; too large for a double. */
const tokens = (help: string): OptionSpec<bigint> => ({
  help,
  default: 0n,
  unit: 'base units',
  expected: 'a whole number of at most 78 digits',
  parse: (value) => (/^\d{1,78}$/.test(value) ? BigInt(value) : undefined),
});

/** Durations are written with a unit and kept in milliseconds. @param minMs 0 where none at all makes sense */
const duration = (
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

const word = <W extends string>(help: string, fallback: W, words: readonly W[]): OptionSpec<W> => ({
  help,
  default: fallback,
  expected: `one of ${words.join(', ')}`,
  parse: (value) => words.find((known) => known === value),
});

const endpoint = (help: string): OptionSpec<string> => ({
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

/** URL of a trace receiver, with its path, or without one for the default path. */
const traceReceiver = (help: string, fallback: string): OptionSpec<string> => ({
  help,
  default: fallback,
  expected: 'host:port, or an http:// or https:// URL',
  parse(value) {
    const url = /^[^/\s]+:\d{1,5}$/.test(value) ? `http://${value}` : value;
    return /^https?:\/\/[^/]/.test(url) && URL.canParse(url) ? url : undefined;
  },
});

const ratio = (help: string, fallback: number): OptionSpec<number> => ({
  help,
  default: fallback,
  expected: 'a number from 0 to 1',
  parse: (value) => (/^(?:0|1|0?\.\d{1,15}|1\.0+)$/.test(value) ? Number(value) : undefined),
});

const UINT32_MAX = 4_294_967_295;
/** A thousandth of a coin per gas: more than any chain has ever charged. */
const FEE_MAX = 1_000_000_000_000_000;
/** Accounting amounts are kept as exact doubles. */
const ACCOUNTING_MAX = 1_000_000_000_000;
const SECONDS_MAX = 1_000_000;

export const OPTIONS = {
  config: text('configuration file (YAML; keys are option names)', ''),
  'data-dir': text('data directory', '.svc'),
  password: secret('password of the key files'),
  'password-file': text('file that holds the password of the key files', ''),
  'api-addr': address('address of the HTTP API', '127.0.0.1:1633'),
  'api-idle-timeout': duration(
    'time limit for a client that neither sends its request body nor reads the response; the connection is then closed',
    120_000,
  ),
  'p2p-addr': address('address that peers dial', '127.0.0.1:1634'),
  'nat-addr': address('host:port to advertise to peers instead of the listening address', ''),
  'debug-api-enable': flag('serve the debug API'),
  'debug-api-addr': address('address of the debug API', '127.0.0.1:1635'),
  'api-data-only': flag(
    'serve the operations of the debug API only there, and on the API only those for data; needs debug-api-enable',
  ),
  'api-token': token(
    'token for full access to the API and the debug API (Authorization: Bearer …); prefer a file',
  ),
  'api-token-file': text('file that holds this token', ''),
  'api-read-token': token(
    'token for read-only access to both APIs: requests that change nothing, cost nothing and do not subscribe',
  ),
  'api-read-token-file': text('file that holds this token', ''),
  'debug-api-token': token('token for the debug API only'),
  'debug-api-token-file': text('file that holds this token', ''),
  'api-open': flag('allow access to the APIs from other machines without a token'),
  'allowed-hosts': list(
    'host names that the APIs answer to, in addition to IP addresses and localhost (repeatable, * for all)',
    'a host name without a port, for example storage.example.org, or *',
    HOST_NAME,
  ),
  'api-dialect': word('API dialect: names in headers, paths and bodies', 'svc', ['svc', 'swarm'] as const),
  'swap-endpoint': endpoint('JSON-RPC endpoint of the chain'),
  'full-node': flag('store and forward chunks for others; otherwise run as a light node', true),
  'bootnode-mode': flag('only introduce peers to each other; full nodes only'),
  'network-id': whole(
    'network id; nodes of other networks are refused',
    4020,
    { min: 1, max: UINT32_MAX },
    '',
  ),
  bootnode: list(
    'multiaddress of a peer to dial first (repeatable)',
    'a multiaddress, for example /ip4/127.0.0.1/tcp/1634/p2p/12D3…',
    MULTIADDRESS,
  ),
  'peer-records': text(
    'file of signed address records of initial peers, one per line in hex; those peers need the same file',
    '',
  ),
  'only-peers': list(
    'multiaddress of an allowed peer; all others are refused, bootnodes included (repeatable); for private networks',
    'a multiaddress with a peer id, for example /ip4/127.0.0.1/tcp/1634/p2p/12D3…',
    MULTIADDRESS_WITH_ID,
  ),
  'found-batch-label': text(
    'label of an own batch that is found on the chain without a record of its purchase',
    'recovered',
  ),
  'dedicated-bootnodes': flag('use bootnodes only for introductions, not as peers'),
  'token-address': contract('token contract'),
  'postage-stamp-address': contract('postage stamp contract'),
  'staking-address': contract('stake registry contract', ''),
  'redistribution-address': contract('storage game contract', ''),
  'storage-incentives-enable': flag('play the storage game, which needs a stake; full nodes only', true),
  'round-length': whole(
    'length of a storage game round; must match the contract',
    152,
    { min: 8, max: 100_000 },
    'blocks',
  ),
  'postage-stamp-start-block': whole(
    'block from which postage events are read',
    1,
    { min: 1, max: UINT32_MAX },
    'blocks',
  ),
  'block-time': seconds('time between two blocks of the chain', 5, { min: 0.001, max: 3600 }),
  'usable-blocks': whole(
    'age at which a batch bought by this node becomes usable',
    10,
    { min: 0, max: 100_000 },
    'blocks',
  ),
  'chain-tail-blocks': whole(
    'newest blocks to leave unread, as a margin for chain reorganisations',
    4,
    { min: 0, max: 1000 },
    'blocks',
  ),
  'chain-batch-factor': whole(
    'postage events are read up to a multiple of this number',
    5,
    { min: 1, max: 1000 },
    'blocks',
  ),
  'chain-poll-interval': duration(
    'polling interval of the chain; while blocks are empty it grows to the block time, at most tenfold',
    5000,
  ),
  'minimum-gas-tip-cap': whole(
    'minimum tip of a transaction without an explicit gas price',
    0,
    { min: 0, max: FEE_MAX },
    'base units per gas',
  ),
  'transaction-debug-mode': flag(
    'skip gas estimation for batch and stake transactions, with a gas limit of at least 1,000,000',
  ),
  'withdrawal-addresses-whitelist': list(
    'addresses that funds may be withdrawn to (repeatable)',
    '0x and 40 hex digits',
    /^0x[0-9a-fA-F]{40}$/,
  ),
  'gas-limit-fallback': whole(
    'gas limit of a contract call that the endpoint cannot estimate',
    500_000,
    { min: 21_000, max: 10_000_000 },
    'gas',
  ),
  'payment-threshold': whole(
    'debt at which a peer must settle',
    13_500_000,
    { min: 1, max: ACCOUNTING_MAX },
    'accounting units',
  ),
  'payment-threshold-minimum': whole(
    'minimum threshold accepted from peers, scaled down for light nodes; 0: two seconds of the refresh rate',
    0,
    { min: 0, max: ACCOUNTING_MAX },
    'accounting units',
  ),
  'payment-tolerance-percent': whole(
    'debt beyond the threshold at which a peer is disconnected',
    25,
    { min: 0, max: 1000 },
    '%',
  ),
  'payment-early-percent': whole(
    'part of the threshold still unused when this node settles',
    50,
    { min: 0, max: 100 },
    '%',
  ),
  'payment-minimum': whole(
    'minimum amount of a cheque, scaled down for light nodes; 0: a fifth of a second of the refresh rate',
    0,
    { min: 0, max: ACCOUNTING_MAX },
    'accounting units',
  ),
  'payment-retry-pause': duration('pause after a cheque that could not be sent', 10_000, 0),
  'swap-enable': flag('settle debts by cheque in addition to time'),
  'chequebook-enable': flag('send cheques from an own chequebook; otherwise only accept them', true),
  'swap-factory-address': contract('chequebook factory contract', ''),
  'price-oracle-address': contract('price oracle contract, for the price of an accounting unit', ''),
  'price-oracle-interval': duration(
    'the price oracle is read at multiples of this time, if the chain may have changed',
    300_000,
  ),
  'chequebook-address': contract('chequebook of this node; if empty, it deploys one at its first start', ''),
  'swap-initial-deposit': tokens('initial deposit of a new chequebook'),
  'refresh-rate': whole(
    'debt forgiven per second',
    4_500_000,
    { min: 1, max: ACCOUNTING_MAX },
    'accounting units',
  ),
  'refresh-interval': duration(
    'minimum time between two refreshes with a peer; slightly over a second to tolerate clock drift',
    1020,
  ),
  'refresh-clock-tolerance': whole(
    'maximum difference to the clock of a peer that accepts a refresh',
    2,
    { min: 0, max: SECONDS_MAX },
    's',
  ),
  'refresh-interval-tolerance': whole(
    'maximum difference between the intervals that both clocks measure between two refreshes',
    3,
    { min: 0, max: SECONDS_MAX },
    's',
  ),
  'threshold-growth-step': whole(
    'seconds of the refresh rate that a peer must repay for its threshold to grow by one second of it',
    100,
    { min: 1, max: SECONDS_MAX },
    's',
  ),
  'threshold-growth-linear': whole(
    'seconds of the refresh rate beyond which each growth step costs twice the one before',
    1800,
    { min: 1, max: SECONDS_MAX },
    's',
  ),
  'light-factor': whole(
    'divisor of every threshold and of the refresh rate for light peers',
    10,
    { min: 1, max: 1000 },
    '',
  ),
  'chunk-price': whole(
    'price of a chunk per proximity order between the chunk and the peer that serves it',
    10_000,
    { min: 1, max: ACCOUNTING_MAX },
    'accounting units',
  ),
  'warmup-time': duration('maximum duration of the warm-up after the first peer connects', 300_000, 0),
  'pull-rate-window': duration('window over which the pull syncing rate is measured', 900_000),
  'salud-pause': duration(
    'pause after the first health rating of all peers; it doubles up to sixtyfold, at most to 5 minutes',
    10_000,
  ),
  'minimum-storage-radius': whole('smallest storage radius', 0, { min: 0, max: 31 }, 'bits'),
  'reserve-capacity': whole('capacity of the reserve', 4_194_304, { min: 1, max: UINT32_MAX }, 'chunks'),
  'reserve-capacity-doubling': whole(
    'number of times the reserve is doubled, to also store sibling neighbourhoods',
    0,
    { min: 0, max: 1 },
    '',
  ),
  'reserve-wake-up': duration('interval of the check whether the reserve is too empty', 900_000),
  'cache-capacity': whole('chunks kept for repeated reads', 1_000_000, { min: 0, max: UINT32_MAX }, 'chunks'),
  durability: word(
    'what confirmed writes survive: the end of the process, or a power cut, too, which is slower',
    'process',
    ['process', 'disk'] as const,
  ),
  workers: wholeOr(
    'threads that hash and sign beside the main thread while uploads are fast; auto: one, while half a core is idle',
    'auto',
    { min: 0, max: 64 },
    '',
  ),
  'chunk-events': whole(
    'number of latest chunk events kept for GET /chunk-events on the debug API, about 200 bytes each; 0: none',
    0,
    { min: 0, max: 1_000_000 },
    'events',
  ),
  'welcome-message': text('greeting shown to new peers, at most 140 bytes', ''),
  'cors-allowed-origins': list(
    'origins allowed to call the API from a browser (repeatable, * for all)',
    'an origin, for example http://localhost:3000, or *',
    ORIGIN,
  ),
  'allow-private-cidrs': flag('gossip and dial private and loopback addresses'),
  reachable: flag('peers can reach this node; otherwise it does not store chunks for the network', true),
  verbosity: word('log level', 'info', VERBOSITIES),
  'node-name': text('name of this node in its log lines', ''),
  'tracing-enable': flag('send traces of uploads, downloads and chunks to an OpenTelemetry collector'),
  'tracing-endpoint': traceReceiver(
    'OpenTelemetry collector, OTLP over HTTP (default path: /v1/traces)',
    'http://127.0.0.1:4318',
  ),
  'tracing-service-name': text("name of this node in traces; if empty, --node-name or 'svc'", ''),
  'tracing-sampling-ratio': ratio('share of the traces started by this node that are sent, from 0 to 1', 1),
} as const satisfies Record<string, OptionSpec<unknown>>;

export type OptionName = keyof typeof OPTIONS;
type ParsedOf<S> = S extends { parse: (text: string) => infer T } ? Exclude<T, undefined> : never;

/** Options without a default have been checked for presence before. */
export type NodeOptions = { readonly [N in OptionName]: ParsedOf<(typeof OPTIONS)[N]> };

export class OptionError extends Error {
  readonly code = 'OPTION_INVALID';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OptionError';
  }
}

export function optionNames(): OptionName[] {
  return Object.keys(OPTIONS) as OptionName[];
}

export function environmentName(name: OptionName): string {
  return `SVC_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** Rows of the option table, for `--help` and the reference. */
export function describeOptions(): {
  name: OptionName;
  environment: string;
  default: string;
  unit: string;
  help: string;
}[] {
  return optionNames().map((name) => {
    const spec: OptionSpec<unknown> = OPTIONS[name];
    return {
      name,
      environment: environmentName(name),
      default: spec.default === undefined ? 'required' : shownDefault(name, spec.default),
      unit: spec.unit === 'duration' ? '' : (spec.unit ?? ''),
      help: spec.help,
    };
  });
}

function shownDefault(name: OptionName, value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  if (value === '') return 'none';
  return (OPTIONS[name] as OptionSpec<unknown>).unit === 'duration'
    ? `${(value as number) / 1000}s`
    : String(value);
}
