/** Builds a node's parts in dependency order and stops them top-down. Each group is built in a file of `compose/`. */

import { toHex } from '../formats/crypto/hex.ts';
import { type Api, createApi } from './api/server.ts';
import { givenCarriers } from './compose/carriers.ts';
import { type Delivery, openDelivery } from './compose/delivery.ts';
import { type Foundation, layFoundation, type Start } from './compose/foundation.ts';
import { givenRecords } from './compose/given-records.ts';
import { type Money, openMoney } from './compose/money.ts';
import {
  type Incentives,
  type Neighbourhood,
  openIncentives,
  openNeighbourhood,
} from './compose/neighbourhood.ts';
import { type Network, openNetwork } from './compose/network.ts';
import { nodeServices } from './compose/services.ts';
import { abortable } from './env/abortable.ts';
import type { NodeOptions } from './options.ts';
import type { Platform } from './platform/platform.ts';

export interface RunningNode {
  /** `host:port` of the API. */
  readonly addresses: Api['addresses'];
  /** When `signal` aborts, or with the reason when the node cannot continue. */
  stopped(signal: AbortSignal): Promise<Error | undefined>;
  /** Acknowledged data stays. */
  stop(): Promise<void>;
}

/**
 * @throws ChainError, StoreError, KeystoreError, ApiStartError and others that say what was unavailable; then nothing runs
 */
export async function startNode(
  options: NodeOptions,
  platform: Platform,
  signal: AbortSignal,
): Promise<RunningNode> {
  const log = platform.logger(
    {
      verbosity: options.verbosity,
      ...(options['node-name'] === '' ? {} : { name: options['node-name'] }),
    },
    platform,
  );
  const fatal = Promise.withResolvers<Error>();
  await using parts = new AsyncDisposableStack();
  const node = await build(options, {
    platform,
    log,
    parts,
    onFatal: (error) => fatal.resolve(asError(error)),
    signal,
  });
  log.info({ overlay: node.overlay, api: node.api.addresses.main }, 'node is ready');
  const running = parts.move();
  return {
    addresses: node.api.addresses,
    stopped: (stopping) => Promise.race([fatal.promise, aborted(stopping)]),
    async stop() {
      await running.disposeAsync();
      log.info('node has stopped');
    },
  };
}

/** Below the API; some have started. */
interface Built {
  readonly foundation: Foundation;
  readonly money: Money;
  readonly network: Network;
  readonly delivery: Delivery;
  readonly neighbourhood: Neighbourhood;
  readonly incentives: Incentives;
}

async function build(options: NodeOptions, start: Start): Promise<{ api: Api; overlay: string }> {
  const foundation = await layFoundation(options, start);
  const money = openMoney(options, foundation);
  const network = openNetwork(options, {
    ...foundation,
    money,
    given: await givenRecords(options, foundation),
    carriers: await givenCarriers(options, foundation),
    networkRadius: () => neighbourhood.salud.networkRadius(),
  });
  const delivery = openDelivery(options, { ...foundation, money, network });
  const neighbourhood: Neighbourhood = openNeighbourhood(options, {
    ...foundation,
    money,
    network,
    delivery,
  });
  const incentives = openIncentives(options, { ...foundation, money, network, neighbourhood });
  let readiness: 'starting' | 'ready' = 'starting';
  const services = nodeServices(options, {
    ...foundation,
    money,
    network,
    delivery,
    neighbourhood,
    incentives,
    readiness: { state: () => readiness },
  });
  const api = createApi(
    {
      address: options['api-addr'],
      ...(options['debug-api-enable'] ? { debugAddress: options['debug-api-addr'] } : {}),
      dataOnly: options['api-data-only'],
      dialect: options['api-dialect'],
      corsAllowedOrigins: options['cors-allowed-origins'],
      allowedHosts: options['allowed-hosts'],
      tokens: {
        api: options['api-token'],
        apiRead: options['api-read-token'],
        debug: options['debug-api-token'],
      },
      idleTimeoutMs: options['api-idle-timeout'],
    },
    services,
    start.platform.listen,
  );
  await startAll(options, api, { foundation, money, network, delivery, neighbourhood, incentives });
  readiness = 'ready';
  return { api, overlay: toHex(foundation.overlay) };
}

/**
 * The API starts first and stops first, so that nothing new arrives at the end. Disposing ends the work of an aborted start.
 */
async function startAll(options: NodeOptions, api: Api, built: Built): Promise<void> {
  const { parts, signal, serving } = built.foundation;
  const { swap, postage } = built.money;
  const { host, topology, warmUp } = built.network;
  const { pusher } = built.delivery;
  const { puller, reserveWorker, repair, salud } = built.neighbourhood;
  const { staking, player, enabled: playsGame } = built.incentives;
  const stopApi = once(() => api.stop());
  parts.defer(stopApi);
  await api.start();
  if (swap !== undefined) {
    parts.defer(() => swap.stop());
    await abortable(swap.start(signal), signal);
  }
  parts.defer(() => host.stop());
  await host.start();
  parts.defer(() => postage.stop());
  await abortable(postage.start(), signal);
  parts.defer(() => topology.stop());
  await topology.start();
  parts.defer(() => puller.stop());
  parts.defer(() => reserveWorker.stop());
  if (serving) reserveWorker.start();
  parts.defer(() => repair.stop());
  repair.start();
  parts.defer(() => salud.stop());
  warmUp.onOver(() => salud.start());
  parts.defer(() => pusher.stop());
  pusher.start();
  parts.defer(() => staking.stop());
  if (options['full-node'] && options['staking-address'] !== '') staking.start();
  parts.defer(() => player.stop());
  if (playsGame) player.start();
  parts.defer(stopApi);
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
