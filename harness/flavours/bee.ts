/**
 * A real Bee of any version, configured with only the options that it knows. Sources: contracts.md 2.1 and 12,
 * node-behaviour.md 1 and 14.
 */
import { existsSync } from 'node:fs';
import { encryptKey } from '../../formats/crypto/keystore.ts';
import { systemRandom } from '../../formats/random.ts';
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import type { NodeClient } from '../client/node-client.ts';
import { beeOptions, imageOptions, knownOptions } from './bee-binary.ts';
import { p256Identity } from './bee-keys.ts';
import { loopbackNamed } from './declared/values.ts';
import type { Flavour, NodePlan, PlannedFile } from './flavour.ts';
import { AUTHORITY_FILE, beeCarrierFiles, beeCarrierOptions, multiaddress } from './underlays.ts';

/** The keys follow from the seed, so the password protects nothing. */
const PASSWORD = 'svcnet';
/** The cheapest that the format allows: start-up time instead of secrecy. */
const SCRYPT = { n: 2, r: 8, p: 1 } as const;
const CONFIG_FILE = 'config.yaml';
const JAEGER_PORT = 6831;
/** Its API closes within 15 s, its workers within 10 s. */
const STOP_GRACE_MS = 30_000;
/** 20 s after a failed dial, at the next of its rounds, 15 s apart. */
const REDIAL_MS = 35_000;

/** Time from the first peer to the first check of the network; Bee's default: five minutes. */
const WARMUP_TIME = { fast: '1s', production: '5s' } as const;

const DEFAULTS = {
  // Loopback counts as private: without this it would announce no address.
  'allow-private-cidrs': true,
  'block-sync-interval': 1,
  'skip-postage-snapshot': true,
  'neighborhood-suggester': '',
  'resolver-options': [],
  'storage-incentives-enable': false,
} as const;

const OWN_OPTIONS = [
  'data-dir',
  'password',
  'full-node',
  'bootnode-mode',
  'mainnet',
  'network-id',
  'api-addr',
  'p2p-addr',
  'nat-addr',
  'bootnode',
  'blockchain-rpc-endpoint',
  'block-time',
  'bzz-token-address',
  'postage-stamp-address',
  'postage-stamp-start-block',
  'staking-address',
  'redistribution-address',
  'swap-factory-address',
  'swap-initial-deposit',
  'price-oracle-address',
] as const;

export const beeFlavour: Flavour = {
  name: 'bee',
  dialect: 'swarm',
  modes: ['full', 'light', 'boot'],
  reserved: [
    ...OWN_OPTIONS,
    'p2p-ws-enable',
    'p2p-wss-enable',
    'p2p-wss-addr',
    'nat-wss-addr',
    'autotls-domain',
    'autotls-ca-endpoint',
    'autotls-registration-endpoint',
    'config',
    'password-file',
    'static-nodes',
  ],
  binaryVariable: 'SVCNET_BEE_BINARY',
  public: true,
  debugApi: false,
  // It never uses a bootnode of its own as a peer, neither for pushes nor for retrievals.
  bootstraps: false,
  takesLinks: false,
  takesRecords: false,
  learnsListeners: true,
  adoptsChequebook: false,
  watchesParent: false,
  stored: ['localstore'],
  redialMs: REDIAL_MS,
  stopGraceMs: STOP_GRACE_MS,

  async check({ where, binary, image, options, runImage }) {
    if (image !== undefined && runImage === undefined) return;
    const known =
      image === undefined || runImage === undefined
        ? await beeOptions(programOf({ binary }), where)
        : await imageOptions(image, where, runImage);
    const unknown = Object.keys(options).find((name) => !known.has(name));
    if (unknown === undefined) return;
    throw new HarnessError(
      'DEFINITION_INVALID',
      `${where}.options: ${image ?? binary} knows no option '${unknown}'${suggestion(unknown, [...known])}`,
    );
  },

  async files(plan) {
    return [
      ...keyFiles(plan),
      ...beeCarrierFiles(plan),
      { path: CONFIG_FILE, content: await configFile(plan) },
    ];
  },

  command: ({ dataDir, binary }) => ({
    file: programOf({ binary }),
    args: ['start', '--config', `${dataDir}/${CONFIG_FILE}`],
    // Whom a program in Go trusts.
    env: existsSync(`${dataDir}/${AUTHORITY_FILE}`) ? { SSL_CERT_FILE: `${dataDir}/${AUTHORITY_FILE}` } : {},
  }),

  containerCommand: ({ dataDir }) => ({ args: ['start', '--config', `${dataDir}/${CONFIG_FILE}`], env: {} }),

  linkKey: ({ keys }) => p256Identity(keys.libp2p).pem,

  underlay: ({ identity, port, host }) =>
    multiaddress({ host, port, peerId: p256Identity(identity.keys.libp2p).peerId }),

  lacking,
};

