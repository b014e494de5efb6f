import { isResponsible } from '../../formats/chunk/address.ts';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { NodeOptions } from '../options.ts';
import { createPullsync, type Pullsync } from '../protocols/pullsync/pullsync.ts';
import { createPusher, type Pusher } from '../protocols/pushsync/pusher.ts';
import { createPushsync, type Pushsync } from '../protocols/pushsync/pushsync.ts';
import { refusingHost } from '../protocols/refusal.ts';
import { createRetrieval, type Retrieval } from '../protocols/retrieval/retrieval.ts';
import { SERVED_AS, tracedHost, tracedPushsync, tracedRetrieval } from '../protocols/tracing.ts';
import { createGsoc, type Gsoc } from '../pss/gsoc.ts';
import { createPss, type Pss } from '../pss/pss.ts';
import type { Foundation } from './foundation.ts';
import type { Money } from './money.ts';
import type { Network } from './network.ts';

export interface Delivery {
  readonly retrieval: Retrieval;
  readonly pushsync: Pushsync;
  readonly pusher: Pusher;
  readonly pullsync: Pullsync;
  readonly pss: Pss;
  readonly gsoc: Gsoc;
}

export interface DeliveryDeps extends Foundation {
  readonly money: Money;
  readonly network: Network;
}

export function openDelivery(options: NodeOptions, deps: DeliveryDeps): Delivery {
  const { clock, random, metrics, tracing, module, store, signer, serving, networkId, nonce, events } = deps;
  const { postage } = deps.money;
  const { host, topology, accounting } = deps.network;
  const { reserve } = store;
  const { limits } = deps.platform;
  // Streams of these are opened only to full peers; a node that serves none refuses them.
  const serverHost = serving ? host : refusingHost(host);
  const carryingHost = tracing === undefined ? serverHost : tracedHost(serverHost, tracing, SERVED_AS);
  const shared = { host: carryingHost, topology, accounting, store, clock, metrics, tracing, events };
  const plainRetrieval = createRetrieval({
    ...shared,
    searches: limits?.searches,
    log: module('retrieval'),
  });
  const retrieval = tracing === undefined ? plainRetrieval : tracedRetrieval(plainRetrieval, tracing);
  const onDelivered = (chunk: Chunk) => {
    pss.offer(chunk);
    gsoc.offer(chunk);
  };
  const plainPushsync = createPushsync(
    {
      networkId,
      nonce,
      fullNode: serving,
      reachable: options.reachable,
      capacityDoubling: options['reserve-capacity-doubling'],
    },
    { ...shared, postage, signer, onDelivered, log: module('pushsync') },
  );
  const pushsync = tracing === undefined ? plainPushsync : tracedPushsync(plainPushsync, tracing);
  const pusher = createPusher({
    pushsync,
    store,
    postage,
    storageRadius: () => topology.storageRadius(),
    isResponsible: (address) =>
      serving && options.reachable && isResponsible(host.overlay, address, topology.storageRadius()),
    onDelivered,
    clock,
    log: module('pusher'),
    metrics,
    events,
    pushes: limits?.pushes,
  });
  const pullsync = createPullsync(
    { bySum: options['pullsync-v2-enable'] },
    {
      ...shared,
      host: serverHost,
      reserve,
      postage,
      onDelivered,
      offeredEntries: limits?.offeredEntries,
      log: module('pullsync'),
    },
  );
  const pss = createPss(
    { privateKey: deps.keys.pss },
    { pushsync, reserve, postage, clock, random, log: module('pss'), metrics },
  );
  deps.parts.defer(() => pss.stop());
  const gsoc = createGsoc({ clock });
  return { retrieval, pushsync, pusher, pullsync, pss, gsoc };
}
