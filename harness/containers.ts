/**
 * Prepares a containerised network: writes what its chain and its nodes read at their start, before any of them runs.
 * All of it follows from the seed, so nothing has to be asked from a running chain. `docker-compose.yml` runs this
 * once, on the volume that all containers share:
 *
 *   FOLDER/chain.json            options document of `chain/main.ts`
 *   FOLDER/node-0/config.yaml    options of `node/main.ts`, with its key files beside it
 *   FOLDER/env                   batch ids, ready to use in a shell
 *
 *   FOLDER/chain                 state of the chain, written by itself
 *
 * A folder that was prepared for the same network stays as it is: the network goes on. Any other is emptied first.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Account, createAccount } from '../chain/account.ts';
import { chequebookAddress, chequebookSalt } from '../chain/deployment/chequebooks.ts';
import { batchId, contractAddresses, START_BLOCK } from '../chain/deployment/deploy.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../chain/local-chain.ts';
import { VERSION } from '../node/version.ts';
import { exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import { svcFlavour } from './flavours/svc.ts';
import { runProgram } from './machine/processes.ts';
import { parseDefinition } from './plan/definition.ts';
import { type ChainFacts, type ClusterPlan, placeNodes, planCluster } from './plan/plan.ts';

/** Every container has its own address, so all nodes take the same ports. */
const NODE_PORTS = { api: 1633, p2p: 1634, debug: 1635 } as const;
const CHAIN_PORTS = { rpc: 8545, control: 8546 } as const;
/** All interfaces: a container's neighbours come from outside. */
const LISTEN = '0.0.0.0';
const FORGET_TIMEOUT_MS = 60_000;

interface ContainerPlan {
  /** Folder as the containers see it. */
  readonly folder: string;
  readonly nodes: number;
  readonly seed: bigint;
}

/** @returns false when that was done before @throws HarnessError `DEFINITION_INVALID`, `USAGE` when the folder cannot be written */
function prepareContainers({ folder, nodes, seed }: ContainerPlan): boolean {
  const plan = planCluster(parseDefinition({ nodes }, 'containers'), seed);
  const deployer = createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey);
  const ports = { port: CHAIN_PORTS.rpc, controlPort: CHAIN_PORTS.control };
  const chain = { ...plan.chain, ...ports, host: LISTEN, stateFolder: join(folder, 'chain') };
  const chainText = `${JSON.stringify(chain, undefined, 2)}\n`;
  // Accounts and batches are part of the chain's options: they tell seeds and numbers of nodes apart.
  const network = `${VERSION}\n${chainText}`;
  const preparedFile = join(folder, 'prepared');
  if (existsSync(preparedFile) && readFileSync(preparedFile, 'utf8') === network) return false;
  clear(folder);
  write(join(folder, 'chain.json'), chainText);
  const places = plan.nodes.map(({ name }) => ({
    ports: NODE_PORTS,
    reached: { host: name, port: NODE_PORTS.p2p },
    listen: LISTEN,
    dataDir: join(folder, name),
  }));
  for (const { plan: node } of placeNodes(plan, places, chainFacts(plan, deployer))) {
    for (const { path, content } of svcFlavour.files(node)) write(join(node.dataDir, path), content);
  }
  const ids = plan.chain.batches.map(({ nonce }) => batchId(deployer.address, nonce));
  write(join(folder, 'env'), envText(plan, ids));
  // The last: what was interrupted is prepared anew.
  write(preparedFile, network);
  return true;
}

/** Containers that are made again have other addresses than before. */
async function forgetPeers(folder: string, nodes: number): Promise<void> {
  const dataDirs = Array.from({ length: nodes }, (_, index) => join(folder, `node-${index}`));
  const options = { compileCache: undefined, timeoutMs: FORGET_TIMEOUT_MS };
  if (await runProgram(svcFlavour.forgetPeers(dataDirs), options)) return;
  throw new HarnessError('PROCESS_FAILED', `the addresses of peers could not be removed from ${folder}`);
}

/** The chain does not run yet: its addresses follow from those of its deployer. */
function chainFacts({ chain }: ClusterPlan, deployer: Account): ChainFacts {
  const contracts = contractAddresses(deployer);
  return {
    contracts,
    startBlock: START_BLOCK,
    rpcOf: () => `http://chain:${CHAIN_PORTS.rpc}`,
    chequebookOf({ identity }) {
      const index = chain.chequebooks.findIndex(({ issuer }) => issuer === `0x${identity.ethereum}`);
      if (index === -1) return undefined;
      const factory = contracts.chequebookFactory;
      return chequebookAddress({ factory, sender: deployer.address, salt: chequebookSalt(index) });
    },
  };
}

function envText({ nodes }: ClusterPlan, batches: readonly string[]): string {
  const lines = nodes.flatMap(({ identity }, index) => [
    `SVCNET_BATCH_${index}=${(batches[index] ?? '').replace(/^0x/, '')}`,
    `SVCNET_OVERLAY_${index}=${identity.overlay}`,
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
  const prepared = prepareContainers({ folder, nodes, seed });
  if (!prepared) await forgetPeers(folder, nodes);
  process.stdout.write(
    `${prepared ? 'prepared' : 'goes on with'} ${nodes} nodes in ${folder}, seed ${seed}\n`,
  );
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
