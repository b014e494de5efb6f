/**
 * `svcnet export compose`: a Compose file for one machine. A first container prepares a volume from the definition and
 * the seed, so the seed can still be chosen when the network is started, and the file holds no key.
 */
import { Document, stringify, type YAMLMap } from 'yaml';
import { CORS_OF_PROMETHEUS, grafanaEnvironment, HOST } from '../dashboards/definition.ts';
import { CONFIG } from '../dashboards/files.ts';
import { SERVERS } from '../dashboards/programs.ts';
import {
  CHAIN_HEALTH_PATH,
  CHAIN_PORTS,
  DATA_FOLDER,
  NODE_PORTS,
  NODE_READINESS_PATH,
  probe,
} from '../flavours/inside-image.ts';
import { seedToJson } from '../plan/seed.ts';
import { type ContainerNode, containerNetwork } from './container-network.ts';
import {
  CHAIN_FOLDER,
  CHAIN_PROGRAM,
  DASHBOARDS_FOLDER,
  GRAFANA_PORT,
  IMAGE,
  NODE_PROGRAM,
  nodeArguments,
  PREPARE_PROGRAM,
  PROMETHEUS_PORT,
  STOP_GRACE_SECONDS,
} from './container-programs.ts';
import type { Exported, ExportRequest } from './export-request.ts';
import { networkFile } from './network-file.ts';
import { CONTROL_HOST, localDoors, publishedPorts } from './published.ts';
import { annotatedYaml } from './yaml-text.ts';

const COMPOSE_FILE = 'docker-compose.yml';
const VOLUMES = [`network:${DATA_FOLDER}`] as const;

export function exportCompose(request: ExportRequest): Exported {
  const network = containerNetwork(request, {
    chainHost: 'chain',
    chainFolder: CHAIN_FOLDER,
    nodeHost: (node) => node,
    dataDir: (node) => `${DATA_FOLDER}/${node}`,
  });
  const doors = localDoors(request.definition);
  return {
    files: [
      {
        path: COMPOSE_FILE,
        content: composeText(request, network.nodes),
        // It includes the definition.
        secret: request.definition.nodes.some(({ keys }) => keys !== undefined),
      },
      {
        path: 'network.yaml',
        content: networkFile(network, doors, [
          `Right for the seed ${request.seed}. For another one:`,
          `  docker compose exec -T node-0 cat ${DATA_FOLDER}/network.yaml`,
        ]),
        secret: true,
      },
    ],
    next: [
      `docker compose -f ${COMPOSE_FILE} up --detach`,
      'svcnet attach -f network.yaml',
      `docker compose -f ${COMPOSE_FILE} --profile dashboards down --volumes`,
    ],
  };
}

function composeText(request: ExportRequest, nodes: readonly ContainerNode[]): string {
  const { image = IMAGE } = request;
  const document = new Document({}, { aliasDuplicateObjects: false });
  const node = (value: object) =>
    document.createNode(value, { aliasDuplicateObjects: false }) as unknown as YAMLMap;
  // Merged into every node, so that what they share is written once.
  const shared = node({
    image,
    entrypoint: NODE_PROGRAM,
    depends_on: { chain: { condition: 'service_healthy' } },
    volumes: VOLUMES,
    restart: 'on-failure',
    stop_grace_period: `${STOP_GRACE_SECONDS}s`,
    healthcheck: {
      test: ['CMD', ...probe(NODE_PORTS.api, NODE_READINESS_PATH)],
      interval: '2s',
      timeout: '2s',
      start_period: '30s',
      retries: 5,
    },
  });
  shared.anchor = 'node';
  document.set('x-node', shared);
  const ports = publishedPorts(request.definition);
  const published = (port: number, inside: number) => `${request.definition.listen}:${port}:${inside}`;
  document.set(
    'services',
    node({
      init: initService(request, image),
      chain: {
        image,
        entrypoint: [...CHAIN_PROGRAM, `${DATA_FOLDER}/chain.json`],
        depends_on: { init: { condition: 'service_completed_successfully' } },
        volumes: VOLUMES,
        restart: 'on-failure',
        stop_grace_period: `${STOP_GRACE_SECONDS}s`,
        ports: [
          published(ports.chain.rpc, CHAIN_PORTS.rpc),
          `${CONTROL_HOST}:${ports.chain.control}:${CHAIN_PORTS.control}`,
        ],
        healthcheck: {
          test: ['CMD', ...probe(CHAIN_PORTS.control, CHAIN_HEALTH_PATH)],
          interval: '1s',
          timeout: '2s',
          retries: 30,
        },
      },
      ...Object.fromEntries(
        nodes.map(({ name, image: own, resources }, index) => {
          const { api = 0, debug = 0 } = ports.nodes[index] ?? {};
          const service = {
            '<<': document.createAlias(shared, 'node'),
            ...(own === undefined ? {} : { image: own }),
            command: nodeArguments(`${DATA_FOLDER}/${name}/config.yaml`),
            ports: [published(api, NODE_PORTS.api), published(debug, NODE_PORTS.debug)],
            ...(resources?.cpus === undefined ? {} : { cpus: resources.cpus }),
            ...(resources?.memory === undefined ? {} : { mem_limit: resources.memory }),
          };
          return [name, service];
        }),
      ),
      ...dashboardServices(),
    }),
  );
  document.set('volumes', { network: {} });
  return annotatedYaml(document, notes(request));
}

