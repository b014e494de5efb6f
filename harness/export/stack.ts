/** A Docker Swarm stack. Each node is a service: a replicated one's tasks would share secrets and ports. */
import { createHash } from 'node:crypto';
import { CONFINEMENT } from '../base/machine/confinement.ts';
import { shellWord } from '../base/typed.ts';
import { DATA_FOLDER, USER_ID } from '../flavours/inside-image.ts';
import { type ContainerNetwork, type ContainerNode, containerNetwork } from './container-network.ts';
import {
  CHAIN,
  CONFIG_FOLDER,
  IMAGE,
  NODE_HEALTH_PATH,
  STOP_GRACE_SECONDS,
  WAIT_FOR_CHAIN,
} from './container-programs.ts';
import type { Exported, ExportedFile, ExportRequest, Machine } from './export-request.ts';
import { NETWORK_FILE, networkFile } from './network-file.ts';
import { nameOf, networkUrls } from './published.ts';
import { NODE, type Service, servicesOf } from './services.ts';
import { servicesYaml } from './yaml-text.ts';

const STACK_FILE = 'stack.yaml';
const NODE_CONFIG = `${CONFIG_FOLDER}/node.yaml`;
const CHAIN_CONFIG = `${CONFIG_FOLDER}/chain.json`;
const DIGEST_DIGITS = 10;

/** Secret or config. */
interface StackFile extends ExportedFile {
  /** In the stack. */
  readonly key: string;
  /** In the container. */
  readonly target: string;
}

export function exportStack(request: ExportRequest): Exported {
  const { definition, machines } = request;
  const name = nameOf(definition);
  const node = (index: number) => machineOf(machines, index)?.address ?? '127.0.0.1';
  const network = containerNetwork(request, { otherHosts: (_node, index) => [node(index)] });
  const files = filesOf(network);
  // Without the control endpoint, which can change all of the chain: a published port cannot be limited to one interface.
  const doors = networkUrls(definition, { chain: node(0), node });
  return {
    files: [
      { path: STACK_FILE, content: stackText(request, network.nodes, files) },
      networkFile(network, doors),
      ...[...files.values()].flat(),
    ],
    next: (at) => [
      `docker stack deploy --resolve-image never -c ${at(STACK_FILE)} ${name}`,
      untilStarted(name, network.nodes.length + 1),
      `svcnet attach -f ${at(NETWORK_FILE)}`,
      ...removal(name),
    ],
  };
}

/** Nodes are assigned in turn: neighbours in the list are on different machines. The chain runs on the first node's. */
function machineOf(machines: readonly Machine[], index: number): Machine | undefined {
  return machines[index % machines.length];
}

/** @returns by service */
function filesOf({ chain, nodes }: ContainerNetwork): Map<string, StackFile[]> {
  return new Map([
    [CHAIN, [{ key: CHAIN, path: 'secrets/chain.json', target: CHAIN_CONFIG, content: chain, secret: true }]],
    ...nodes.map(({ name, config, keys }): [string, StackFile[]] => [
      name,
      [
        { key: name, path: `configs/${name}.yaml`, target: NODE_CONFIG, content: config },
        ...keys.map(({ path, content }) => ({
          key: `${name}-${path.replace(/^keys\/|\.key$/g, '')}`,
          path: `secrets/${name}/${path.replace(/^keys\//, '')}`,
          target: `${DATA_FOLDER}/${path}`,
          content,
          secret: true,
        })),
      ],
    ]),
  ]);
}

function byKind(files: readonly StackFile[] = []) {
  return Object.groupBy(files, ({ secret = false }) => (secret ? 'secrets' : 'configs'));
}

function stackText(
  request: ExportRequest,
  nodes: readonly ContainerNode[],
  files: ReadonlyMap<string, StackFile[]>,
): string {
  const name = nameOf(request.definition);
  const on = (index: number) => {
    const machine = machineOf(request.machines, index);
    return machine && `node.hostname == ${machine.name}`;
  };
  const constraints = new Map(nodes.map((node, index) => [node.name, on(index)]));
  // By default on a manager, where its volume is.
  constraints.set(CHAIN, on(0) ?? 'node.role == manager');
  const { [NODE]: shared, ...services } = servicesOf(request, nodes, INSIDE, (service) =>
    inWords(service, files.get(service.name), constraints.get(service.name)),
  );
  const { configs, secrets } = byKind([...files.values()].flat());
  const parts = {
    version: '3.9',
    [NODE]: shared,
    services,
    networks: { network: { driver: 'overlay' } },
    volumes: Object.fromEntries(Object.keys(services).map((volume) => [volume, {}])),
    configs: declared(name, configs),
    secrets: declared(name, secrets),
  };
  return servicesYaml(parts, notes(request));
}

