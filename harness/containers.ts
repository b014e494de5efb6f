/**
 * Prepares a containerised network: writes what its chain and its nodes read at their start, before any of them runs.
 * All of it follows from the seed, so nothing has to be asked from a running chain. `docker-compose.yml` runs this
 * once, on the volume that all containers share:
 *
 *   FOLDER/chain.json            options document of `chain/main.ts`
 *   FOLDER/node-0/config.yaml    options of `node/main.ts`, with its key files beside it
 *   FOLDER/env                   batch ids, ready to use in a shell
 *
 * The chain of a containerised network lives in memory only, so whatever nodes kept of an earlier one is removed.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createAccount } from '../chain/account.ts';
import { chequebookAddress, chequebookSalt } from '../chain/deployment/chequebooks.ts';
import { batchId, contractAddresses, START_BLOCK } from '../chain/deployment/deploy.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../chain/local-chain.ts';
import { exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import { nodeName } from './cluster/node-setup.ts';
import { svcFlavour } from './flavours/svc.ts';
import { chainOptions } from './plan/chain-options.ts';
import { creditOf, parseDefinition } from './plan/definition.ts';
import { deriveNode, type NodeIdentity } from './plan/seed.ts';

/** Every container has its own address, so all nodes take the same ports. */
const NODE_PORTS = { api: 1633, p2p: 1634, debug: 1635 } as const;
const CHAIN_PORTS = { rpc: 8545, control: 8546 } as const;
/** All interfaces: a container's neighbours come from outside. */
const LISTEN = '0.0.0.0';
const BOOTNODES = 3;

interface ContainerPlan {
  /** Folder as the containers see it. */
  readonly folder: string;
  readonly nodes: number;
  readonly seed: bigint;
}

/** @throws HarnessError `DEFINITION_INVALID`, `USAGE` when the folder cannot be written */
function prepareContainers({ folder, nodes, seed }: ContainerPlan): void {
  const definition = parseDefinition({ nodes, seed }, 'containers');
  const { networkId, chainId, blockTime } = definition.chain;
  const identities = Array.from({ length: nodes }, (_, index) => deriveNode({ seed, index, networkId }));
  const deployer = createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey);
  const contracts = contractAddresses(deployer);
  const chain = chainOptions(definition, seed, identities);
  const document = {
    ...chain,
    chainId,
    host: LISTEN,
    port: CHAIN_PORTS.rpc,
    controlPort: CHAIN_PORTS.control,
  };
  clear(folder);
  write(join(folder, 'chain.json'), `${JSON.stringify(document, undefined, 2)}\n`);
  const underlays = identities.map((identity, index) =>
    svcFlavour.underlay({ identity, port: NODE_PORTS.p2p, host: nodeName(index) }),
  );
  for (const [index, identity] of identities.entries()) {
    const dataDir = join(folder, nodeName(index));
    const plan = {
      name: nodeName(index),
      mode: 'full' as const,
      identity,
      ports: NODE_PORTS,
      listen: LISTEN,
      profile: definition.profile,
      options: {},
      dataDir,
      chequebook: chequebookAddress({
        factory: contracts.chequebookFactory,
        sender: deployer.address,
        salt: chequebookSalt(index),
      }),
      network: {
        networkId,
        rpc: `http://chain:${CHAIN_PORTS.rpc}`,
        contracts,
        startBlock: START_BLOCK,
        blockTimeMs: blockTime,
        bootnodes: underlays.slice(0, BOOTNODES).filter((_, boot) => boot !== index),
        dedicatedBootnodes: false,
        credit: creditOf(definition),
        swap: definition.swap,
      },
    };
    for (const { path, content } of svcFlavour.files(plan)) write(join(dataDir, path), content);
  }
  const ids = chain.batches.map(({ nonce }) => batchId(deployer.address, nonce));
  write(join(folder, 'env'), envText(identities, ids));
}

function envText(identities: readonly NodeIdentity[], batches: readonly string[]): string {
  const lines = identities.flatMap(({ overlay }, index) => [
    `SVCNET_BATCH_${index}=${(batches[index] ?? '').replace(/^0x/, '')}`,
    `SVCNET_OVERLAY_${index}=${overlay}`,
  ]);
  return `${lines.join('\n')}\n`;
}

function clear(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  } catch (error) {
    throw new HarnessError('USAGE', `cannot write to ${folder}: ${messageOf(error)}`, { cause: error });
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode: 0o600 });
}

function wholeNumber(name: string, text: string | undefined, fallback: bigint): bigint {
  if (text === undefined || text === '') return fallback;
  if (!/^\d{1,20}$/.test(text))
    throw new HarnessError('USAGE', `${name}: got '${text}', expected a whole number`);
  return BigInt(text);
}

try {
  const nodes = Number(wholeNumber('SVCNET_NODES', process.env['SVCNET_NODES'], 5n));
  const seed = wholeNumber('SVCNET_SEED', process.env['SVCNET_SEED'], 42n);
  const folder = process.env['SVCNET_FOLDER'] ?? '/data';
  prepareContainers({ folder, nodes, seed });
  process.stdout.write(`prepared ${nodes} nodes in ${folder}, seed ${seed}\n`);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
