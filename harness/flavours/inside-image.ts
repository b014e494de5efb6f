import { isIPv4 } from 'node:net';
import type { NodePorts } from './flavour.ts';

/** Unprivileged; suits other images too, which write only below the data folder. */
export const USER_ID = 1000;
/** A volume of the image, owned by its user. */
export const DATA_FOLDER = '/data';
/** Every container has its own address, so all use the same ports. */
export const NODE_PORTS = { api: 1633, p2p: 1634, debug: 1635 } as const satisfies NodePorts;
export const CHAIN_PORTS = { rpc: 8545, control: 8546 } as const;
/** Has a folder for each container's volume, owned by the image's user. */
export const VOLUMES_FOLDER = '/volumes';
export const LISTEN = '0.0.0.0';
/** Succeeds, without a token, once the contracts are deployed. */
export const CHAIN_HEALTH_PATH = '/health';
export const NODE_READINESS_PATH = '/readiness';

export function hostNames(...hosts: readonly string[]): string[] {
  return hosts.filter((host) => !isIPv4(host));
}

export function chainOptions(hosts: readonly string[], allowed: readonly string[]) {
  return {
    port: CHAIN_PORTS.rpc,
    controlPort: CHAIN_PORTS.control,
    host: LISTEN,
    controlHost: LISTEN,
    allowedHosts: [...hostNames(...hosts), ...allowed],
  };
}

export function probe(port: number, path: string): string[] {
  const url = `http://127.0.0.1:${port}${path}`;
  return [
    'node',
    '-e',
    `fetch('${url}').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))`,
  ];
}
