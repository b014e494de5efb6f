import { toHex } from '../../formats/crypto/hex.ts';
import { SharedResults } from '../../formats/shared-results.ts';
import { type NodeOptions, OptionError } from '../options.ts';
import { parseRecords } from '../p2p/address/record-file.ts';
import { decodeUnderlays, peerIdOf } from '../p2p/address/underlay.ts';
import type { AddressRecord } from '../p2p/host.ts';
import type { Foundation } from './foundation.ts';

interface Place {
  readonly overlay: string;
  /** Multiaddresses. */
  readonly underlays: readonly string[];
}

/** Never changed: nodes of one process share them. */
export class GivenRecords {
  readonly #byOverlay: ReadonlyMap<string, AddressRecord>;
  #places: ReadonlyMap<string, Place> | undefined;

  constructor(records: readonly AddressRecord[]) {
    this.#byOverlay = new Map(records.map((record) => [toHex(record.overlay), record]));
  }

  /** In the given order. */
  except(overlayHex: string): Iterable<readonly [string, AddressRecord]> {
    return this.#byOverlay.entries().filter(([id]) => id !== overlayHex);
  }

  of(overlayHex: string): AddressRecord | undefined {
    return this.#byOverlay.get(overlayHex);
  }

  /** Whether one of these nodes was given another's record: each was given those made no later than its own. */
  had(overlayHex: string, otherHex: string): boolean {
    const [own, other] = [this.of(overlayHex), this.of(otherHex)];
    return own !== undefined && other !== undefined && other.timestamp <= own.timestamp;
  }

  /** Nodes known from the start need not be asked where they listen. */
  placeOf(remoteId: string): Place | undefined {
    this.#places ??= new Map(
      this.#byOverlay.entries().flatMap(([overlay, { underlay }]) => {
        const underlays = decodeUnderlays(underlay);
        const id = peerIdOf(underlays[0] ?? '');
        return id === undefined ? [] : [[id, { overlay, underlays }] as const];
      }),
    );
    return this.#places.get(remoteId);
  }
}

export async function givenRecords(
  { 'peer-records': path }: Pick<NodeOptions, 'peer-records'>,
  { platform, networkId }: Pick<Foundation, 'platform' | 'networkId'>,
): Promise<GivenRecords> {
  if (path === '') return new GivenRecords([]);
  const read = (text: string) => new GivenRecords(parseRecords(text, networkId));
  try {
    const text = await platform.readText(path);
    return SharedResults.current()?.meaningOf(`records of network ${networkId}`, text, read) ?? read(text);
  } catch (cause) {
    throw new OptionError(`--peer-records ${path}: ${(cause as Error).message}`, { cause });
  }
}
