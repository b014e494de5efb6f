import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VERSION } from '../../../formats/version.ts';
import { parseOptionFile } from '../../../node/option-file.ts';
import { resolveOptions } from '../../../node/option-sources.ts';
import {
  describeOptions,
  environmentName,
  OPTIONS,
  OptionError,
  optionNames,
} from '../../../node/options.ts';

const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const REQUIRED = [
  '--swap-endpoint',
  'http://127.0.0.1:8545',
  '--token-address',
  CONTRACT,
  '--postage-stamp-address',
  CONTRACT,
];

function resolve(argv: string[], environment: Record<string, string> = {}, file?: unknown) {
  return resolveOptions([...REQUIRED, ...argv], environment, () => file);
}

function failure(argv: string[], environment: Record<string, string> = {}, file?: unknown): string {
  try {
    resolve(argv, environment, file);
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return (error as Error).message;
  }
  throw new Error('expected an OptionError');
}

test('a flag overrides the environment, which overrides the file, which overrides the default', () => {
  const file = { 'block-time': 7, 'network-id': 9, verbosity: 'warn' };
  const options = resolve(
    ['--config', 'f', '--block-time', '2'],
    { SVC_BLOCK_TIME: '3', SVC_NETWORK_ID: '8' },
    file,
  );
  expect(options['block-time']).toBe(2);
  expect(options['network-id']).toBe(8);
  expect(options.verbosity).toBe('warn');
  expect(options['usable-blocks']).toBe(10);
});

test('a missing required option is reported with its help text', () => {
  expect(() => resolveOptions([], {}, () => ({}))).toThrow(/--swap-endpoint is required: JSON-RPC endpoint/);
});

test('an unknown flag is reported with its nearest match', () => {
  expect(failure(['--api-adr', 'x'])).toBe('unknown option --api-adr, did you mean api-addr?');
  expect(failure(['--zzzzzzzzzzzzz', 'x'])).toBe('unknown option --zzzzzzzzzzzzz');
});

test('an unknown key of the file is reported with the file and its nearest match', () => {
  expect(failure(['--config', 'node.yaml'], {}, { verbosty: 'info' })).toBe(
    'unknown option node.yaml: verbosty, did you mean verbosity?',
  );
});

test.each([
  [['--block-time', 'soon'], "--block-time: got 'soon', expected a number from 0.001 to 3600"],
  [['--block-time', '-1'], "--block-time: got '-1', expected a number from 0.001 to 3600"],
  [['--verbosity=loud'], "--verbosity: got 'loud', expected one of silent, error, warn, info, debug, trace"],
  [
    ['--api-addr', '127.0.0.1'],
    "--api-addr: got '127.0.0.1', expected host:port, for example 127.0.0.1:1633",
  ],
  [
    ['--api-addr', '127.0.0.1:99999'],
    "--api-addr: got '127.0.0.1:99999', expected host:port, for example 127.0.0.1:1633",
  ],
  [['--nat-addr', 'here'], "--nat-addr: got 'here', expected host:port, for example 127.0.0.1:1633"],
  [
    ['--bootnode', '/ip4/1.1.1.1,boot'],
    "--bootnode: got '/ip4/1.1.1.1,boot', expected a multiaddress, for example /ip4/127.0.0.1/tcp/1634/p2p/12D3…",
  ],
  [
    ['--cors-allowed-origins', 'localhost'],
    "--cors-allowed-origins: got 'localhost', expected an origin, for example http://localhost:3000, or *",
  ],
  [['--token-address', '0x12'], "--token-address: got '0x12', expected 0x and 40 hex digits"],
  ...['ftp://x', 'http://me:100%@x', 'http://100%:me@x', 'http://me:%ff@x'].map((url): [string[], string] => [
    ['--swap-endpoint', url],
    `--swap-endpoint: got '${url.replace(/\/[^/]*@x/, '/x/…')}', expected an http:// or https:// URL, with %25 for a % in its user or password`,
  ]),
  [
    ['--chain-poll-interval', '5'],
    "--chain-poll-interval: got '5', expected a duration such as 500ms, 15s or 1m30s, at least 1ms",
  ],
  [
    ['--swap-enable'],
    '--swap-enable needs --swap-factory-address: chequebook factory contract, expected 0x and 40 hex digits',
  ],
  [
    ['--swap-initial-deposit', '1.5'],
    "--swap-initial-deposit: got '1.5', expected a whole number of at most 78 digits",
  ],
  [
    ['--tracing-endpoint', '127.0.0.1'],
    "--tracing-endpoint: got '127.0.0.1', expected host:port, or an http:// or https:// URL",
  ],
  [
    ['--tracing-endpoint', '127.0.0.1:99999'],
    "--tracing-endpoint: got '127.0.0.1:99999', expected host:port, or an http:// or https:// URL",
  ],
  [
    ['--tracing-endpoint', 'grpc://127.0.0.1:4317'],
    "--tracing-endpoint: got 'grpc://127.0.0.1:4317', expected host:port, or an http:// or https:// URL",
  ],
  [['--tracing-sampling-ratio', '1.5'], "--tracing-sampling-ratio: got '1.5', expected a number from 0 to 1"],
  [['--tracing-sampling-ratio', 'all'], "--tracing-sampling-ratio: got 'all', expected a number from 0 to 1"],
  [['--data-dir'], '--data-dir needs a value: text'],
  [['start'], "unexpected argument 'start', expected --name value"],
])('%j is refused with the value given and the value expected', (argv, message) => {
  expect(failure(argv)).toBe(message);
});

