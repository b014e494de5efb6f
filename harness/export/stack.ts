/**
 * `svcnet export stack`: a stack of Docker Swarm, for one machine or many. Every node is a separate service:
 * the tasks of one replicated service would share secrets and a published port, so none could have its own
 * keys or API.
 */
import { createHash } from 'node:crypto';
import { CONFINEMENT } from '../base/machine/confinement.ts';
import {
  CHAIN_HEALTH_PATH,
  CHAIN_PORTS,
  DATA_FOLDER,
  NODE_PORTS,
  probe,
  USER_ID,
} from '../flavours/inside-image.ts';
import { type ContainerNode, containerNetwork } from './container-network.ts';
import {
  CHAIN,
  CHAIN_ENVIRONMENT,
  CHAIN_PROGRAM,
  CONFIG_FOLDER,
  IMAGE,
  NODE_HEALTH_PATH,
  NODE_PROGRAM,
  nodeArguments,
  STOP_GRACE_SECONDS,
} from './container-programs.ts';
import type { Exported, ExportedFile, ExportRequest, Machine } from './export-request.ts';
import { networkFile } from './network-file.ts';
import { type NetworkUrls, nameOf, networkUrls, publishedPorts } from './published.ts';
import { servicesYaml } from './yaml-text.ts';

const STACK_FILE = 'stack.yaml';
const NODE_CONFIG = `${CONFIG_FOLDER}/node.yaml`;
const CHAIN_CONFIG = `${CONFIG_FOLDER}/chain.json`;
/** Digits of a digest in the name of a secret or config. */
const DIGEST_DIGITS = 10;

/** A secret or config of the swarm, with the file it is created from. */
interface StackFile extends ExportedFile {
  /** Key in the stack. */
  readonly key: string;
  /** Where the container finds it. */
  readonly target: string;
}

const LOOPBACK = '127.0.0.1';

/** The parts of a stack for one node. */
interface StackNode {
  readonly node: ContainerNode;
  readonly config: StackFile;
  readonly keys: readonly StackFile[];
}

export function exportStack(request: ExportRequest): Exported {
  const name = nameOf(request.definition);
  const network = containerNetwork(request, {
    otherHosts: (_node, index) => [machineOf(request.machines, index)?.address ?? LOOPBACK],
  });
  const chain: StackFile = {
    key: CHAIN,
    path: 'secrets/chain.json',
    target: CHAIN_CONFIG,
    content: network.chain,
    secret: true,
  };
  const nodes = network.nodes.map(stackNode);
  return {
    files: [
      { path: STACK_FILE, content: stackText(request, chain, nodes) },
      networkFile(network, stackDoors(request)),
      ...[chain, ...nodes.flatMap(({ config, keys }) => [config, ...keys])].map(
        ({ path, content, secret = false }) => ({ path, content, secret }),
      ),
    ],
    next: [
      `docker stack deploy -c ${STACK_FILE} ${name}`,
      'svcnet attach -f network.yaml',
      `docker stack rm ${name}`,
    ],
  };
}

/** The chain runs on the first node's machine. */
function stackDoors({ definition, machines }: ExportRequest): NetworkUrls {
  const address = (index: number) => machineOf(machines, index)?.address ?? LOOPBACK;
  // Without the control endpoint: a published port cannot be limited to one interface, and this one can
  // change everything about the chain.
  return networkUrls(definition, { chain: address(0), node: address });
}

/** Nodes are assigned in turn, so that neighbours in the list are on different machines. */
function machineOf(machines: readonly Machine[], index: number): Machine | undefined {
  return machines[index % machines.length];
}

function stackNode(node: ContainerNode): StackNode {
  const { name } = node;
  return {
    node,
    config: { key: name, path: `configs/${name}.yaml`, target: NODE_CONFIG, content: node.config },
    keys: node.keys.map(({ path, content }) => ({
      key: `${name}-${path.replace(/^keys\/|\.key$/g, '')}`,
      path: `secrets/${name}/${path.replace(/^keys\//, '')}`,
      target: `${DATA_FOLDER}/${path}`,
      content,
      secret: true,
    })),
  };
}

function stackText(request: ExportRequest, chain: StackFile, nodes: readonly StackNode[]): string {
  const { definition, image = IMAGE, machines } = request;
  const name = nameOf(definition);
  const services = nodes.map((entry, index) => [
    entry.node.name,
    nodeService(entry, machineOf(machines, index)),
  ]);
  const parts = {
    version: '3.9',
    'x-node': {
      ...CONFINED,
      image,
      entrypoint: NODE_PROGRAM,
      command: nodeArguments(NODE_CONFIG),
      networks: ['network'],
      stop_grace_period: `${STOP_GRACE_SECONDS}s`,
      // Other containers can resolve a container's name only once it is healthy. A node is ready only once it
      // has found peers, so a readiness check would wait for itself.
      healthcheck: {
        test: ['CMD', ...probe(NODE_PORTS.api, NODE_HEALTH_PATH)],
        interval: '5s',
        timeout: '5s',
        start_period: '60s',
        retries: 12,
      },
    },
    services: { [CHAIN]: chainService(request, chain), ...Object.fromEntries(services) },
    networks: { network: { driver: 'overlay' } },
    volumes: Object.fromEntries([CHAIN, ...nodes.map(({ node }) => node.name)].map((volume) => [volume, {}])),
    configs: declared(
      name,
      nodes.map(({ config }) => config),
    ),
    secrets: declared(name, [chain, ...nodes.flatMap(({ keys }) => keys)]),
  };
  return servicesYaml(parts, notes(request));
}

