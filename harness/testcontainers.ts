/// <reference types="node" preserve="true" />
/**
 * A whole network as a container of the `testcontainers` package:
 *
 *     await using net = await new StorageNetworkContainer().withNodes(3).withSeed(7).start();
 *     const headers = { 'svc-postage-batch-id': net.batchId(0) };
 *     await fetch(`${net.apiUrl(0)}/bytes`, { method: 'POST', headers, body: 'hello' });
 */
import {
  AbstractStartedContainer,
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers';
import { HarnessError } from './base/errors.ts';
import { suggestion } from './base/format.ts';
import { CONFINEMENT } from './base/machine/confinement.ts';
import { DIALECT_NAMES, type DialectName } from './client/dialect.ts';
import type { ClusterDocument } from './cluster/cluster-document.ts';
import { REAL_NODES_MAX } from './cluster/plan/options/nodes.ts';
import { portsOf, RPC_PORT } from './export/container/ports.ts';

const IMAGE = 'svcnet';
const NODES_DEFAULT = 5;
const SEED_END = 2n ** 64n;
/** Five nodes take some seconds; a loaded machine or many nodes need more. */
const START_TIMEOUT_MS = 120_000;

/** A network that has not been started. */
export class StorageNetworkContainer extends GenericContainer {
  #nodes = NODES_DEFAULT;
  readonly #hosts: string[] = [];

  /** @param image built from `node/Dockerfile` */
  constructor(image: string = IMAGE) {
    super(image);
    this.withCommand(['network'])
      .withDroppedCapabilities(CONFINEMENT.dropped)
      .withSecurityOpt(CONFINEMENT.security)
      .withWaitStrategy(Wait.forHealthCheck())
      .withStartupTimeout(START_TIMEOUT_MS);
  }

  /** @param count 1 to 200; default 5 @throws HarnessError `ARGUMENT_INVALID` */
  withNodes(count: number): this {
    if (!Number.isInteger(count) || count < 1 || count > REAL_NODES_MAX) {
      throw invalid('withNodes', count, `a whole number from 1 to ${REAL_NODES_MAX}`);
    }
    this.#nodes = count;
    return this;
  }

  /**
   * Decides keys, overlays, contracts and batches; default: drawn.
   * @param seed 0 to 2^64 - 1 @throws HarnessError `ARGUMENT_INVALID`
   */
  withSeed(seed: number | bigint): this {
    const isWhole = typeof seed === 'bigint' || Number.isSafeInteger(seed);
    if (!isWhole || seed < 0 || BigInt(seed) >= SEED_END) {
      throw invalid('withSeed', seed, 'a whole number from 0 to 2^64 - 1, as bigint when above 2^53');
    }
    return this.withEnvironment({ SVCNET_SEED: seed.toString() });
  }

  /** Names and values on HTTP; default `svc`. @throws HarnessError `ARGUMENT_INVALID` */
  withDialect(dialect: DialectName): this {
    if (!DIALECT_NAMES.includes(dialect)) {
      throw invalid('withDialect', dialect, `one of ${DIALECT_NAMES.join(', ')}`, DIALECT_NAMES);
    }
    return this.withEnvironment({ SVCNET_DIALECT: dialect });
  }

  /** Host names of the nodes, besides the container's aliases and its engine's machine. */
  withAllowedHosts(...names: string[]): this {
    this.#hosts.push(...names);
    return this;
  }

  /** Resolves once the whole network is usable. */
  override async start(): Promise<StartedStorageNetworkContainer> {
    const ofNodes = Array.from({ length: this.#nodes }, (_, index) => portsOf(index));
    const ports = [RPC_PORT, ...ofNodes.flatMap(({ api, debug }) => [api, debug])];
    const { info } = await getContainerRuntimeClient();
    const hosts = [info.containerRuntime.host, ...this.networkAliases, ...this.#hosts];
    this.withEnvironment({
      SVCNET_NODES: String(this.#nodes),
      SVCNET_ALLOWED_HOSTS: hosts.join(','),
    }).withExposedPorts(...ports.filter((port) => !this.hasExposedPort(port)));
    const started = await super.start();
    return new StartedStorageNetworkContainer(started, await documentOf(started));
  }
}

/** A usable network; nodes are counted from 0. */
export class StartedStorageNetworkContainer extends AbstractStartedContainer {
  readonly #document: ClusterDocument;

  constructor(started: StartedTestContainer, document: ClusterDocument) {
    super(started);
    this.#document = document;
  }

  /** A node's API, as this machine reaches it. @throws HarnessError `NODE_NOT_FOUND` */
  apiUrl(index: number): string {
    this.#node(index);
    return this.#url(portsOf(index).api);
  }

  /** @throws HarnessError `NODE_NOT_FOUND` */
  debugUrl(index: number): string {
    this.#node(index);
    return this.#url(portsOf(index).debug);
  }

  /** Usable by the node, 64 hex digits. @throws HarnessError `NODE_NOT_FOUND`, `BATCH_UNKNOWN` */
  batchId(index: number): string {
    const { name } = this.#node(index);
    const batch = this.#document.batches.find(({ node }) => node === name);
    if (batch === undefined) throw new HarnessError('BATCH_UNKNOWN', `${name} was started without a batch`);
    return batch.id;
  }

  /** 64 hex digits. @throws HarnessError `NODE_NOT_FOUND` */
  overlay(index: number): string {
    return this.#node(index).overlay;
  }

  /** The chain's JSON-RPC endpoint. */
  rpcUrl(): string {
    return this.#url(RPC_PORT);
  }

  #node(index: number): ClusterDocument['nodes'][number] {
    const { nodes } = this.#document;
    const node = nodes[index];
    if (node !== undefined) return node;
    throw new HarnessError(
      'NODE_NOT_FOUND',
      `no node ${String(index)}: the network has nodes 0 to ${nodes.length - 1}`,
    );
  }

  #url(port: number): string {
    return `http://${this.getHost()}:${this.getMappedPort(port)}`;
  }
}

async function documentOf(started: StartedTestContainer): Promise<ClusterDocument> {
  const { output, stderr, exitCode } = await started.exec(['cat', '/data/network.json']);
  if (exitCode === 0) return JSON.parse(output) as ClusterDocument;
  await started.stop();
  throw new HarnessError('PROCESS_FAILED', `the container has no document of its network: ${stderr.trim()}`);
}

function invalid(
  method: string,
  value: unknown,
  expected: string,
  words: readonly string[] = [],
): HarnessError {
  const near = typeof value === 'string' ? suggestion(value, words) : '';
  const shown = typeof value === 'string' ? `'${value}'` : String(value);
  return new HarnessError('ARGUMENT_INVALID', `${method}: got ${shown}, expected ${expected}${near}`);
}