test('an error names the environment variable or the file of an invalid value', () => {
  expect(failure([], { SVC_USABLE_BLOCKS: 'x' })).toMatch(/^SVC_USABLE_BLOCKS: got 'x'/);
  expect(failure(['--config', 'n.yaml'], {}, { 'usable-blocks': { a: 1 } })).toMatch(
    /^n\.yaml: usable-blocks: got \{"a":1\}/,
  );
  expect(failure(['--config', 'n.yaml'], {}, ['a'])).toBe('n.yaml: expected a map of option names to values');
});

test.each(['true', 'True', 'TRUE', 'false', 'False', 'FALSE'])(
  "'%s' is a truth value everywhere",
  (given) => {
    const file = parseOptionFile(`full-node: ${given}`);
    const expected = given.toLowerCase() === 'true';
    const environment = { SVC_FULL_NODE: String(!expected) };
    expect(resolve(['--config', 'f'], {}, file)['full-node']).toBe(expected);
    expect(resolve([], { SVC_FULL_NODE: given })['full-node']).toBe(expected);
    expect(resolve(['--full-node', given], environment)['full-node']).toBe(expected);
  },
);

test('a flag without a value means true, and a repeatable option collects values', () => {
  const options = resolve([
    '--debug-api-enable',
    '--bootnode',
    '/ip4/1.1.1.1',
    '--bootnode',
    '/ip4/2.2.2.2,/ip4/3.3.3.3',
  ]);
  expect(options['debug-api-enable']).toBe(true);
  expect(options.bootnode).toEqual(['/ip4/1.1.1.1', '/ip4/2.2.2.2', '/ip4/3.3.3.3']);
  expect(resolve(['--debug-api-enable', 'false'])['debug-api-enable']).toBe(false);
});

test.each([
  [['--p2p-wss-enable'], '--p2p-wss-enable needs --p2p-wss-certificate: file of the certificate'],
  [['--p2p-wss-enable', '--p2p-wss-certificate', 'a.pem'], '--p2p-wss-enable needs --p2p-wss-key: file of'],
  [['--p2p-tcp-enable', 'false'], '--p2p-tcp-enable false leaves no way to peers: add --p2p-ws-enable'],
  [['--p2p-wss-certificate', 'a.pem'], '--p2p-wss-certificate has no effect without --p2p-wss-enable'],
  [['--p2p-wss-key', 'a.pem'], '--p2p-wss-key has no effect without --p2p-wss-enable'],
  [['--p2p-wss-authority', 'a.pem'], '--p2p-wss-authority has no effect without --p2p-wss-enable'],
  [['--p2p-wss-addr', '127.0.0.1:1'], '--p2p-wss-addr has no effect without --p2p-wss-enable'],
  [['--nat-wss-addr', 'a:1', '--p2p-ws-enable'], '--nat-wss-addr has no effect without --p2p-wss-enable'],
])('%j is refused', (flags, message) => {
  expect(failure(flags)).toContain(message);
});

test('peers may be named by WebSocket addresses', () => {
  const addresses = [
    '/ip4/127.0.0.1/tcp/1634/ws/p2p/12D3KooW',
    '/ip4/127.0.0.1/tcp/1635/tls/sni/node.example/ws/p2p/12D3KooW',
    '/dns4/node.example/tcp/443/wss/p2p/12D3KooW',
  ];
  const options = resolve(['--bootnode', addresses.join(), '--only-peers', addresses.join()]);
  expect(options.bootnode).toEqual(addresses);
  expect(options['only-peers']).toEqual(addresses);
  expect(failure(['--bootnode', '/ip4/127.0.0.1/tcp/1634/ws/p2p'])).toContain('expected a multiaddress');
  expect(failure(['--bootnode', `/${'ws/'.repeat(1000)}x`])).toContain('expected a multiaddress');
});

