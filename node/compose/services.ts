import { createSigner } from '../../formats/crypto/signer.ts';
import { VERSION } from '../../formats/version.ts';
import { createAccessControl } from '../act/access-control.ts';
import type { NodeServices, Readiness } from '../api/services.ts';
import { createNetstore } from '../files/netstore.ts';
import { createStewardship } from '../files/stewardship.ts';
import { createUploader } from '../files/upload.ts';
import type { NodeOptions } from '../options.ts';
import { uploadKey } from '../protocols/tracing.ts';
import type { Delivery } from './delivery.ts';
import type { Foundation } from './foundation.ts';
import type { Money } from './money.ts';
import type { Incentives, Neighbourhood } from './neighbourhood.ts';
import type { Network } from './network.ts';

const NO_CHEQUEBOOK = new Uint8Array(20);

export interface ServicesDeps extends Foundation {
  readonly money: Money;
  readonly network: Network;
  readonly delivery: Delivery;
  readonly neighbourhood: Neighbourhood;
  readonly incentives: Incentives;
  readonly readiness: Readiness;
}

export function nodeServices(options: NodeOptions, deps: ServicesDeps): NodeServices {
  const { clock, random, metrics, tracing, store, keys, signer, money, network, delivery, incentives } = deps;
  const { chain, transactions, postage, swap } = money;
  const { pingpong, topology } = network;
  const { retrieval, pusher, pss, gsoc } = delivery;
  const { reserveWorker, snapshot, status } = deps.neighbourhood;
  const onWaiting = (tagUid: number) => tracing?.keep(uploadKey(tagUid));
  const uploader = createUploader({ postage, store, pusher, onWaiting, events: deps.events });
  return {
    node: {
      version: VERSION,
      mode: options['full-node'] ? 'full' : 'light',
      chequebookEnabled: money.sendsCheques,
      swapEnabled: swap !== undefined,
      incentivesEnabled: incentives.enabled,
      capacityDoubling: options['reserve-capacity-doubling'],
      ethereum: signer.address,
      publicKey: signer.publicKey,
      pssPublicKey: createSigner(keys.pss).publicKey,
    },
    readiness: deps.readiness,
    store,
    postage,
    uploader,
    workers: deps.workers,
    netstore: createNetstore({ store, retrieval }),
    stewardship: createStewardship({
      network: { get: (address, ending = deps.signal) => retrieval.retrieve(address, { signal: ending }) },
      uploader,
      postage,
      store,
    }),
    accessControl: createAccessControl(keys.swarm, { clock, random }),
    host: network.host,
    topology,
    accounting: network.accounting,
    pss,
    gsoc,
    swap,
    timeSettlements: network.pseudosettle,
    pingpong: {
      async ping(peer, ending) {
        const ms = await pingpong.ping(peer, ending);
        topology.measured(peer.overlayHex, ms);
        return ms;
      },
    },
    status: {
      local: snapshot,
      request: (peer, ending) => status.request(peer, ending),
      isWarmingUp: () => !network.warmUp.isOver(),
    },
    chunkEvents: deps.events,
    backlog: () => ({ congestion: reserveWorker.congestion(), uploads: pusher.held() }),
    chain,
    transactions,
    wallet: {
      ...money.wallet,
      chequebook: () => swap?.chequebook?.address ?? NO_CHEQUEBOOK,
    },
    staking: incentives.staking,
    redistribution: incentives.player,
    metrics,
    tracing,
    clock,
    random,
    log: deps.module('api'),
    loggers: deps.log,
  };
}
