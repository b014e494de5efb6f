/**
 * A Compose file for one machine. A first container fills all volumes from definition and seed: the seed can still be chosen
 * at the start, and the file holds no key.
 */
import { stringify } from 'yaml';
import { CONFINEMENT } from '../base/machine/confinement.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { DATA_FOLDER, NODE_READINESS_PATH, USER_ID, VOLUMES_FOLDER } from '../flavours/inside-image.ts';
import { CORS_OF_PROMETHEUS, grafanaEnvironment, HOST } from '../metrics/dashboards/definition.ts';
import { CONFIG } from '../metrics/dashboards/files.ts';
import { SERVERS } from '../metrics/dashboards/programs.ts';
import { CHAIN_FILE, CONFIG_FILE, DASHBOARDS, volumesOf } from './compose-volumes.ts';
import { type ContainerNode, containerNetwork } from './container-network.ts';
import {
  CHAIN,
  DASHBOARDS_FOLDER,
  GRAFANA_PORT,
  IMAGE,
  PREPARE_PROGRAM,
  PROMETHEUS_PORT,
  STOP_GRACE_SECONDS,
} from './container-programs.ts';
import type { Exported, ExportRequest } from './export-request.ts';
import { NETWORK_FILE, networkFile } from './network-file.ts';
import { CONTROL_HOST, localDoors } from './published.ts';
import { NODE, type Service, servicesOf } from './services.ts';
import { servicesYaml } from './yaml-text.ts';

const COMPOSE_FILE = 'docker-compose.yml';
/** Owner of the volumes. */
const USER = `${USER_ID}:${USER_ID}`;

export function exportCompose(request: ExportRequest): Exported {
  const network = containerNetwork(request);
  const doors = localDoors(request.definition);
  return {
    files: [
      {
        path: COMPOSE_FILE,
        content: composeText(request, network.nodes),
        // With the definition.
        secret: request.definition.nodes.some(({ keys }) => keys !== undefined),
      },
      networkFile(network, doors, [
        `Right for the seed ${request.seed}. For another one:`,
        `  docker compose exec -T ${CHAIN} cat ${DATA_FOLDER}/network.yaml`,
      ]),
    ],
    next: (at) => [
      `docker compose -f ${at(COMPOSE_FILE)} up --detach`,
      `svcnet attach -f ${at(NETWORK_FILE)}`,
      `docker compose -f ${at(COMPOSE_FILE)} --profile dashboards down --volumes`,
    ],
  };
}

function composeText(request: ExportRequest, nodes: readonly ContainerNode[]): string {
  const volumes = volumesOf(nodes);
  const { [NODE]: shared, ...services } = servicesOf(request, nodes, INSIDE, (service) =>
    inWords(service, request.definition.listen),
  );
  const parts = {
    'x-confined': CONFINED,
    [NODE]: shared,
    services: { init: initService(request, volumes), ...services, ...dashboardServices() },
    volumes: Object.fromEntries(volumes.map((name) => [name, {}])),
  };
  return servicesYaml(parts, notes(request));
}

const INSIDE = {
  chain: `${DATA_FOLDER}/${CHAIN_FILE}`,
  node: `${DATA_FOLDER}/${CONFIG_FILE}`,
  health: NODE_READINESS_PATH,
} as const;
const AFTER_INIT = { init: { condition: 'service_completed_successfully' } } as const;
const AFTER: Readonly<Record<string, object>> = {
  [CHAIN]: AFTER_INIT,
  [NODE]: { [CHAIN]: { condition: 'service_healthy' } },
};
const HEALTH: Readonly<Record<string, object>> = {
  [CHAIN]: { interval: '1s', timeout: '2s', retries: 30 },
  [NODE]: { interval: '2s', timeout: '2s', start_period: '30s', retries: 5 },
};

function inWords(service: Service, listen: string): object {
  const { name, image, program, environment, volumes, ports, resources, test } = service;
  return {
    '<<': program === undefined ? 'node' : 'confined',
    image,
    user: program && USER,
    ...program,
    environment,
    depends_on: AFTER[name],
    volumes,
    restart: program && 'on-failure',
    stop_grace_period: program && `${STOP_GRACE_SECONDS}s`,
    ports: ports?.map(
      ({ local = false, published, target }) => `${local ? CONTROL_HOST : listen}:${published}:${target}`,
    ),
    cpus: resources?.cpus,
    mem_limit: resources?.memory,
    healthcheck: test && { test, ...HEALTH[name] },
  };
}