test('user and password of an endpoint may be escaped', () => {
  const url = 'http://m%C3%A9:100%25@127.0.0.1:8545/?key=100%';
  expect(resolve(['--swap-endpoint', url])['swap-endpoint']).toBe(url);
});

test('durations are milliseconds', () => {
  expect(resolve(['--chain-poll-interval', '250ms'])['chain-poll-interval']).toBe(250);
  expect(resolve(['--chain-poll-interval', '1.5s'])['chain-poll-interval']).toBe(1500);
});

test('a duration is at least a millisecond, except where none at all makes sense', () => {
  const durations = optionNames().filter(
    (name) => 'unit' in OPTIONS[name] && OPTIONS[name].unit === 'duration',
  );
  const takenFrom = (value: string) => durations.filter((name) => OPTIONS[name].parse(value) !== undefined);
  expect(takenFrom('0s')).toEqual(['payment-retry-pause', 'warmup-time']);
  expect(takenFrom('0.4ms')).toEqual(['payment-retry-pause', 'warmup-time']);
  expect(takenFrom('1ms')).toEqual(durations);
  for (const name of takenFrom('0s')) expect(OPTIONS[name].expected).not.toContain('at least');
});

test('a trace collector is a URL, or host:port as on nodes of the public network', () => {
  expect(resolve(['--tracing-endpoint', 'collector:4318'])['tracing-endpoint']).toBe('http://collector:4318');
  expect(resolve(['--tracing-endpoint', 'https://a/b'])['tracing-endpoint']).toBe('https://a/b');
});

test.each([
  ['0', 0],
  ['1', 1],
  ['1.0', 1],
  ['0.25', 0.25],
  ['.5', 0.5],
])('a part of the traces: %s', (given, ratio) => {
  expect(resolve(['--tracing-sampling-ratio', given])['tracing-sampling-ratio']).toBe(ratio);
});

test('every default is a value that the option itself accepts', () => {
  for (const name of optionNames()) {
    const fallback = OPTIONS[name].default;
    if (fallback === undefined || Array.isArray(fallback) || fallback === '') continue;
    const isDuration = 'unit' in OPTIONS[name] && OPTIONS[name].unit === 'duration';
    const shown = isDuration ? `${String(fallback)}ms` : String(fallback);
    expect(OPTIONS[name].parse(shown), name).toEqual(fallback);
  }
});

test('the reference has every option with its variable, default and unit', () => {
  const shown = readFileSync(new URL('../../../docs/reference/node-options.md', import.meta.url), 'utf8');
  for (const row of describeOptions()) {
    const unit = row.unit === '' ? '' : ` (${row.unit})`;
    expect(shown).toContain(
      `| \`${row.name}\` | \`${environmentName(row.name)}\` | ${row.default} | ${row.help}${unit} |`,
    );
  }
});

test('the version matches package.json', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect(VERSION).toBe(manifest.version);
});

test.each([
  [['--bootnode-mode'], '--bootnode-mode needs a full node, got --full-node false'],
  [
    ['--reserve-capacity-doubling', '1'],
    '--reserve-capacity-doubling needs a full node, got --full-node false',
  ],
])('a light node cannot have %j', (flags, message) => {
  expect(failure(['--full-node', 'false', ...flags])).toBe(message);
  expect(resolve(flags)['full-node']).toBe(true);
});

