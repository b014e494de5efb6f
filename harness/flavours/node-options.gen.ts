/** Written by `npm run api` from the table of options in `node/options.ts`. */

/**
 * Options of nodes of this package, by the names of their command line. Durations are text such as `5s`; numbers and
 * amounts may be text too.
 */
export interface NodeOptionsInput {
  /** Time limit for a client that neither sends its request body nor reads the response; the connection is then closed. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 120000 ms. */
  readonly 'api-idle-timeout'?: string;
  /** Serve the operations of the debug API only there, and on the API only those for data; needs debug-api-enable. True or false; default: false. */
  readonly 'api-data-only'?: boolean;
  /** Host names that the APIs answer to, in addition to IP addresses and localhost (repeatable, * for all). A host name without a port, for example storage.example.org, or *. */
  readonly 'allowed-hosts'?: string | readonly string[];
  /** Label of an own batch that is found on the chain without a record of its purchase. Text; default: recovered. */
  readonly 'found-batch-label'?: string;
  /** Play the storage game, which needs a stake; full nodes only. True or false; default: true. */
  readonly 'storage-incentives-enable'?: boolean;
  /** Length of a storage game round; must match the contract. A whole number from 8 to 100000 (blocks); default: 152. */
  readonly 'round-length'?: number | string;
  /** Time between two blocks of the chain. A number from 0.001 to 3600 (s); default: 5. */
  readonly 'block-time'?: number | string;
  /** Age at which a batch bought by this node becomes usable. A whole number from 0 to 100000 (blocks); default: 10. */
  readonly 'usable-blocks'?: number | string;
  /** Newest blocks to leave unread, as a margin for chain reorganisations. A whole number from 0 to 1000 (blocks); default: 4. */
  readonly 'chain-tail-blocks'?: number | string;
  /** Postage events are read up to a multiple of this number. A whole number from 1 to 1000 (blocks); default: 5. */
  readonly 'chain-batch-factor'?: number | string;
  /** Polling interval of the chain; while blocks are empty it grows to the block time, at most tenfold. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 5000 ms. */
  readonly 'chain-poll-interval'?: string;
  /** Minimum tip of a transaction without an explicit gas price. A whole number from 0 to 1000000000000000 (base units per gas); default: 0. */
  readonly 'minimum-gas-tip-cap'?: number | string;
  /** Skip gas estimation for batch and stake transactions, with a gas limit of at least 1,000,000. True or false; default: false. */
  readonly 'transaction-debug-mode'?: boolean;
  /** Addresses that funds may be withdrawn to (repeatable). 0x and 40 hex digits. */
  readonly 'withdrawal-addresses-whitelist'?: string | readonly string[];
  /** Gas limit of a contract call that the endpoint cannot estimate. A whole number from 21000 to 10000000 (gas); default: 500000. */
  readonly 'gas-limit-fallback'?: number | string;
  /** Debt at which a peer must settle. A whole number from 1 to 1000000000000 (accounting units); default: 13500000. */
  readonly 'payment-threshold'?: number | string;
  /** Minimum threshold accepted from peers, scaled down for light nodes; 0: two seconds of the refresh rate. A whole number from 0 to 1000000000000 (accounting units); default: 0. */
  readonly 'payment-threshold-minimum'?: number | string;
  /** Debt beyond the threshold at which a peer is disconnected. A whole number from 0 to 1000 (%); default: 25. */
  readonly 'payment-tolerance-percent'?: number | string;
  /** Part of the threshold still unused when this node settles. A whole number from 0 to 100 (%); default: 50. */
  readonly 'payment-early-percent'?: number | string;
  /** Minimum amount of a cheque, scaled down for light nodes; 0: a fifth of a second of the refresh rate. A whole number from 0 to 1000000000000 (accounting units); default: 0. */
  readonly 'payment-minimum'?: number | string;
  /** Pause after a cheque that could not be sent. A duration such as 500ms, 15s or 1m30s; default: 10000 ms. */
  readonly 'payment-retry-pause'?: string;
  /** Settle debts by cheque in addition to time. True or false; default: false. */
  readonly 'swap-enable'?: boolean;
  /** Send cheques from an own chequebook; otherwise only accept them. True or false; default: true. */
  readonly 'chequebook-enable'?: boolean;
  /** The price oracle is read at multiples of this time, if the chain may have changed. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 300000 ms. */
  readonly 'price-oracle-interval'?: string;
  /** Initial deposit of a new chequebook. A whole number of at most 78 digits (base units); default: 0. */
  readonly 'swap-initial-deposit'?: number | string;
  /** Debt forgiven per second. A whole number from 1 to 1000000000000 (accounting units); default: 4500000. */
  readonly 'refresh-rate'?: number | string;
  /** Minimum time between two refreshes with a peer; slightly over a second to tolerate clock drift. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 1020 ms. */
  readonly 'refresh-interval'?: string;
  /** Maximum difference to the clock of a peer that accepts a refresh. A whole number from 0 to 1000000 (s); default: 2. */
  readonly 'refresh-clock-tolerance'?: number | string;
  /** Maximum difference between the intervals that both clocks measure between two refreshes. A whole number from 0 to 1000000 (s); default: 3. */
  readonly 'refresh-interval-tolerance'?: number | string;
  /** Seconds of the refresh rate that a peer must repay for its threshold to grow by one second of it. A whole number from 1 to 1000000 (s); default: 100. */
  readonly 'threshold-growth-step'?: number | string;
  /** Seconds of the refresh rate beyond which each growth step costs twice the one before. A whole number from 1 to 1000000 (s); default: 1800. */
  readonly 'threshold-growth-linear'?: number | string;
  /** Divisor of every threshold and of the refresh rate for light peers. A whole number from 1 to 1000; default: 10. */
  readonly 'light-factor'?: number | string;
  /** Price of a chunk per proximity order between the chunk and the peer that serves it. A whole number from 1 to 1000000000000 (accounting units); default: 10000. */
  readonly 'chunk-price'?: number | string;
  /** Maximum duration of the warm-up after the first peer connects. A duration such as 500ms, 15s or 1m30s; default: 300000 ms. */
  readonly 'warmup-time'?: string;
  /** Speak pull sync 2.0.0, too, which brings every payload of a single-owner address to all neighbours; not in Bee yet. True or false; default: false. */
  readonly 'pullsync-v2-enable'?: boolean;
  /** Window over which the pull syncing rate is measured. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 900000 ms. */
  readonly 'pull-rate-window'?: string;
  /** Pause after the first health rating of all peers; it doubles up to sixtyfold, at most to 5 minutes. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 10000 ms. */
  readonly 'salud-pause'?: string;
  /** Smallest storage radius. A whole number from 0 to 31 (bits); default: 0. */
  readonly 'minimum-storage-radius'?: number | string;
  /** Capacity of the reserve. A whole number from 1 to 4294967295 (chunks); default: 4194304. */
  readonly 'reserve-capacity'?: number | string;
  /** Number of times the reserve is doubled, to also store sibling neighbourhoods. A whole number from 0 to 1; default: 0. */
  readonly 'reserve-capacity-doubling'?: number | string;
  /** Interval of the check whether the reserve is too empty. A duration such as 500ms, 15s or 1m30s, at least 1ms; default: 900000 ms. */
  readonly 'reserve-wake-up'?: string;
  /** Chunks kept for repeated reads. A whole number from 0 to 4294967295 (chunks); default: 1000000. */
  readonly 'cache-capacity'?: number | string;
  /** What confirmed writes survive: the end of the process, or a power cut, too, which is slower. One of process, disk; default: process. */
  readonly 'durability'?: 'process' | 'disk';
  /** Threads that hash and sign beside the main thread while uploads are fast; auto: one, while half a core is idle. Auto or a whole number from 0 to 64; default: auto. */
  readonly 'workers'?: number | string;
  /** Number of latest chunk events kept for GET /chunk-events on the debug API, about 200 bytes each; 0: none. A whole number from 0 to 1000000 (events); default: 0. */
  readonly 'chunk-events'?: number | string;
  /** Greeting shown to new peers, at most 140 bytes. Text. */
  readonly 'welcome-message'?: string;
  /** Origins allowed to call the API from a browser (repeatable, * for all). An origin, for example http://localhost:3000, or *. */
  readonly 'cors-allowed-origins'?: string | readonly string[];
  /** Gossip and dial private and loopback addresses. True or false; default: false. */
  readonly 'allow-private-cidrs'?: boolean;
  /** Peers can reach this node; otherwise it does not store chunks for the network. True or false; default: true. */
  readonly 'reachable'?: boolean;
  /** Log level. One of silent, error, warn, info, debug, trace; default: info. */
  readonly 'verbosity'?: 'silent' | 'error' | 'warn' | 'info' | 'debug' | 'trace';
  /** Send traces of uploads, downloads and chunks to an OpenTelemetry collector. True or false; default: false. */
  readonly 'tracing-enable'?: boolean;
  /** OpenTelemetry collector, OTLP over HTTP (default path: /v1/traces). Host:port, or an http:// or https:// URL; default: http://127.0.0.1:4318. */
  readonly 'tracing-endpoint'?: string;
  /** Name of this node in traces; if empty, --node-name or 'svc'. Text. */
  readonly 'tracing-service-name'?: string;
  /** Share of the traces started by this node that are sent, from 0 to 1. A number from 0 to 1; default: 1. */
  readonly 'tracing-sampling-ratio'?: number | string;
}
