import { createHash } from 'node:crypto';
import { encryptKey } from '../../formats/crypto/keystore.ts';
import type { Flavour, NodeKeys, NodePlan, NodePorts, PlannedFile } from './flavour.ts';
import { NODE_READINESS_PATH, probe } from './inside-image.ts';
import { ed25519Identity } from './svc-keys.ts';
import {
  CREDIT_OPTIONS,
  type OWN_OPTIONS,
  optionMistakes,
  PROFILE_OPTIONS,
  RESERVED_OPTIONS,
} from './svc-options.ts';
import { svcContainer, svcProgram, tamperedProgram } from './svc-program.ts';
import { isTampered, TAMPERED_FILE } from './tampered/settings.ts';
import { carrierFiles, carrierOptions, multiaddress, ownSuffix } from './underlays.ts';

/** The keys follow from the seed, so the password protects nothing. */
const PASSWORD = 'svcnet';
const SCRYPT = { n: 2, r: 8, p: 1 } as const;
const CONFIG_FILE = 'config.yaml';
const STOP_GRACE_MS = 10_000;

export const svcFlavour = {
  name: 'svc',
  modes: ['full', 'light', 'boot'],
  reserved: RESERVED_OPTIONS,
  optionMistakes,
  public: false,
  debugApi: true,
  bootstraps: true,
  takesLinks: true,
  takesRecords: true,
  learnsListeners: false,
  adoptsChequebook: true,
  watchesParent: true,
  stored: ['store'],
  stopGraceMs: STOP_GRACE_MS,
  files: (plan: NodePlan) => svcFiles(plan),
  forgetPeers: (dataDirs: readonly string[]) => svcProgram('forget-peers', ...dataDirs),
  embedded: (plan: NodePlan) => ({ options: optionsOf(plan), keys: plan.identity.keys }),
  compile: (machineFaults: boolean) => (machineFaults ? tamperedProgram : svcProgram)('compile'),
  command: ({ dataDir }: { dataDir: string }) => {
    const program = isTampered(dataDir) ? tamperedProgram : svcProgram;
    return program(...startArguments(dataDir));
  },
  containerCommand: ({ dataDir, apiPort }: { dataDir: string; apiPort: number }) => ({
    ...svcContainer(...startArguments(dataDir)),
    health: probe(apiPort, NODE_READINESS_PATH),
  }),
  linkKey: ({ keys }: NodeKeys) => ed25519Identity(keys.libp2p).pem,
  underlay: ({ identity: { peerId }, port, host, underlays }: Parameters<Flavour['underlay']>[0]) =>
    multiaddress({ host, port, peerId, suffix: ownSuffix(underlays, peerId, host) }),
} satisfies Flavour;

export function startArguments(dataDir: string): string[] {
  return ['start', '--config', `${dataDir}/${CONFIG_FILE}`];
}

/** @param known options that the program takes; undefined: all */
export function svcFiles(plan: NodePlan, known?: ReadonlySet<string>): PlannedFile[] {
  return [
    ...keyFiles(plan.identity),
    ...carrierFiles(plan),
    { path: CONFIG_FILE, content: configFile(plan, known) },
    ...(plan.tampered === undefined ? [] : [{ path: TAMPERED_FILE, content: JSON.stringify(plan.tampered) }]),
  ];
}

function keyFiles(identity: NodeKeys): PlannedFile[] {
  return (['swarm', 'libp2p', 'pss'] as const).map((kind) => ({
    path: `keys/${kind}.key`,
    content: encryptKey(identity.keys[kind], {
      password: PASSWORD,
      random: { bytes: bytesFrom(identity.keys[kind]) },
      address: kind === 'swarm' ? identity.ethereum : '',
      scrypt: SCRYPT,
    }),
  }));
}

/** Salts from the key: the same network gets the same files. */
function bytesFrom(key: Uint8Array): (length: number) => Uint8Array {
  let drawn = 0;
  return (length) => {
    const hash = createHash('shake256', { outputLength: length }).update(`salt ${drawn++}`).update(key);
    return new Uint8Array(hash.digest());
  };
}

function ownOptions(plan: NodePlan): Record<(typeof OWN_OPTIONS)[number], unknown> {
  const { network } = plan;
  const address = (which: keyof NodePorts) => `${plan.listen}:${plan.ports[which]}`;
  return {
    'data-dir': plan.dataDir,
    password: PASSWORD,
    'node-name': plan.name,
    'api-addr': address('api'),
    'p2p-addr': address('p2p'),
    'debug-api-enable': true,
    'debug-api-addr': address('debug'),
    // Test networks hold test money, and a definition says where they listen.
    'api-open': !plan.listen.startsWith('127.'),
    'nat-addr': plan.advertised ?? '',
    'api-dialect': plan.dialect,
    'swap-endpoint': network.rpc,
    'full-node': plan.mode !== 'light',
    'bootnode-mode': plan.mode === 'boot',
    'network-id': network.networkId,
    'token-address': network.contracts.token,
    'postage-stamp-address': network.contracts.postageStamp,
    'postage-stamp-start-block': network.startBlock,
    'staking-address': network.contracts.stakeRegistry,
    'redistribution-address': network.contracts.redistribution,
    bootnode: network.bootnodes,
    'peer-records': network.peerRecords ?? '',
    'only-peers': network.onlyPeers ?? [],
    'dedicated-bootnodes': network.dedicatedBootnodes,
    'swap-factory-address': network.contracts.chequebookFactory,
    'price-oracle-address': network.contracts.swapPriceOracle,
    'chequebook-address': plan.chequebook ?? '',
  };
}

function optionsOf(plan: NodePlan): Record<string, unknown> {
  return {
    'allow-private-cidrs': true,
    // Blocks mined on demand have no interval; tests are near one second.
    'block-time': plan.network.blockTimeMs === 0 ? 1 : Math.max(1, plan.network.blockTimeMs) / 1000,
    ...PROFILE_OPTIONS[plan.profile],
    ...CREDIT_OPTIONS[plan.network.credit],
    // Boot nodes too, as on the public network.
    'swap-enable': plan.network.swap !== false,
    // The testbed buys the first batches itself, without a label.
    'found-batch-label': '',
    ...(plan.cors.length === 0 ? {} : { 'cors-allowed-origins': plan.cors }),
    ...(plan.otlp === undefined ? {} : { 'tracing-enable': true, 'tracing-endpoint': plan.otlp }),
    ...plan.options,
    ...allowedHosts(plan),
    ...carrierOptions(plan),
    ...ownOptions(plan),
  };
}

function allowedHosts({ allowedHosts: known, options }: NodePlan): { 'allowed-hosts'?: readonly unknown[] } {
  const hosts = [...known, ...[options['allowed-hosts'] ?? []].flat()];
  return hosts.length === 0 ? {} : { 'allowed-hosts': hosts };
}

/** JSON is YAML; a node reads it without a parser. */
function configFile(plan: NodePlan, known: ReadonlySet<string> | undefined): string {
  const options = Object.entries(optionsOf(plan)).filter(([name]) => known?.has(name) ?? true);
  return `${JSON.stringify(Object.fromEntries(options), undefined, 2)}\n`;
}
