/** What every container of the image has: its user, folder and ports, and how one asks itself how it is. */
import type { NodePorts } from './flavour.ts';

/** The image's unprivileged user, and its group. Other images get along with it: all they write is below the folder. */
export const USER_ID = 1000;
/** A volume of the image that belongs to its user. */
export const DATA_FOLDER = '/data';
/** Every container has its own address, so all nodes take the same ports. */
export const NODE_PORTS = { api: 1633, p2p: 1634, debug: 1635 } as const satisfies NodePorts;
export const CHAIN_PORTS = { rpc: 8545, control: 8546 } as const;
/** All interfaces: a container's neighbours come from outside. */
export const LISTEN = '0.0.0.0';
/** Of the chain's control endpoint: answers when the contracts are deployed. */
export const CHAIN_STATE_PATH = '/state';
/** Answers when the node can be used. */
export const NODE_READINESS_PATH = '/readiness';

/** A program that succeeds when the URL answers with a success; the image has no other client. */
export function probe(port: number, path: string): string[] {
  const url = `http://127.0.0.1:${port}${path}`;
  return [
    'node',
    '-e',
    `fetch('${url}').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))`,
  ];
}
