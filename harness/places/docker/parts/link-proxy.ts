import { pickFreePorts } from '../../../base/machine/ports.ts';
import { DATA_FOLDER, LISTEN } from '../../../flavours/inside-image.ts';
import { LINK_PROXY } from '../../driver.ts';
import type { ProxyOptions } from '../../links/proxy/proxy.ts';
import { controlAddress } from '../addresses.ts';
import type { PartContainer } from '../container.ts';

const OPTIONS_FILE = `${LINK_PROXY}/options.json`;

export async function proxyContainer(
  given: ProxyOptions,
  { token, listen }: { readonly token: string; readonly listen: string },
): Promise<PartContainer> {
  // No node's port there can be equal.
  const [port = 0] = await pickFreePorts(1);
  const control = { host: LISTEN, port };
  const options: ProxyOptions = { ...given, listen: LISTEN, diallers: 'addresses', control };
  return {
    part: LINK_PROXY,
    command: {
      entrypoint: ['node', 'harness/places/links/proxy/main.ts'],
      args: [`${DATA_FOLDER}/${OPTIONS_FILE}`],
      env: { SVCNET_LABEL: token },
      health: listens(port),
    },
    ports: [{ inside: port, outside: port, at: controlAddress(listen) }],
    files: [{ path: OPTIONS_FILE, content: JSON.stringify(options) }],
  };
}

function listens(port: number): string[] {
  const script = `require('node:net').connect(${port}, '127.0.0.1')
    .on('connect', () => process.exit(0)).on('error', () => process.exit(1))`;
  return ['node', '-e', script];
}
