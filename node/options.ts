/**
 * Every option, once: command line, environment (`SVC_<NAME>`), configuration file, `--help` and
 * docs/reference/node-options.md derive from `OPTIONS`. Highest source first: flag, environment, file, default.
 */

import { VERBOSITIES } from './env/verbosity.ts';
import {
  address,
  contract,
  duration,
  endpoint,
  flag,
  HOST_NAME,
  list,
  MULTIADDRESS,
  MULTIADDRESS_WITH_ID,
  type OptionSpec,
  ORIGIN,
  ratio,
  seconds,
  secret,
  text,
  token,
  tokens,
  traceReceiver,
  whole,
  wholeOr,
  word,
} from './option-kinds.ts';

const UINT32_MAX = 4_294_967_295;
/** A thousandth of a coin per gas: more than any chain has charged. */
const FEE_MAX = 1_000_000_000_000_000;
/** Accounting amounts are exact doubles. */
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
  'p2p-tcp-enable': flag('dial, take and announce plain TCP', true),
  'p2p-ws-enable': flag('dial WebSockets (/ws), and take and announce them on the port of p2p-addr'),
  'p2p-wss-enable': flag('dial WebSockets over TLS (/tls/ws), and take and announce them on p2p-wss-addr'),
  'p2p-wss-addr': address('address that peers dial for WebSockets over TLS', '127.0.0.1:1636'),
  'nat-wss-addr': address('host:port to advertise to peers instead of p2p-wss-addr', ''),
  'p2p-wss-certificate': text('file of the certificate of p2p-wss-addr and its chain (PEM)', ''),
  'p2p-wss-key': text('file of the key of this certificate (PEM)', ''),
  'p2p-wss-authority': text(
    'file of certificates to trust when dialling WebSockets over TLS, besides those of Node.js (PEM)',
    '',
  ),
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
  'pullsync-v2-enable': flag(
    'speak pull sync 2.0.0, too, which brings every payload of a single-owner address to all neighbours; not in Bee yet',
  ),
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

/** Presence has been checked. */
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