test.each([
  [
    ['--payment-threshold', '8999999'],
    '--payment-threshold 8999999 is refused by peers with the same options, expected at least 9000000 ' +
      '(--payment-threshold-minimum, or twice --refresh-rate)',
  ],
  [
    ['--payment-threshold-minimum', '13500001'],
    '--payment-threshold 13500000 is refused by peers with the same options, expected at least 13500001 ' +
      '(--payment-threshold-minimum, or twice --refresh-rate)',
  ],
  [
    ['--refresh-rate', '9'],
    '--refresh-rate 9 leaves nothing for light peers, expected at least 10 (--light-factor)',
  ],
  [
    ['--chunk-price', '421876'],
    '--chunk-price 421876 makes a chunk cost up to 13500032, expected at most 13500000, which this node may owe ' +
      '(--payment-threshold, at a light node by --light-factor)',
  ],
  [
    ['--chunk-price', '42188', '--full-node', 'false'],
    '--chunk-price 42188 makes a chunk cost up to 1350016, expected at most 1350000, which this node may owe ' +
      '(--payment-threshold, at a light node by --light-factor)',
  ],
  [
    ['--threshold-growth-step', '2000'],
    '--threshold-growth-linear 1800: expected at least 2000 (--threshold-growth-step)',
  ],
  [
    ['--refresh-interval', '999ms'],
    '--refresh-interval 999ms: expected at least 1s, peers refuse to be refreshed more often',
  ],
])('payments that cannot work are refused: %j', (argv, message) => {
  expect(failure(argv)).toBe(message);
});

test.each([
  [['--payment-threshold', '1000000', '--refresh-rate', '500000']],
  [['--payment-threshold', '8999999', '--payment-threshold-minimum', '1']],
  [['--refresh-rate', '9', '--light-factor', '9']],
  [['--chunk-price', '421875']],
  [['--refresh-interval', '1s']],
])('payments that can work are accepted: %j', (argv) => {
  expect(() => resolve(argv)).not.toThrow();
});

test.each([
  ['--api-addr', '0.0.0.0:1633'],
  ['--api-addr', '[::]:1633'],
  ['--api-addr', '192.168.1.7:1633'],
  ['--api-addr', 'storage.example:1633'],
  ['--api-addr', 'localhost.example:1633'],
  ['--debug-api-addr', '0.0.0.0:1635'],
])('%s %s without a token is refused with a remedy, in both dialects', (flag, address) => {
  for (const dialect of ['svc', 'swarm']) {
    const given = [flag, address, '--debug-api-enable', '--api-dialect', dialect];
    const message = failure(given);
    expect(message).toContain(`${flag} ${address} is reachable from other machines without a token`);
    for (const way of ['--api-token-file', '127.0.0.1', '--api-open']) expect(message).toContain(way);
    expect(() => resolve([...given, '--api-open'])).not.toThrow();
    for (const name of ['api-token', 'api-read-token']) {
      expect(() => resolve([...given, `--${name}`, 'a-token-of-16-and-more'])).not.toThrow();
      expect(() => resolve([...given, `--${name}-file`, '/run/token'])).not.toThrow();
    }
  }
});

test('an API that serves only data needs the debug API', () => {
  expect(failure(['--api-data-only'])).toBe(
    '--api-data-only leaves the operations of the debug API to its own address, and no debug API is enabled: ' +
      'add --debug-api-enable',
  );
  expect(failure(['--api-data-only', '--api-open'])).toContain('add --debug-api-enable');
  expect(resolve(['--api-data-only', '--debug-api-enable'])['api-data-only']).toBe(true);
});

test.each(['127.0.0.1:1633', '127.8.8.8:1', '[::1]:1633', 'localhost:1633', 'a.localhost:0'])(
  'an API at %s needs no token',
  (address) => {
    expect(() => resolve(['--api-addr', address])).not.toThrow();
  },
);

test('the token of the debug API protects only the debug API', () => {
  const token = ['--debug-api-token', 'a-token-of-16-and-more', '--debug-api-enable'];
  expect(() => resolve([...token, '--debug-api-addr', '0.0.0.0:1635'])).not.toThrow();
  expect(failure([...token, '--api-addr', '0.0.0.0:1633'])).toContain('--api-addr 0.0.0.0:1633');
  expect(() => resolve(['--debug-api-addr', '0.0.0.0:1635'])).not.toThrow();
});

test.each(['short', 'with space in the middle', 'ümlaut-ümlaut-ümlaut', 'x'.repeat(513)])(
  "a token such as '%s' is refused without being disclosed",
  (token) => {
    const messages = [
      failure(['--api-token', token]),
      failure([], { SVC_API_READ_TOKEN: token }),
      failure(['--config', 'f'], {}, { 'debug-api-token': token }),
      failure(['--config', 'f'], {}, { 'debug-api-token': [token] }),
    ];
    for (const message of messages) {
      expect(message).toContain('expected 16 to 512 letters');
      expect(message).not.toContain(token);
    }
  },
);

test.each(['storage.example:1633', 'http://storage.example', 'a b', '-a', 'a..b'])(
  "'%s' is not a host name",
  (name) => {
    expect(failure(['--allowed-hosts', name])).toContain('expected a host name without a port');
  },
);
