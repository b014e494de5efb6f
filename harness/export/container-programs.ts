/** How the parts of a network run in containers: programs, ports and folders inside the image. */
import { DATA_FOLDER } from '../flavours/inside-image.ts';
import { NODE_FLAGS } from '../flavours/svc-program.ts';

/** Default name of the image. */
export const IMAGE = 'svcnet';
/** The chain's service, and its host name. */
export const CHAIN = 'chain';
/** Folder of the chain's state, on a volume. */
export const CHAIN_FOLDER = `${DATA_FOLDER}/${CHAIN}`;
/** Where engines put configuration files. */
export const CONFIG_FOLDER = '/etc/svcnet';

/** Folder of the files that Prometheus and Grafana read. */
export const DASHBOARDS_FOLDER = `${DATA_FOLDER}/dashboards`;
/** Their default ports. */
export const PROMETHEUS_PORT = 9090;
export const GRAFANA_PORT = 3000;

export const NODE_PROGRAM = ['node', ...NODE_FLAGS, 'node/main.ts'] as const;
export const CHAIN_PROGRAM = ['node', 'chain/main.ts'] as const;
export const PREPARE_PROGRAM = ['node', 'harness/export/containers.ts', 'prepare'] as const;
export const nodeArguments = (config: string) => ['start', '--config', config];

/** Path that answers once the process serves requests. */
export const NODE_HEALTH_PATH = '/health';

/** Time from the stop request to the end by force: a node closes its store, the chain writes its state. */
export const STOP_GRACE_SECONDS = 10;
