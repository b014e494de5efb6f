import { withShownUrls } from '../../formats/shown-url.ts';
import { OPTIONS, type OptionName, optionNames } from '../../node/options.ts';
import { suggestion } from '../base/format.ts';

/** Set by the testbed: from a definition, they would point the node outside its cluster. */
export const OWN_OPTIONS = [
  'data-dir',
  'password',
  'node-name',
  'api-addr',
  'p2p-addr',
  'debug-api-enable',
  'debug-api-addr',
  'api-open',
  'nat-addr',
  'api-dialect',
  'swap-endpoint',
  'full-node',
  'bootnode-mode',
  'network-id',
  'token-address',
  'postage-stamp-address',
  'postage-stamp-start-block',
  'staking-address',
  'redistribution-address',
  'bootnode',
  'peer-records',
  'only-peers',
  'dedicated-bootnodes',
  'swap-factory-address',
  'price-oracle-address',
  'chequebook-address',
] as const satisfies readonly OptionName[];
export const RESERVED_OPTIONS = [
  ...OWN_OPTIONS,
  // What carries connections is the cluster's choice.
  'p2p-tcp-enable',
  'p2p-ws-enable',
  'p2p-wss-enable',
  'p2p-wss-addr',
  'p2p-wss-certificate',
  'p2p-wss-key',
  'p2p-wss-authority',
  'nat-wss-addr',
  'config',
  'password-file',
  // Only the testbed's requests would need them.
  'api-token',
  'api-token-file',
  'api-read-token',
  'api-read-token-file',
  'debug-api-token',
  'debug-api-token-file',
] as const satisfies readonly OptionName[];

/** Short waits and high credit for quick clusters; `production` keeps the network's values. */
export const PROFILE_OPTIONS = {
  fast: {
    'usable-blocks': 1,
    'chain-tail-blocks': 0,
    'chain-batch-factor': 1,
    'chain-poll-interval': '100ms',
    'warmup-time': '200ms',
    'pull-rate-window': '5s',
    'salud-pause': '1s',
    'reserve-wake-up': '10s',
    'price-oracle-interval': '1s',
  },
  production: {},
} as const;
/** `network` keeps the public network's values: a Bee blocklists peers that settle at another rate. */
export const CREDIT_OPTIONS = {
  high: { 'payment-threshold': 13_500_000_000, 'refresh-rate': 4_500_000_000 },
  network: {},
  // A chunk costs up to 320,000: time settles almost nothing, so cheques pay. A node refused for its debt waits as long as
  // time would take to settle it.
  low: {
    'payment-threshold': 8_000_000,
    'refresh-rate': 100_000,
    'payment-minimum': 100_000,
    'payment-retry-pause': '1s',
  },
} as const;

/** @returns a line for each option that a node would refuse; reserved ones are not checked */
export function optionMistakes(options: Readonly<Record<string, unknown>>): string[] {
  const reserved: readonly string[] = RESERVED_OPTIONS;
  const choosable = optionNames().filter((name) => !reserved.includes(name));
  return Object.entries(options)
    .filter(([name]) => !reserved.includes(name))
    .flatMap(([name, value]) => {
      if (!Object.hasOwn(OPTIONS, name)) {
        return [`.options: a node knows no option '${name}'${suggestion(name, choosable)}`];
      }
      const { parse, expected } = OPTIONS[name as OptionName];
      const items = Array.isArray(value) && 'repeatable' in OPTIONS[name as OptionName] ? value : [value];
      return items
        .filter((item) => Array.isArray(item) || parse(String(item)) === undefined)
        .map((item) => `.options.${name}: got ${shown(item)}, expected ${expected}`);
    });
}

function shown(value: unknown): string {
  return withShownUrls(typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
}