/**
 * In the words of a stack, which knows none for `no-new-privileges`: without capabilities there are none to be gained.
 */
const CONFINED = {
  user: `${USER_ID}:${USER_ID}`,
  cap_drop: [CONFINEMENT.dropped],
  read_only: true,
} as const;
/** A stack ignores the shorter `tmpfs`. */
const TEMPORARY = {
  type: 'tmpfs',
  target: CONFINEMENT.temporary.folder,
  tmpfs: { size: CONFINEMENT.temporary.bytes },
} as const;

function chainService({ definition, image = IMAGE, machines }: ExportRequest, chain: StackFile): object {
  const machine = machineOf(machines, 0);
  return {
    ...CONFINED,
    image,
    environment: CHAIN_ENVIRONMENT,
    entrypoint: [...CHAIN_PROGRAM, CHAIN_CONFIG],
    networks: ['network'],
    stop_grace_period: `${STOP_GRACE_SECONDS}s`,
    secrets: [mount(chain)],
    volumes: [`${CHAIN}:${DATA_FOLDER}`, TEMPORARY],
    ports: [published(publishedPorts(definition).chain.rpc, CHAIN_PORTS.rpc)],
    healthcheck: {
      test: ['CMD', ...probe(CHAIN_PORTS.control, CHAIN_HEALTH_PATH)],
      interval: '2s',
      timeout: '2s',
      start_period: '30s',
      retries: 30,
    },
    // Without named machines, pinned to a manager: its volume is there.
    deploy: deploy(machine === undefined ? 'node.role == manager' : onMachine(machine), undefined),
  };
}

function nodeService({ node, config, keys }: StackNode, machine: Machine | undefined): object {
  const { api, debug } = node.published;
  return {
    '<<': 'node',
    image: node.image,
    configs: [mount(config)],
    secrets: keys.map(mount),
    volumes: [`${node.name}:${DATA_FOLDER}`, TEMPORARY],
    ports: [published(api, NODE_PORTS.api), published(debug, NODE_PORTS.debug)],
    deploy: deploy(machine === undefined ? undefined : onMachine(machine), node.resources),
  };
}

const onMachine = ({ name }: Machine) => `node.hostname == ${name}`;

function deploy(constraint: string | undefined, resources: ContainerNode['resources']): object {
  const limits = {
    pids: CONFINEMENT.tasksMax,
    cpus: resources?.cpus?.toString(),
    memory: resources?.memory === undefined ? undefined : `${resources.memory}b`,
  };
  return {
    // Its name resolves to the container itself: connections between nodes stay open for hours, and a load
    // balancer drops those that are quiet for a while.
    endpoint_mode: 'dnsrr',
    placement: constraint === undefined ? undefined : { constraints: [constraint] },
    resources: { limits },
    restart_policy: { condition: 'any', delay: '2s' },
    // Two tasks with one identity must not run at the same time, nor can they share a port.
    update_config: { parallelism: 1, order: 'stop-first', failure_action: 'pause' },
  };
}

/** Published on the machine where the container runs: a node's port leads to that node alone. */
function published(port: number, target: number): object {
  return { target, published: port, protocol: 'tcp', mode: 'host' };
}

function mount({ key, target, secret = false }: StackFile): object {
  const owner = String(USER_ID);
  return { source: key, target, ...(secret ? { uid: owner, gid: owner, mode: 0o400 } : {}) };
}

/** Their content can never be changed, so the name includes a digest of it. */
function declared(stack: string, files: readonly StackFile[]): Record<string, object> {
  return Object.fromEntries(
    files.map(({ key, path, content }) => {
      const digest = createHash('sha256').update(content).digest('hex').slice(0, DIGEST_DIGITS);
      return [key, { name: `${stack}-${key}-${digest}`, file: `./${path}` }];
    }),
  );
}

function notes({ definition, seed, image = IMAGE }: ExportRequest): string[] {
  const name = nameOf(definition);
  return [
    'A storage network as a stack of Docker Swarm, as written by: svcnet export stack',
    '',
    `  docker stack deploy -c ${STACK_FILE} ${name}     begin, or apply a new export`,
    `  docker stack ps ${name}                        where its containers run`,
    '  svcnet attach -f network.yaml             scenarios, status and more on this network',
    `  docker stack rm ${name}                        end; the volumes of each machine stay:`,
    `  docker volume ls -q --filter label=com.docker.stack.namespace=${name}`,
    '',
    `Every machine needs the image ${image}. Ports are published on all interfaces of the machines.`,
    `The keys in secrets/ are test keys that anybody can derive from the seed ${seed}: never use them on another chain.`,
  ];
}
