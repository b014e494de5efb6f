import { systemClock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import type { AddressBook, Host } from '../../../node/p2p/host.ts';
import type { HostOptions } from '../../../node/p2p/host-options.ts';
import { createLibp2pHost } from '../../../node/p2p/libp2p-host.ts';
import { memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../../unit/p2p/memory-nodes.ts';

export interface Libp2pNode extends AsyncDisposable {
  readonly host: Host;
  readonly addressBook: AddressBook;
  readonly underlay: string;
  readonly port: number;
}

/** Node `n`, 1..255, listening. */
export async function libp2pNode(n: number, options: Partial<HostOptions> = {}): Promise<Libp2pNode> {
  const addressBook = createAddressBook(memoryRecords());
  const host = createLibp2pHost(
    {
      listen: '127.0.0.1:0',
      networkId: NETWORK_ID,
      nonce: ZERO_NONCE,
      fullNode: true,
      allowPrivateCidrs: true,
      welcomeMessage: `hello from ${n}`,
      ...options,
    },
    {
      identity: testKey(n),
      signer: createSigner(testKey(n)),
      addressBook,
      state: memoryRecords(),
      clock: systemClock(),
      random: systemRandom(),
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  await host.start();
  const underlay = host.underlays()[0] as string;
  const port = Number(/\/tcp\/(\d+)/.exec(underlay)?.[1]);
  return { host, addressBook, underlay, port, [Symbol.asyncDispose]: () => host.stop() };
}
