import { DATA_FOLDER } from '../flavours/inside-image.ts';
import { NODE_FLAGS } from '../flavours/svc-program.ts';

export const IMAGE = 'svcnet';
export const CHAIN = 'chain';
/** On a volume. */
export const CHAIN_FOLDER = `${DATA_FOLDER}/${CHAIN}`;
/** Of engines. */
export const CONFIG_FOLDER = '/etc/svcnet';

/** Of Prometheus and Grafana. */
export const DASHBOARDS_FOLDER = `${DATA_FOLDER}/dashboards`;
/** Their default ports. */
export const PROMETHEUS_PORT = 9090;
export const GRAFANA_PORT = 3000;

export const NODE_PROGRAM = ['node', ...NODE_FLAGS, 'node/main.ts'] as const;
export const CHAIN_PROGRAM = ['node', 'chain/main.ts'] as const;
export const PREPARE_PROGRAM = ['node', 'harness/export/containers.ts', 'prepare'] as const;
export const nodeArguments = (config: string) => ['start', '--config', config];

export const NODE_HEALTH_PATH = '/health';

/** Until the end by force: a node closes its store, the chain writes its state. */
export const STOP_GRACE_SECONDS = 10;
