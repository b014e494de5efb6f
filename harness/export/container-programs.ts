/** How the parts of a network run in containers: programs, ports and folders as they are inside the image. */
import { DATA_FOLDER } from '../flavours/inside-image.ts';
import { NODE_FLAGS } from '../flavours/svc-program.ts';

/** What the image is called where nobody says otherwise. */
export const IMAGE = 'svcnet';
/** Of the chain's state, on a volume. */
export const CHAIN_FOLDER = `${DATA_FOLDER}/chain`;
/** Where engines put configuration files. */
export const CONFIG_FOLDER = '/etc/svcnet';

/** Of what Prometheus and Grafana read. */
export const DASHBOARDS_FOLDER = `${DATA_FOLDER}/dashboards`;
/** The ones that they take by themselves. */
export const PROMETHEUS_PORT = 9090;
export const GRAFANA_PORT = 3000;

export const NODE_PROGRAM = ['node', ...NODE_FLAGS, 'node/main.ts'] as const;
export const CHAIN_PROGRAM = ['node', 'chain/main.ts'] as const;
export const PREPARE_PROGRAM = ['node', 'harness/containers.ts', 'prepare'] as const;
export const nodeArguments = (config: string) => ['start', '--config', config];

/** Answers as soon as the process serves. */
export const NODE_HEALTH_PATH = '/health';

/** From the request to end until the end by force: a node closes its store, the chain writes its state. */
export const STOP_GRACE_SECONDS = 10;