// A container's name resolves only once it is healthy: nodes find each other only then.
const INSIDE = { chain: CHAIN_CONFIG, node: NODE_CONFIG, health: NODE_HEALTH_PATH } as const;
const HEALTH: Readonly<Record<string, object>> = {
  [CHAIN]: { interval: '2s', timeout: '2s', start_period: '30s', retries: 30 },
  [NODE]: { interval: '5s', timeout: '5s', start_period: '60s', retries: 12 },
};

/** A stack has no `no-new-privileges`; without capabilities there are none to gain. */
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

function inWords(
  service: Service,
  files: readonly StackFile[] | undefined,
  constraint: string | undefined,
): object {
  const { name, image, environment, program, volumes, ports, test, resources } = service;
  const { configs, secrets } = byKind(files);
  return {
    ...(program === undefined ? { '<<': 'node' } : CONFINED),
    image,
    environment,
    ...(program && {
      ...program,
      entrypoint: name === NODE ? afterChain(program.entrypoint) : program.entrypoint,
    }),
    networks: program && ['network'],
    stop_grace_period: program && `${STOP_GRACE_SECONDS}s`,
    configs: configs?.map(mount),
    secrets: secrets?.map(mount),
    volumes: volumes && [...volumes, TEMPORARY],
    // On the container's machine: a node's port leads to that node alone.
    ports: ports
      ?.filter(({ local = false }) => !local)
      .map(({ target, published }) => ({ target, published, protocol: 'tcp', mode: 'host' })),
    healthcheck: test && { test, ...HEALTH[name] },
    deploy: volumes && {
      // Its name is the container itself: nodes' connections stay open for hours, and a load balancer drops quiet ones.
      endpoint_mode: 'dnsrr',
      placement: constraint && { constraints: [constraint] },
      resources: {
        limits: {
          pids: CONFINEMENT.tasksMax,
          cpus: resources?.cpus?.toString(),
          memory: resources?.memory && `${resources.memory}b`,
        },
      },
      restart_policy: { condition: 'any', delay: '2s' },
      // Two tasks of one identity must not run at once.
      update_config: { parallelism: 1, order: 'stop-first', failure_action: 'pause' },
    },
  };
}

/** Nothing in a stack orders the start of its services. A single dollar sign starts a variable. */
function afterChain(entrypoint: readonly string[]): string[] {
  return ['sh', '-c', `${WAIT_FOR_CHAIN.map(shellWord).join(' ')} && exec "$$0" "$$@"`, ...entrypoint];
}

function mount({ key, target, secret = false }: StackFile): object {
  const owner = String(USER_ID);
  return { source: key, target, ...(secret ? { uid: owner, gid: owner, mode: 0o400 } : {}) };
}

/** Content cannot change, so names have a digest. */
function declared(stack: string, files: readonly StackFile[] = []): Record<string, object> {
  return Object.fromEntries(
    files.map(({ key, path, content }) => {
      const digest = createHash('sha256').update(content).digest('hex').slice(0, DIGEST_DIGITS);
      return [key, { name: `${stack}-${key}-${digest}`, file: `./${path}` }];
    }),
  );
}

/** @param services counted: a stack of another name has none, and the wait must not end at once */
function untilStarted(name: string, services: number): string {
  return `until docker stack services --format '{{.Replicas}}' ${name} | grep -c ^1/1 | grep -qx ${services}; do sleep 1; done`;
}

/** Volumes are in use until their containers are gone, some seconds later. */
function removal(name: string): string[] {
  const ofStack = `--filter label=com.docker.stack.namespace=${name}`;
  return [
    `docker stack rm ${name}`,
    `while docker ps -aq ${ofStack} | grep -q .; do sleep 1; done`,
    `docker volume ls -q ${ofStack} | xargs -r docker volume rm`,
  ];
}

function notes({ definition, seed, image = IMAGE }: ExportRequest): string[] {
  const name = nameOf(definition);
  return [
    'A storage network as a stack of Docker Swarm, as written by: svcnet export stack',
    '',
    'Begin, or apply a new export:',
    `  docker stack deploy --resolve-image never -c ${STACK_FILE} ${name}`,
    `  docker stack ps ${name}                        where its containers run`,
    '  svcnet attach -f network.yaml             scenarios, status and more on this network',
    '',
    'End. The last two lines remove the volumes of a machine: run them on each.',
    ...removal(name).map((line) => `  ${line}`),
    '',
    `Every machine needs the image ${image}. Ports are published on all interfaces of the machines.`,
    `The keys in secrets/ are test keys that anybody can derive from the seed ${seed}: never use them on another chain.`,
  ];
}