/** Only with the profile. They read what the first container has written, but not the keys beside it. */
function dashboardServices(): object {
  const shared = {
    profiles: ['dashboards'],
    depends_on: { init: { condition: 'service_completed_successfully' } },
    volumes: VOLUMES.map((volume) => `${volume}:ro`),
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
      environment: {
        ...grafanaEnvironment(DASHBOARDS_FOLDER),
        // Where requests under another name are sent.
        GF_SERVER_ROOT_URL: `http://${HOST}:\${SVCNET_GRAFANA_PORT:-${GRAFANA_PORT}}/`,
      },
      ports: published('SVCNET_GRAFANA_PORT', GRAFANA_PORT),
    },
  };
}

/** It ends before anything else starts. */
function initService({ input, seed, image: chosen, sources }: ExportRequest, image: string): object {
  const { seed: _seed, ...definition } = input;
  return {
    image,
    // A chosen image is already present, or comes from a registry.
    ...(chosen === undefined
      ? {
          build: {
            context: sources,
            dockerfile: 'node/Dockerfile',
            args: { DEPENDENCIES: '${SVCNET_DEPENDENCIES:-install}' },
          },
        }
      : {}),
    entrypoint: PREPARE_PROGRAM,
    environment: {
      // A single dollar sign would start a variable.
      SVCNET_DEFINITION: stringify(definition).replaceAll('$', '$$$$'),
      SVCNET_SEED: `\${SVCNET_SEED:-${seedToJson(seed)}}`,
    },
    volumes: VOLUMES,
    healthcheck: { disable: true },
  };
}

function notes({ definition }: ExportRequest): string[] {
  const { chain, nodes } = localDoors(definition);
  const last = nodes.length - 1;
  const names = last === 0 ? 'node-0' : `node-0 to node-${last}`;
  return [
    `A storage network in containers, as written by: svcnet export compose`,
    '',
    '  docker compose up --detach                          begin',
    '  docker compose exec -T node-0 cat /data/env         ids of the batches that are ready to use',
    '  docker compose exec -T node-0 cat /data/network.yaml > network.yaml',
    '  svcnet attach -f network.yaml                       scenarios, status and more on this network',
    '  docker compose --profile dashboards up --detach     Prometheus and Grafana as well',
    '  docker compose --profile dashboards down --volumes  end, and remove everything',
    '',
    `  ${names}: HTTP API at ${nodes
      .slice(0, 3)
      .map(({ api }) => api)
      .join(', ')}${last > 2 ? ', ...' : ''}; debug API two ports above`,
    `  chain: JSON-RPC at ${chain.rpc}`,
    `  with the profile dashboards: Grafana at http://127.0.0.1:${GRAFANA_PORT}, Prometheus at http://127.0.0.1:${PROMETHEUS_PORT}`,
    '',
    'The same seed gives the same keys, overlays, contracts and batches: SVCNET_SEED=7 docker compose up',
    'The keys are test keys that anybody can derive from the seed: never use them on another chain.',
    'Started again with the same seed it goes on where it was; with another one it begins anew.',
  ];
}
