import { type NodeOptions, OPTIONS, OptionError } from './options.ts';

/** @throws OptionError naming options that exclude each other */
export function checkMode(options: NodeOptions): void {
  checkSwap(options);
  checkCarriers(options);
  if (options['full-node']) return;
  if (options['bootnode-mode'])
    throw new OptionError('--bootnode-mode needs a full node, got --full-node false');
  if (options['reserve-capacity-doubling'] > 0) {
    throw new OptionError('--reserve-capacity-doubling needs a full node, got --full-node false');
  }
}

function checkSwap(options: NodeOptions): void {
  if (!options['swap-enable']) return;
  for (const name of ['swap-factory-address', 'price-oracle-address'] as const) {
    if (options[name] === '')
      throw new OptionError(
        `--swap-enable needs --${name}: ${OPTIONS[name].help}, expected ${OPTIONS[name].expected}`,
      );
  }
}

function checkCarriers(options: NodeOptions): void {
  if (options['p2p-wss-enable']) {
    for (const name of ['p2p-wss-certificate', 'p2p-wss-key'] as const) {
      if (options[name] === '')
        throw new OptionError(`--p2p-wss-enable needs --${name}: ${OPTIONS[name].help}`);
    }
    return;
  }
  if (!options['p2p-tcp-enable'] && !options['p2p-ws-enable']) {
    throw new OptionError(
      '--p2p-tcp-enable false leaves no way to peers: add --p2p-ws-enable or --p2p-wss-enable',
    );
  }
  for (const name of OF_SECURE_WEB_SOCKETS) {
    if (options[name] !== OPTIONS[name].default)
      throw new OptionError(`--${name} has no effect without --p2p-wss-enable`);
  }
}

const OF_SECURE_WEB_SOCKETS = [
  'p2p-wss-addr',
  'nat-wss-addr',
  'p2p-wss-certificate',
  'p2p-wss-key',
  'p2p-wss-authority',
] as const;

const API_TOKENS = ['api-token', 'api-token-file', 'api-read-token', 'api-read-token-file'] as const;
const DEBUG_TOKENS = [...API_TOKENS, 'debug-api-token', 'debug-api-token-file'] as const;
/** Any other name may lead anywhere. */
const LOOPBACK = /^(?:127\.[\d.]+|\[::1\]|(?:.+\.)?localhost):\d+$/i;

/**
 * @throws OptionError for an unprotected API that other machines can reach, or a missing debug API where nothing else serves
 *   its operations
 */
export function checkListening(options: NodeOptions): void {
  if (options['api-data-only'] && !options['debug-api-enable']) {
    throw new OptionError(
      '--api-data-only leaves the operations of the debug API to its own address, and no debug API is enabled: ' +
        'add --debug-api-enable',
    );
  }
  if (options['api-open']) return;
  checkDoor('api-addr', API_TOKENS);
  if (options['debug-api-enable']) checkDoor('debug-api-addr', DEBUG_TOKENS);

  function checkDoor(name: 'api-addr' | 'debug-api-addr', tokens: readonly (keyof NodeOptions)[]): void {
    const address = options[name];
    if (LOOPBACK.test(address) || tokens.some((token) => options[token] !== '')) return;
    throw new OptionError(
      `--${name} ${address} is reachable from other machines without a token, and its API spends the node's money: ` +
        'protect it with --api-token-file, listen on 127.0.0.1, or allow it with --api-open',
    );
  }
}

/** Within a second of its clock, a creditor refuses another refresh. */
const REFRESH_INTERVAL_MIN_MS = 1000;
/** Of the refresh rate; a lower threshold is refused without a configured minimum. */
const THRESHOLD_MINIMUM_S = 2;
/** Steps to a chunk that shares no bit. */
const PROXIMITY_STEPS = 32;

/** @throws OptionError for amounts with which equal nodes refuse or starve each other */
export function checkPayments(options: NodeOptions): void {
  const threshold = options['payment-threshold'];
  const rate = options['refresh-rate'];
  const minimum = options['payment-threshold-minimum'] || rate * THRESHOLD_MINIMUM_S;
  if (threshold < minimum) {
    throw new OptionError(
      `--payment-threshold ${threshold} is refused by peers with the same options, expected at least ${minimum} ` +
        '(--payment-threshold-minimum, or twice --refresh-rate)',
    );
  }
  const factor = options['light-factor'];
  if (rate < factor) {
    throw new OptionError(
      `--refresh-rate ${rate} leaves nothing for light peers, expected at least ${factor} (--light-factor)`,
    );
  }
  const price = options['chunk-price'] * PROXIMITY_STEPS;
  const granted = options['full-node'] ? threshold : threshold / factor;
  if (price > granted) {
    throw new OptionError(
      `--chunk-price ${options['chunk-price']} makes a chunk cost up to ${price}, expected at most ${granted}, ` +
        'which this node may owe (--payment-threshold, at a light node by --light-factor)',
    );
  }
  const [step, linear] = [options['threshold-growth-step'], options['threshold-growth-linear']];
  if (linear < step) {
    throw new OptionError(
      `--threshold-growth-linear ${linear}: expected at least ${step} (--threshold-growth-step)`,
    );
  }
  if (options['refresh-interval'] < REFRESH_INTERVAL_MIN_MS) {
    throw new OptionError(
      `--refresh-interval ${options['refresh-interval']}ms: expected at least 1s, peers refuse to be refreshed more often`,
    );
  }
}
