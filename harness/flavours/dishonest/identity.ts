import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import type { Host } from '../../../node/p2p/host.ts';
import type { HostDeps, HostOptions } from '../../../node/p2p/host-options.ts';
import { HIVE } from '../../../node/protocols/hive/wire.ts';
import { PRICING } from '../../../node/protocols/pricing/wire.ts';
import type { Stage } from './behaviour.ts';
import { memoryRecords } from './memory-records.ts';

const KEY_SIZE = 32;

export function newSigner({ random }: Pick<Stage, 'random'>): Signer {
  return createSigner(random.bytes(KEY_SIZE));
}

/** Listens on a free loopback port once started; the caller handles all but greetings. */
export function newIdentity(
  { newHost, options, deps, random }: Pick<Stage, 'newHost' | 'options' | 'deps' | 'random'>,
  differently: { options?: Partial<HostOptions>; deps?: Partial<HostDeps> } = {},
): Host {
  const { networkId, nonce, fullNode, allowPrivateCidrs } = options;
  const host = newHost(
    {
      listen: '127.0.0.1:0',
      networkId,
      nonce,
      fullNode,
      allowPrivateCidrs,
      welcomeMessage: '',
      ...differently.options,
    },
    {
      identity: random.bytes(KEY_SIZE),
      signer: newSigner({ random }),
      addressBook: createAddressBook(memoryRecords()),
      state: memoryRecords(),
      clock: deps.clock,
      random,
      log: deps.log,
      metrics: createMetrics({ prefix: 'dishonest' }),
      ...differently.deps,
    },
  );
  // Peers drop a host that refuses these messages.
  for (const protocol of [PRICING, ...Object.values(HIVE)]) {
    host.handle(protocol, async (stream) => void (await stream.read({})));
  }
  return host;
}