const CONFINED = {
  cap_drop: [CONFINEMENT.dropped],
  security_opt: [CONFINEMENT.security],
  read_only: true,
  tmpfs: [`${CONFINEMENT.temporary.folder}:${CONFINEMENT.temporary.options}`],
  pids_limit: CONFINEMENT.tasksMax,
} as const;
/** Its image does not declare it as a volume. */
const GRAFANA_DATA = '/var/lib/grafana';

function dashboardServices(): object {
  const shared = {
    '<<': 'confined',
    profiles: ['dashboards'],
    depends_on: AFTER_INIT,
    volumes: [`${DASHBOARDS}:${DASHBOARDS_FOLDER}:ro`],
    restart: 'on-failure',
  };
  // Wherever the APIs listen, these ports are for this machine only.
  const published = (variable: string, port: number) => [`127.0.0.1:\${${variable}:-${port}}:${port}`];
  return {
    prometheus: {
      image: SERVERS.prometheus.image,
      ...shared,
      command: [
        `--config.file=${DASHBOARDS_FOLDER}/${CONFIG}`,
        '--storage.tsdb.path=/prometheus',
        CORS_OF_PROMETHEUS,
      ],
      ports: published('SVCNET_PROMETHEUS_PORT', PROMETHEUS_PORT),
    },
    grafana: {
      image: SERVERS.grafana.image,
      ...shared,
      tmpfs: [...CONFINED.tmpfs, `${GRAFANA_DATA}:${CONFINEMENT.temporary.options}`],
      environment: {
        ...grafanaEnvironment(DASHBOARDS_FOLDER),
        // Requests under another name are sent there.
        GF_SERVER_ROOT_URL: `http://${HOST}:\${SVCNET_GRAFANA_PORT:-${GRAFANA_PORT}}/`,
      },
      ports: published('SVCNET_GRAFANA_PORT', GRAFANA_PORT),
    },
  };
}

/** Ends before anything starts, and asks nobody. */
function initService({ input, seed, image, sources }: ExportRequest, volumes: readonly string[]): object {
  const { seed: _seed, ...definition } = input;
  const build = {
    context: sources,
    dockerfile: 'node/Dockerfile',
    args: { DEPENDENCIES: '${SVCNET_DEPENDENCIES:-install}' },
  };
  return {
    '<<': 'confined',
    image: image ?? IMAGE,
    // A chosen image is present, or comes from a registry.
    build: image === undefined ? build : undefined,
    user: USER,
    network_mode: 'none',
    // Otherwise each start would leave an empty volume of the image there.
    tmpfs: [...CONFINED.tmpfs, `${DATA_FOLDER}:${CONFINEMENT.temporary.options}`],
    entrypoint: PREPARE_PROGRAM,
    environment: {
      // A single dollar sign starts a variable.
      SVCNET_DEFINITION: stringify(definition).replaceAll('$', '$$$$'),
      SVCNET_SEED: `\${SVCNET_SEED:-${seedToJson(seed)}}`,
    },
    volumes: volumes.map((name) => `${name}:${VOLUMES_FOLDER}/${name}`),
    healthcheck: { disable: true },
  };
}

function notes({ definition }: ExportRequest): string[] {
  const { chain, nodes } = localDoors(definition);
  const last = nodes.length - 1;
  const names = last === 0 ? 'node-0' : `node-0 to node-${last}`;
  const apis = nodes.slice(0, 3).map(({ api }) => api);
  return [
    `A storage network in containers, as written by: svcnet export compose`,
    '',
    '  docker compose up --detach                          begin',
    '  docker compose exec -T chain cat /data/env          ids of the batches that are ready to use',
    '  docker compose exec -T chain cat /data/network.yaml > network.yaml',
    '  svcnet attach -f network.yaml                       scenarios, status and more on this network',
    '  docker compose --profile dashboards up --detach     Prometheus and Grafana as well',
    '  docker compose --profile dashboards down --volumes  end, and remove everything',
    '',
    `  ${names}: HTTP API at ${apis.join(', ')}${last > 2 ? ', ...' : ''}; debug API two ports above`,
    `  chain: JSON-RPC at ${chain.rpc}`,
    `  with the profile dashboards: Grafana at http://127.0.0.1:${GRAFANA_PORT}, Prometheus at http://127.0.0.1:${PROMETHEUS_PORT}`,
    '',
    'The same seed gives the same keys, overlays, contracts and batches: SVCNET_SEED=7 docker compose up',
    'The keys are test keys that anybody can derive from the seed: never use them on another chain.',
    'A restart with the same seed continues where it was; another seed starts a new network.',
  ];
}
