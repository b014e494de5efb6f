import type { ContractAddresses } from '../../../chain/deployment/deploy.ts';
import { resolveOptions } from '../../../node/option-sources.ts';
import type { NodeOptions } from '../../../node/options.ts';

export function nodeOptions(
  { token, postageStamp }: ContractAddresses,
  changed: Record<string, string> = {},
): NodeOptions {
  const given = {
    'api-addr': '127.0.0.1:0',
    'p2p-addr': '127.0.0.1:0',
    'swap-endpoint': 'http://127.0.0.1:9',
    'token-address': token,
    'postage-stamp-address': postageStamp,
    'postage-stamp-start-block': '1',
    'block-time': '1',
    'usable-blocks': '0',
    'chain-tail-blocks': '0',
    'chain-batch-factor': '1',
    'chain-poll-interval': '50ms',
    'allow-private-cidrs': 'true',
    'warmup-time': '200ms',
    'reserve-capacity': '4096',
    'storage-incentives-enable': 'false',
    ...changed,
  };
  const argv = Object.entries(given).map(([name, value]) => `--${name}=${value}`);
  return resolveOptions(argv, {}, () => ({}));
}
