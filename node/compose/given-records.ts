import { toHex } from '../../formats/crypto/hex.ts';
import { type NodeOptions, OptionError } from '../options.ts';
import { parseRecords } from '../p2p/address/record-file.ts';
import { decodeUnderlays, peerIdOf } from '../p2p/address/underlay.ts';
import type { AddressRecord } from '../p2p/host.ts';
import type { Foundation } from './foundation.ts';

/** Records of peers that the node starts with. @throws OptionError */
export async function givenRecords(
  { 'peer-records': path }: Pick<NodeOptions, 'peer-records'>,
  { platform, networkId }: Pick<Foundation, 'platform' | 'networkId'>,
): Promise<readonly AddressRecord[]> {
  if (path === '') return [];
  try {
    return parseRecords(await platform.readText(path), networkId);
  } catch (cause) {
    throw new OptionError(`--peer-records ${path}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Listen addresses of the nodes in these records, by transport identity: nodes known from the start need not
 * be asked. Read when first needed.
 * @param holds whether the record of an overlay is still the one that was given
 */
export function whereGiven(
  given: readonly AddressRecord[],
  holds: (overlayHex: string) => boolean,
): (remoteId: string) => readonly string[] | undefined {
  let places: Map<string, { overlay: string; underlays: readonly string[] }> | undefined;
  return (remoteId) => {
    places ??= new Map(
      given.flatMap(({ overlay, underlay }) => {
        const underlays = decodeUnderlays(underlay);
        const id = peerIdOf(underlays[0] ?? '');
        return id === undefined ? [] : [[id, { overlay: toHex(overlay), underlays }]];
      }),
    );
    const place = places.get(remoteId);
    return place !== undefined && holds(place.overlay) ? place.underlays : undefined;
  };
}
