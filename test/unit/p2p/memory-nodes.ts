import type { Clock } from '../../../formats/clock.ts';
import { systemClock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { memoryRecords } from '../../../harness/flavours/dishonest/memory-records.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import type { CarrierName } from '../../../node/p2p/address/underlay.ts';
import type { AddressBook, Generation, Host } from '../../../node/p2p/host.ts';
import { createMemoryHost, MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import type { KademliaOptions } from '../../../node/topology/kademlia.ts';

/** Hosts, ledgers and tables of peers need it most. */
export { memoryRecords };

export const NETWORK_ID = 4020n;
export const ZERO_NONCE = new Uint8Array(32);

export const FULL_NODE: KademliaOptions = {
  onlyPeers: [],
  bootnodes: [],
  storageRadius: () => 0,
  allowPrivateCidrs: false,
  dedicatedBootnodes: false,
  bootnodeMode: false,
  reachable: true,
};

export function testKey(n: number): Uint8Array {
  return new Uint8Array(32).fill(n);
}

/** They change only while `disk` has room. */
export function fillableRecords(disk: { full: boolean }): KeyValueStore {
  const records = memoryRecords();
  const written = (write: () => Promise<void>) =>
    disk.full ? Promise.reject(new Error('no space left on device')) : write();
  return {
    ...records,
    put: (key, value) => written(() => records.put(key, value)),
    remove: (key) => written(() => records.remove(key)),
    batch: (changes) => written(() => records.batch(changes)),
  };
}

export interface MemoryNode {
  readonly host: Host;
  readonly addressBook: AddressBook;
  readonly state: KeyValueStore;
  readonly underlay: () => string;
}

export interface MemoryNodeOptions {
  readonly network: MemoryNetwork;
  /** 1..255: key and address. */
  readonly n: number;
  readonly fullNode?: boolean;
  readonly allowPrivateCidrs?: boolean;
  readonly networkId?: bigint;
  readonly clock?: Clock;
  readonly state?: KeyValueStore;
  readonly welcomeMessage?: string;
  readonly generations?: readonly Generation[];
  readonly onlyPeers?: readonly string[];
  readonly configured?: readonly string[];
  readonly carriers?: readonly CarrierName[];
  readonly listensAt?: (remoteId: string) => readonly string[] | undefined;
}

export function memoryNode(options: MemoryNodeOptions): MemoryNode {
  const state = options.state ?? memoryRecords();
  const addressBook = createAddressBook(memoryRecords());
  const host = createMemoryHost(
    {
      networkId: options.networkId ?? NETWORK_ID,
      nonce: ZERO_NONCE,
      fullNode: options.fullNode ?? true,
      allowPrivateCidrs: options.allowPrivateCidrs ?? true,
      welcomeMessage: options.welcomeMessage ?? '',
      listen: `10.0.0.${options.n}:1634`,
      onlyPeers: options.onlyPeers ?? [],
      configured: options.configured ?? [],
      ...(options.generations === undefined ? {} : { generations: options.generations }),
      ...(options.carriers === undefined ? {} : { carriers: options.carriers }),
      ...(options.listensAt === undefined ? {} : { listensAt: options.listensAt }),
    },
    {
      network: options.network,
      signer: createSigner(testKey(options.n)),
      identity: testKey(options.n),
      random: systemRandom(),
      addressBook,
      state,
      clock: options.clock ?? systemClock(),
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  return { host, addressBook, state, underlay: () => host.underlays()[0] as string };
}

export async function startedNodes(
  count: number,
  { network = new MemoryNetwork(), ...options }: Partial<MemoryNodeOptions> = {},
): Promise<MemoryNode[]> {
  const nodes = Array.from({ length: count }, (_, i) => memoryNode({ ...options, network, n: i + 1 }));
  for (const { host } of nodes) await host.start();
  return nodes;
}
