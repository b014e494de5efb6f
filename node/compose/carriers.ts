import { type NodeOptions, OptionError } from '../options.ts';
import { CARRIERS } from '../p2p/address/underlay.ts';
import type { HostOptions } from '../p2p/host-options.ts';
import type { Foundation } from './foundation.ts';

/** What carries connections to peers, with the certificate of its listener. @throws OptionError for a file that cannot be read */
export async function givenCarriers(
  options: NodeOptions,
  { platform }: Pick<Foundation, 'platform'>,
): Promise<Pick<HostOptions, 'carriers' | 'secure' | 'authority'>> {
  const carriers = CARRIERS.filter((name) => options[`p2p-${name}-enable`]);
  if (!options['p2p-wss-enable']) return { carriers };
  const certificate = await read('p2p-wss-certificate');
  const key = await read('p2p-wss-key');
  const natAddress = options['nat-wss-addr'];
  return {
    carriers,
    secure: {
      listen: options['p2p-wss-addr'],
      certificate,
      key,
      ...(natAddress === '' ? {} : { natAddress }),
    },
    ...(options['p2p-wss-authority'] === '' ? {} : { authority: await read('p2p-wss-authority') }),
  };

  async function read(name: 'p2p-wss-certificate' | 'p2p-wss-key' | 'p2p-wss-authority'): Promise<string> {
    const path = options[name];
    try {
      const text = await platform.readText(path);
      if (text.includes('-----BEGIN ')) return text;
    } catch (cause) {
      throw new OptionError(`--${name} ${path}: ${(cause as Error).message}`, { cause });
    }
    throw new OptionError(`--${name} ${path}: expected PEM, which begins with -----BEGIN`);
  }
}
