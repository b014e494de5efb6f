import { CHAIN_HEALTH_PATH, CHAIN_PORTS, DATA_FOLDER } from '../flavours/inside-image.ts';
import { NODE_FLAGS } from '../flavours/svc-program.ts';

export const IMAGE = 'svcnet';
export const CHAIN = 'chain';
/** On a volume. */
export const CHAIN_FOLDER = `${DATA_FOLDER}/${CHAIN}`;
/** Where engines put configuration files. */
export const CONFIG_FOLDER = '/etc/svcnet';

/** Of Prometheus and Grafana. */
export const DASHBOARDS_FOLDER = `${DATA_FOLDER}/dashboards`;
/** Their default ports. */
export const PROMETHEUS_PORT = 9090;
export const GRAFANA_PORT = 3000;

export const NODE_PROGRAM = ['node', ...NODE_FLAGS, 'node/main.ts'] as const;
export const CHAIN_PROGRAM = ['node', 'chain/main.ts'] as const;
/** Anvil's temporary files, with a copy of its state, may be larger than a container's memory. */
export const CHAIN_ENVIRONMENT = { TMPDIR: DATA_FOLDER } as const;
export const PREPARE_PROGRAM = ['node', 'harness/export/containers.ts', 'prepare'] as const;
export const nodeArguments = (config: string) => ['start', '--config', config];

/** A node gives up on a chain that does not answer for some seconds, as one whose name does not resolve yet. */
export const WAIT_FOR_CHAIN = [
  'node',
  '-e',
  chainWait(`http://${CHAIN}:${CHAIN_PORTS.control}${CHAIN_HEALTH_PATH}`),
];

/** A program that ends once the URL is answered. */
export function chainWait(url: string): string {
  return `const look = () => fetch('${url}').then((answer) => answer.ok, () => false).then((ok) => ok || setTimeout(look, 1000)); look();`;
}

export const NODE_HEALTH_PATH = '/health';

/** Until the end by force: a node closes its store, the chain writes its state. */
export const STOP_GRACE_SECONDS = 10;
