/** The link proxy as a container of the cluster's network: nodes find it by name, and it finds them by theirs. */
import type { ContainerCommand } from '../../flavours/flavour.ts';
import { DATA_FOLDER, LISTEN } from '../../flavours/inside-image.ts';
import type { ProxyOptions } from '../links/proxy/proxy.ts';

const FOLDER = 'link-proxy';
const OPTIONS_FILE = 'options.json';

/**
 * @param given for a process of this machine
 * @param control port of its control endpoint, inside and outside: no node's port there can be the same
 */
export function proxyContainer(
  given: ProxyOptions,
  { control, token }: { readonly control: number; readonly token: string },
): {
  readonly command: ContainerCommand;
  readonly folder: string;
  readonly files: { path: string; content: string }[];
} {
  const document: ProxyOptions = {
    ...given,
    listen: LISTEN,
    diallers: 'addresses',
    control: { host: LISTEN, port: control },
  };
  return {
    command: {
      entrypoint: ['node', 'harness/places/links/proxy/main.ts'],
      args: [`${DATA_FOLDER}/${FOLDER}/${OPTIONS_FILE}`],
      env: { SVCNET_LABEL: token },
      health: listens(control),
    },
    folder: FOLDER,
    files: [{ path: OPTIONS_FILE, content: JSON.stringify(document) }],
  };
}

/** A program that succeeds if something listens on the port of its container. */
function listens(port: number): string[] {
  const script = `require('node:net').connect(${port}, '127.0.0.1')
    .on('connect', () => process.exit(0)).on('error', () => process.exit(1))`;
  return ['node', '-e', script];
}
