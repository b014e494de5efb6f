/** How the parts of a network run in containers: programs, ports and folders as they are inside the image. */
import { NODE_FLAGS } from '../flavours/svc-program.ts';

/** What the image is called where nobody says otherwise. */
export const IMAGE = 'svcnet';
/** The image's unprivileged user, and its group. */
export const USER_ID = 1000;
/** A volume of the image that belongs to its user. */
export const DATA_FOLDER = '/data';
/** Of the chain's state, on a volume. */
export const CHAIN_FOLDER = `${DATA_FOLDER}/chain`;
/** Where engines put configuration files. */
export const CONFIG_FOLDER = '/etc/svcnet';

/** Every container has its own address, so all nodes take the same ports. */
export const NODE_PORTS = { api: 1633, p2p: 1634, debug: 1635 } as const;
export const CHAIN_PORTS = { rpc: 8545, control: 8546 } as const;
/** All interfaces: a container's neighbours come from outside. */
export const LISTEN = '0.0.0.0';

export const NODE_PROGRAM = ['node', ...NODE_FLAGS, 'node/main.ts'] as const;
export const CHAIN_PROGRAM = ['node', 'chain/main.ts'] as const;
export const PREPARE_PROGRAM = ['node', 'harness/containers.ts', 'prepare'] as const;
export const nodeArguments = (config: string) => ['start', '--config', config];

/** Answers when the contracts are deployed. */
export const CHAIN_STATE_PATH = '/state';
/** Answers as soon as the process serves. */
export const NODE_HEALTH_PATH = '/health';
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

/** From the request to end until the end by force: a node closes its store, the chain writes its state. */
export const STOP_GRACE_SECONDS = 10;