function programOf({ binary }: { binary?: string | undefined }): string {
  if (binary === undefined) throw new TypeError('a Bee is planned with its program');
  return binary;
}

/** A raw scalar for account and messages, and DER for libp2p (node-behaviour.md 1.7). */
function keyFiles({ identity }: NodePlan): PlannedFile[] {
  const libp2p = p256Identity(identity.keys.libp2p);
  const files = [
    { name: 'swarm', secret: identity.keys.swarm, address: identity.ethereum },
    { name: 'libp2p_v2', secret: libp2p.secret, address: libp2p.address },
    { name: 'pss', secret: identity.keys.pss, address: '' },
  ];
  const random = systemRandom();
  return files.map(({ name, secret, address }) => ({
    path: `keys/${name}.key`,
    content: encryptKey(secret, { password: PASSWORD, random, address, scrypt: SCRYPT }),
  }));
}

/** These options of a definition would point the node outside its cluster. */
function ownOptions(plan: NodePlan): Record<(typeof OWN_OPTIONS)[number], unknown> {
  const { network, listen, ports } = plan;
  const { contracts } = network;
  return {
    'data-dir': plan.dataDir,
    password: PASSWORD,
    'full-node': plan.mode !== 'light',
    'bootnode-mode': plan.mode === 'boot',
    mainnet: false,
    'network-id': network.networkId,
    'api-addr': `${listen}:${ports.api}`,
    'p2p-addr': `${listen}:${ports.p2p}`,
    'nat-addr': loopbackNamed(plan.advertised ?? ''),
    // A full node as a bootnode would be lost as a peer.
    bootnode: network.dedicatedBootnodes ? network.bootnodes : [],
    'blockchain-rpc-endpoint': network.rpc,
    'block-time': network.blockTimeMs / 1000,
    'bzz-token-address': contracts.token,
    'postage-stamp-address': contracts.postageStamp,
    'postage-stamp-start-block': network.startBlock,
    'staking-address': contracts.stakeRegistry,
    'redistribution-address': contracts.redistribution,
    'swap-initial-deposit': network.swap === false ? '0' : network.swap.deposit.toString(),
    'swap-factory-address': contracts.chequebookFactory,
    'price-oracle-address': contracts.swapPriceOracle,
  };
}

/** Up to 2.8.1 traces go over UDP to a Jaeger agent on the receiver's host; later versions send OTLP. */
function tracingOptions({ name, otlp }: NodePlan, known: ReadonlySet<string>): Record<string, unknown> {
  if (otlp === undefined) return {};
  const { protocol, hostname, host } = new URL(otlp.includes('://') ? otlp : `http://${otlp}`);
  return {
    'tracing-enable': true,
    'tracing-service-name': name,
    'tracing-endpoint': known.has('tracing-protocol') ? host : `${hostname}:${JAEGER_PORT}`,
    'tracing-insecure': protocol === 'http:',
  };
}

/** The definition's options were checked before; of the others, those that the program lacks are left out. */
async function configFile(plan: NodePlan): Promise<string> {
  const known = await (plan.image === undefined ? beeOptions(programOf(plan)) : knownOptions(plan.image));
  const options: Record<string, unknown> = {
    ...DEFAULTS,
    'warmup-time': WARMUP_TIME[plan.profile],
    'swap-enable': plan.network.swap !== false,
    ...(plan.cors.length === 0 ? {} : { 'cors-allowed-origins': plan.cors }),
    ...tracingOptions(plan, known),
    ...plan.options,
    ...beeCarrierOptions(plan),
    ...ownOptions(plan),
  };
  const lines = Object.entries(options)
    .filter(([name]) => known.has(name))
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `${lines.join('\n')}\n`;
}

/**
 * After its warm-up a Bee asks full peers for their status; uploads and downloads hang until one answers (node-behaviour.md
 * 1.5). Its metrics count the answers.
 */
async function lacking(client: NodeClient, signal: AbortSignal): Promise<string | undefined> {
  if ((await client.status(signal)).isWarmingUp) return 'is warming up';
  const judged = (await client.metrics(signal)).matchAll(/^bee_salud_(?:un)?healthy (\S+)$/gm);
  const peers = [...judged].reduce((sum, [, count]) => sum + Number(count), 0);
  return peers > 0 ? undefined : 'has had no status of a full peer';
}
