/**
 * A node program in another style: it reads settings from variables and from a TOML file, keys as hex, raw bytes and PEM.
 * Inside it is our node.
 */
import { createPrivateKey } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { encryptKey } from '../../../formats/crypto/keystore.ts';
import { systemRandom } from '../../../formats/random.ts';

const PASSWORD = 'ant';
/** PKCS #8 of an Ed25519 key before its seed. */
const PKCS8_PREFIX = 16;

function env(name: string): string {
  const value = process.env[`ANT_${name}`];
  if (value === undefined) throw new Error(`ANT_${name} is not set`);
  return value;
}

/** Flat tables of texts, numbers, truth values and lists. */
function toml(path: string): Record<string, unknown> {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes(' = '));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(' = ');
      return [line.slice(0, at), JSON.parse(line.slice(at + 3)) as unknown];
    }),
  );
}

function writeKey(home: string, name: string, secret: Uint8Array): void {
  const content = encryptKey(secret, {
    password: PASSWORD,
    random: systemRandom(),
    address: '',
    scrypt: { n: 2, r: 8, p: 1 },
  });
  mkdirSync(join(home, 'inner', 'keys'), { recursive: true });
  writeFileSync(join(home, 'inner', 'keys', `${name}.key`), content);
}

const [command] = process.argv.slice(2);
if (command === '--version') {
  console.log('ant 0.4.2 (test)');
} else if (command === 'help') {
  console.log('options:\n  --bootstrap list\n  --cache number\n  --net number');
} else if (command === 'run') {
  const home = env('HOME');
  const settings = toml(join(home, 'conf', 'ant.toml'));
  const pem = createPrivateKey(readFileSync(join(home, 'identity.pem'), 'utf8'));
  const seed = pem.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_PREFIX);
  writeKey(home, 'swarm', fromHex(readFileSync(join(home, 'account.hex'), 'utf8').trim()));
  writeKey(home, 'pss', readFileSync(join(home, 'messages.bin')));
  writeKey(home, 'libp2p', new Uint8Array(seed));
  const options = {
    'data-dir': join(home, 'inner'),
    password: PASSWORD,
    'api-dialect': 'swarm',
    'api-addr': env('API'),
    'debug-api-enable': true,
    'debug-api-addr': env('DEBUG'),
    'p2p-addr': env('P2P'),
    'nat-addr': env('ADVERTISED'),
    'swap-endpoint': env('RPC'),
    'full-node': env('MODE') !== 'light',
    'network-id': settings['net'],
    bootnode: settings['bootstrap'],
    ...(settings['cache'] === undefined ? {} : { 'cache-capacity': settings['cache'] }),
    'allow-private-cidrs': true,
    'block-time': 1,
    'warmup-time': '200ms',
    'token-address': env('TOKEN'),
    'postage-stamp-address': env('POSTAGE'),
    'postage-stamp-start-block': Number(env('START_BLOCK')),
    'staking-address': env('STAKING'),
    'redistribution-address': env('REDISTRIBUTION'),
    'swap-factory-address': env('FACTORY'),
    'price-oracle-address': env('ORACLE'),
    'swap-enable': env('SWAP') === 'true',
    'swap-initial-deposit': env('DEPOSIT'),
  };
  const config = join(home, 'inner', 'config.yaml');
  writeFileSync(config, JSON.stringify(options));
  process.argv = [process.argv[0] ?? 'node', 'node/main.ts', 'start', '--config', config];
  await import('../../../node/main.ts');
} else {
  console.error(`ant: no command ${command}`);
  process.exitCode = 64;
}
