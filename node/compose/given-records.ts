import { type NodeOptions, OptionError } from '../options.ts';
import { parseRecords } from '../p2p/address/record-file.ts';
import type { AddressRecord } from '../p2p/host.ts';
import type { Ground } from './ground.ts';

/** Records of peers that the node is to begin with. @throws OptionError */
export async function givenRecords(
  { 'peer-records': path }: Pick<NodeOptions, 'peer-records'>,
  { platform, networkId }: Pick<Ground, 'platform' | 'networkId'>,
): Promise<readonly AddressRecord[]> {
  if (path === '') return [];
  try {
    return parseRecords(await platform.readText(path), networkId);
  } catch (cause) {
    throw new OptionError(`--peer-records ${path}: ${(cause as Error).message}`, { cause });
  }
}
