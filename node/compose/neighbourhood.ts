/** Work with neighbours, and the storage game. */
import { createPlayer, type Player } from '../incentives/game.ts';
import { isFullySynced } from '../incentives/rules.ts';
import { createSampler } from '../incentives/sampler.ts';
import { createStaking, type OwnStake } from '../incentives/staking.ts';
import { createHandOver } from '../neighbourhood/hand-over.ts';
import { ownStatus } from '../neighbourhood/own-status.ts';
import { createPuller, type Puller } from '../neighbourhood/puller.ts';
import { createRepair, type Repair } from '../neighbourhood/repair.ts';
import { createReserveWorker, type ReserveWorker } from '../neighbourhood/reserve-worker.ts';
import { createSalud, type Salud } from '../neighbourhood/salud.ts';
import type { NodeOptions } from '../options.ts';
import { createStatus, type Status, type StatusSnapshot } from '../protocols/status/status.ts';
import type { Delivery, DeliveryDeps } from './delivery.ts';

const NO_CONTRACT = `0x${'00'.repeat(20)}`;

export interface Neighbourhood {
  readonly puller: Puller;
  readonly reserveWorker: ReserveWorker;
  readonly repair: Repair;
  readonly snapshot: () => StatusSnapshot;
  readonly status: Status;
  readonly salud: Salud;
}

export interface Incentives {
  readonly staking: OwnStake;
  readonly player: Player;
  readonly enabled: boolean;
}

interface NeighbourhoodDeps extends DeliveryDeps {
  readonly delivery: Delivery;
}

export function openNeighbourhood(options: NodeOptions, deps: NeighbourhoodDeps): Neighbourhood {
  const { clock, metrics, module, store, serving } = deps;
  const { postage } = deps.money;
  const { host, topology, isGiven, isKnown } = deps.network;
  const { reserve } = store;
  const puller = createPuller(
    { rateWindowMs: options['pull-rate-window'] },
    {
      host,
      topology,
      isGiven,
      isKnown,
      pullsync: deps.delivery.pullsync,
      reserve,
      state: store.state('puller'),
      clock,
      log: module('puller'),
      metrics,
    },
  );
  deps.parts.defer(reserve.onRadius(() => topology.radiusChanged()));
  const isGone = (id: Uint8Array) => postage.batches.get(id) === undefined && !postage.awaited(id);
  deps.parts.defer(postage.onExpired(() => store.uploads.forgetBatches(isGone)));
  const snapshot = () =>
    ownStatus({
      store,
      topology,
      postage,
      puller,
      fullNode: options['full-node'],
      serving,
      reachable: options.reachable,
      capacityDoubling: options['reserve-capacity-doubling'],
    });
  const status = createStatus({ host, clock, snapshot, log: module('status') });
  const { overlay } = host;
  const handOver = createHandOver({
    overlay,
    topology,
    status,
    pullsync: deps.delivery.pullsync,
    pushsync: deps.delivery.pushsync,
    batches: postage.batches,
    reserve,
    clock,
    log: module('handover'),
    metrics,
  });
  const reserveWorker = createReserveWorker(
    { wakeUpMs: options['reserve-wake-up'], minimumRadius: options['minimum-storage-radius'] },
    {
      reserve,
      postage,
      handOver,
      topology,
      overlay,
      pullRate: () => puller.rate(),
      onSettled: () => puller.start(),
      clock,
      log: module('reserve'),
      metrics,
    },
  );
  const salud = createSalud(
    { pauseMs: options['salud-pause'] },
    {
      host,
      topology,
      status,
      committedDepth: () => (serving ? snapshot().committedDepth : undefined),
      reserveSize: () => Number(snapshot().reserveSizeWithinRadius),
      clock,
      log: module('salud'),
      metrics,
    },
  );
  deps.parts.defer(reserve.onRadius(() => salud.radiusChanged()));
  salud.onNetworkRadius((radius) =>
    serving ? reserveWorker.networkRadius(radius) : topology.radiusChanged(),
  );
  const repair = createRepair({ store, retrieval: deps.delivery.retrieval, clock, log: module('repair') });
  return { puller, reserveWorker, repair, snapshot, status, salud };
}

interface IncentivesDeps extends DeliveryDeps {
  readonly neighbourhood: Neighbourhood;
}

export function openIncentives(options: NodeOptions, deps: IncentivesDeps): Incentives {
  const { clock, random, metrics, module, store, signer, serving, overlay } = deps;
  const { chain, contractTransactions, postage, pollMs, blockTimeMs } = deps.money;
  const { puller, salud, snapshot } = deps.neighbourhood;
  const { reserve } = store;
  const staking = createStaking(
    {
      registry: options['staking-address'] || NO_CONTRACT,
      token: options['token-address'],
      overlay,
      nonce: deps.nonce,
      height: options['reserve-capacity-doubling'],
      retryMs: blockTimeMs,
    },
    { chain, transactions: contractTransactions, signer, clock, log: module('staking') },
  );
  const enabled =
    serving &&
    options['storage-incentives-enable'] &&
    options['staking-address'] !== '' &&
    options['redistribution-address'] !== '';
  const roundLength = options['round-length'];
  const player = createPlayer(
    {
      game: options['redistribution-address'],
      token: options['token-address'],
      overlay,
      roundLength,
      pollMs,
    },
    {
      chain,
      head: chain.head,
      transactions: contractTransactions,
      signer,
      staking,
      sampler: createSampler({ roundLength }, { chain, reserve, postage, clock, metrics }),
      expireBatches: (ending) => postage.expireBatches(ending),
      committedDepth: () => snapshot().committedDepth,
      isFullySynced: () =>
        isFullySynced({
          size: reserve.size(),
          capacity: reserve.capacity(),
          pullRate: puller.rate(),
          isWarmingUp: !deps.network.warmUp.isOver(),
        }),
      isHealthy: () => salud.isHealthy(),
      state: store.state('redistribution'),
      clock,
      random,
      log: module('incentives'),
      metrics,
    },
  );
  return { staking, player, enabled };
}
