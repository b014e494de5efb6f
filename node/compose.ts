/**
 * Composition root: builds the parts of a node bottom-up, in the order in which they need each other, and stops them
 * top-down. The only file that knows them all; it decides nothing else.
 */
import { join } from 'node:path';
import { createAccounting } from './accounting/accounting.ts';
import { paymentTerms } from './accounting/terms.ts';
import { createAccessControl } from './act/access-control.ts';
import { dialectOf } from './api/dialect.ts';
import { type Api, createApi } from './api/server.ts';
import type { NodeServices } from './api/services.ts';
import type { Chunk } from './chunk/chunk.ts';
import { toHex } from './crypto/hex.ts';
import { overlayAddress } from './crypto/overlay.ts';
import { createSigner } from './crypto/signer.ts';
import { abortable } from './env/abortable.ts';
import { systemClock } from './env/clock.ts';
import { createLogger, type Logger } from './env/logger.ts';
import { createMetrics } from './env/metrics.ts';
import { type Random, systemRandom } from './env/random.ts';
import { createNetstore } from './files/netstore.ts';
import { createUploader } from './files/upload.ts';
import { createGsoc } from './gsoc/gsoc.ts';
import { createPlayer } from './incentives/game.ts';
import { isFullySynced } from './incentives/rules.ts';
import { createSampler } from './incentives/sampler.ts';
import { createStaking } from './incentives/staking.ts';
import { ownStatus } from './neighbourhood/own-status.ts';
import { createPuller } from './neighbourhood/puller.ts';
import { createReserveWorker } from './neighbourhood/reserve-worker.ts';
import { createSalud } from './neighbourhood/salud.ts';
import { createWarmUp } from './neighbourhood/warmup.ts';
import { withDebugGas } from './onchain/debug-mode.ts';
import { createRpc } from './onchain/rpc.ts';
import { createTransactions } from './onchain/transactions.ts';
import { createWallet } from './onchain/wallet.ts';
import type { NodeOptions } from './options.ts';
import { createAddressBook } from './p2p/address-book.ts';
import { createLibp2pHost } from './p2p/libp2p-host.ts';
import { createPostage } from './postage/postage.ts';
import { createHive } from './protocols/hive/hive.ts';
import { createPingpong } from './protocols/pingpong/pingpong.ts';
import { createPricing } from './protocols/pricing/pricing.ts';
import { createPseudosettle } from './protocols/pseudosettle/pseudosettle.ts';
import { createPullsync } from './protocols/pullsync/pullsync.ts';
import { createPusher } from './protocols/pushsync/pusher.ts';
import { createPushsync } from './protocols/pushsync/pushsync.ts';
import { refusingHost } from './protocols/refusal.ts';
import { createRetrieval } from './protocols/retrieval/retrieval.ts';
import { createStatus } from './protocols/status/status.ts';
import { createSwap } from './protocols/swap/swap.ts';
import { createPss } from './pss/pss.ts';
import { createStewardship } from './stewardship/stewardship.ts';
import { loadOrCreateKey } from './store/key-store.ts';
import { openLmdbStore } from './store/lmdb-store.ts';
import { SwapServices } from './swap/services.ts';
import { createKademlia } from './topology/kademlia.ts';
import { VERSION } from './version.ts';

/** A running node. */
export interface RunningNode {
  /** Resolves when `signal` aborts, or with the reason when the node can not go on by itself. */
  stopped(signal: AbortSignal): Promise<Error | undefined>;
  /** Everything, top-down; what was acknowledged stays. */
  stop(): Promise<void>;
}

/** Default overlay nonce: none is mined. */
const OVERLAY_NONCE = new Uint8Array(32);
/** Chequebook of a node that has none. */
const NO_CHEQUEBOOK = new Uint8Array(20);
/** Where there is no contract: whoever asks there gets nothing for an answer. */
const NO_CONTRACT = `0x${'00'.repeat(20)}`;
const MS_PER_SECOND = 1000;

/**
 * @throws ChainError, StoreError, KeystoreError, ApiStartError and others that say what could not be had; nothing runs then
 */
export async function startNode(options: NodeOptions, signal: AbortSignal): Promise<RunningNode> {
  const log = createLogger({
    verbosity: options.verbosity,
    ...(options['node-name'] === '' ? {} : { name: options['node-name'] }),
  });
  const fatal = Promise.withResolvers<Error>();
  await using parts = new AsyncDisposableStack();
  const node = await build(options, {
    log,
    parts,
    onFatal: (error) => fatal.resolve(asError(error)),
    signal,
  });
  log.info({ overlay: node.overlay, api: node.api.addresses.main }, 'node is ready');
  const running = parts.move();
  return {
    stopped: (stopping) => Promise.race([fatal.promise, aborted(stopping)]),
    async stop() {
      await running.disposeAsync();
      log.info('node has stopped');
    },
  };
}

interface BuildContext {
  readonly log: Logger;
  /** What was started, in order; disposing it stops the last one first. */
  readonly parts: AsyncDisposableStack;
  readonly onFatal: (error: unknown) => void;
  readonly signal: AbortSignal;
}

async function build(
  options: NodeOptions,
  { log, parts, onFatal, signal }: BuildContext,
): Promise<{ api: Api; overlay: string }> {
  const clock = systemClock();
  const random = systemRandom();
  const metrics = createMetrics({ prefix: dialectOf(options['api-dialect']).metricPrefix, process: true });
  const module = (name: string) => log.child({ module: name });
  const keys = await loadKeys(options, random);
  const signer = createSigner(keys.swarm);
  const networkId = BigInt(options['network-id']);
  const overlay = overlayAddress(signer.address, networkId, OVERLAY_NONCE);

  const fullNode = options['full-node'];
  const bootnodeMode = options['bootnode-mode'];
  /** It stores and forwards for others. */
  const serving = fullNode && !bootnodeMode;
  const capacityDoubling = options['reserve-capacity-doubling'];
  const reserveCapacity = options['reserve-capacity'] * 2 ** capacityDoubling;
  const store = await openLmdbStore(
    {
      path: join(options['data-dir'], 'store'),
      cacheCapacity: options['cache-capacity'],
      reserveCapacity: serving ? reserveCapacity : 0,
      radius: options['minimum-storage-radius'],
    },
    { clock, log, overlay },
  );
  parts.defer(() => store.close());

  const rpc = createRpc({ endpoint: options['swap-endpoint'] }, { clock, log: module('onchain'), metrics });
  parts.defer(() => rpc.close());
  const chainPollMs = Math.min(options['chain-poll-interval'], options['block-time'] * MS_PER_SECOND);
  const transactions = createTransactions(
    {
      pollIntervalMs: chainPollMs,
      minimumTip: BigInt(options['minimum-gas-tip-cap']),
      gasLimitFallback: BigInt(options['gas-limit-fallback']),
    },
    { rpc, signer, clock, state: store.state('transactions'), log: module('onchain'), metrics },
  );
  parts.defer(() => transactions.stop());
  transactions.start();
  // Of batches, stakes and the game.
  const contractTransactions = options['transaction-debug-mode'] ? withDebugGas(transactions) : transactions;
  const postage = createPostage(
    {
      contract: options['postage-stamp-address'],
      token: options['token-address'],
      startBlock: options['postage-stamp-start-block'],
      usableBlocks: options['usable-blocks'],
      tailBlocks: options['chain-tail-blocks'],
      batchFactor: options['chain-batch-factor'],
      pollIntervalMs: options['chain-poll-interval'],
      blockTimeMs: options['block-time'] * MS_PER_SECOND,
      reserveCapacity,
    },
    {
      chain: rpc,
      transactions: contractTransactions,
      state: (subsystem) => store.state(subsystem),
      signer,
      clock,
      log: module('postage'),
      metrics,
      onFatal,
    },
  );

  const sendsCheques = options['swap-enable'] && options['chequebook-enable'];
  const swap = options['swap-enable']
    ? new SwapServices(
        {
          factory: options['swap-factory-address'],
          oracle: options['price-oracle-address'],
          oracleIntervalMs: options['price-oracle-interval'],
          token: options['token-address'],
          chequebook: sendsCheques
            ? {
                address: options['chequebook-address'],
                initialDeposit: options['swap-initial-deposit'],
              }
            : undefined,
        },
        { chain: rpc, transactions, state: store.state('swap'), signer, clock, random, log: module('swap') },
      )
    : undefined;

  const { reserve } = store;
  const addressBook = createAddressBook(
    store.state('addressbook'),
    (id) => host.peer(id) !== undefined || (accounting.balance(id)?.balance ?? 0n) !== 0n,
  );
  const host = createLibp2pHost(
    {
      listen: options['p2p-addr'],
      networkId,
      nonce: OVERLAY_NONCE,
      fullNode,
      allowPrivateCidrs: options['allow-private-cidrs'],
      welcomeMessage: options['welcome-message'],
      chequebook: () => swap?.chequebook?.address,
      ...(options['nat-addr'] === '' ? {} : { natAddress: options['nat-addr'] }),
    },
    {
      signer,
      identity: keys.libp2p,
      addressBook,
      state: store.state('p2p'),
      clock,
      random,
      log: module('p2p'),
      metrics,
    },
  );

  const allowPrivateCidrs = options['allow-private-cidrs'];
  const { reachable } = options;
  const cheques =
    swap === undefined
      ? undefined
      : createSwap(
          { factory: options['swap-factory-address'], beneficiary: signer.address },
          {
            host,
            accounting: {
              paymentReceived: (peer, amount) => accounting.paymentReceived(peer, amount),
              paidAhead: (peer, amount) => accounting.paidAhead(peer, amount),
            },
            swap,
            chain: rpc,
            clock,
            log: module('swap'),
            metrics,
          },
        );
  const terms = paymentTerms(options);
  // Accounting asks for a refresh and announces a threshold; both protocols are built on accounting in turn.
  const accounting = createAccounting(terms, {
    host,
    clock,
    state: store.state('accounting'),
    log: module('accounting'),
    metrics,
    refresh: (peer, amount) => pseudosettle.settle(peer, amount),
    ...(cheques === undefined || !sendsCheques
      ? {}
      : { pay: (peer, amount) => cheques.pay(peer, amount), inDoubt: (peer) => cheques.inDoubt(peer) }),
    announce: (peer) => {
      pricing
        .announce(peer, peer.closed)
        .catch((error: unknown) => log.debug({ err: error, peer: peer.id }, 'threshold not announced'));
    },
  });
  parts.defer(() => accounting.stop());
  // The order of the connect hooks: an account first, then what we grant.
  const pseudosettle = createPseudosettle(terms, {
    host,
    accounting,
    state: store.state('pseudosettle'),
    clock,
    log: module('pseudosettle'),
    metrics,
  });
  const pricing = createPricing(terms, { host, accounting, clock, log: module('pricing'), metrics });
  const hive = createHive(
    { networkId, allowPrivateCidrs, bootnodeMode },
    { host, addressBook, clock, log: module('hive'), metrics },
  );
  const pingpong = createPingpong({ host, clock, log: module('pingpong'), metrics });
  const topology = createKademlia(
    {
      bootnodes: options.bootnode,
      // Without a reserve of its own the node goes by that of the others.
      storageRadius: () =>
        serving ? reserve.radius() : (salud.networkRadius() ?? options['minimum-storage-radius']),
      allowPrivateCidrs,
      dedicatedBootnodes: options['dedicated-bootnodes'],
      bootnodeMode,
      reachable,
    },
    {
      host,
      hive,
      addressBook,
      clock,
      random,
      log: module('kademlia'),
      metrics,
      state: store.state('kademlia'),
    },
  );

  const warmUp = createWarmUp({ timeMs: fullNode ? options['warmup-time'] : 0 }, { clock, metrics });
  parts.defer(() => warmUp.stop());
  host.onConnected((peer) => {
    if (peer.fullNode) warmUp.connected();
  });

  // Streams of these three protocols are opened to full peers alone, and a node that serves none refuses them.
  const serverHost = serving ? host : refusingHost(host);
  const shared = { host: serverHost, topology, accounting, store, clock, metrics };
  const retrieval = createRetrieval({ ...shared, log: module('retrieval') });
  // Messages come in chunks, and messaging sends chunks in turn.
  const onDelivered = (chunk: Chunk) => {
    pss.offer(chunk);
    gsoc.offer(chunk);
  };
  const pushsync = createPushsync(
    { networkId, nonce: OVERLAY_NONCE, fullNode: serving, reachable, capacityDoubling },
    { ...shared, postage, signer, onDelivered, log: module('pushsync') },
  );
  const pusher = createPusher({ pushsync, store, postage, clock, log: module('pusher'), metrics });
  const pullsync = createPullsync({ ...shared, reserve, postage, onDelivered, log: module('pullsync') });
  const pss = createPss(
    { privateKey: keys.pss },
    { pushsync, reserve, postage, clock, random, log: module('pss'), metrics },
  );
  parts.defer(() => pss.stop());
  const gsoc = createGsoc({ clock });
  const puller = createPuller(
    { rateWindowMs: options['pull-rate-window'] },
    {
      host,
      topology,
      pullsync,
      reserve,
      state: store.state('puller'),
      clock,
      log: module('puller'),
      metrics,
    },
  );
  parts.defer(reserve.onRadius(() => topology.radiusChanged()));
  const reserveWorker = createReserveWorker(
    { wakeUpMs: options['reserve-wake-up'], minimumRadius: options['minimum-storage-radius'] },
    {
      reserve,
      postage,
      pullRate: () => puller.rate(),
      onSettled: () => puller.start(),
      clock,
      log: module('reserve'),
      metrics,
    },
  );
  const snapshot = () =>
    ownStatus({ store, topology, postage, puller, fullNode, serving, reachable, capacityDoubling });
  const status = createStatus({ host, clock, snapshot, log: module('status') });
  const salud = createSalud(
    { pauseMs: options['salud-pause'] },
    {
      host,
      topology,
      status,
      committedDepth: () => (serving ? snapshot().committedDepth : undefined),
      clock,
      log: module('salud'),
      metrics,
    },
  );
  salud.onNetworkRadius((radius) =>
    serving ? reserveWorker.networkRadius(radius) : topology.radiusChanged(),
  );

  const staking = createStaking(
    {
      registry: options['staking-address'] || NO_CONTRACT,
      token: options['token-address'],
      overlay,
      nonce: OVERLAY_NONCE,
      height: capacityDoubling,
      retryMs: options['block-time'] * MS_PER_SECOND,
    },
    { chain: rpc, transactions: contractTransactions, signer, clock, log: module('staking') },
  );
  const incentivesEnabled =
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
      pollMs: chainPollMs,
    },
    {
      chain: rpc,
      transactions: contractTransactions,
      signer,
      staking,
      sampler: createSampler({ roundLength }, { chain: rpc, reserve, postage, clock, metrics }),
      expireBatches: (ending) => postage.expireBatches(ending),
      committedDepth: () => snapshot().committedDepth,
      isFullySynced: () =>
        isFullySynced({
          size: reserve.size(),
          capacity: reserve.capacity(),
          pullRate: puller.rate(),
          isWarmingUp: !warmUp.isOver(),
        }),
      isHealthy: () => salud.isHealthy(),
      state: store.state('redistribution'),
      clock,
      random,
      log: module('incentives'),
      metrics,
    },
  );

  const uploader = createUploader({ postage, store, pusher });
  let readiness: 'starting' | 'ready' = 'starting';
  const services: NodeServices = {
    node: {
      version: VERSION,
      mode: fullNode ? 'full' : 'light',
      chequebookEnabled: sendsCheques,
      swapEnabled: swap !== undefined,
      incentivesEnabled,
      capacityDoubling,
      ethereum: signer.address,
      publicKey: signer.publicKey,
      pssPublicKey: createSigner(keys.pss).publicKey,
    },
    readiness: { state: () => readiness },
    store,
    postage,
    uploader,
    netstore: createNetstore({ store, retrieval }),
    stewardship: createStewardship({
      network: { get: (address, ending = signal) => retrieval.retrieve(address, { signal: ending }) },
      uploader,
      postage,
      store,
    }),
    accessControl: createAccessControl(keys.swarm, { clock, random }),
    host,
    topology,
    accounting,
    pss,
    gsoc,
    swap,
    timeSettlements: pseudosettle,
    pingpong: {
      async ping(peer, ending) {
        const ms = await pingpong.ping(peer, ending);
        topology.measured(peer.id, ms);
        return ms;
      },
    },
    status: {
      local: snapshot,
      request: (peer, ending) => status.request(peer, ending),
      isWarmingUp: () => !warmUp.isOver(),
    },
    chain: rpc,
    transactions,
    wallet: {
      ...createWallet(
        {
          token: options['token-address'],
          account: signer.address,
          withdrawalAddresses: options['withdrawal-addresses-whitelist'].map((one) => one.toLowerCase()),
        },
        { chain: rpc, transactions },
      ),
      chequebook: () => swap?.chequebook?.address ?? NO_CHEQUEBOOK,
    },
    staking,
    redistribution: player,
    metrics,
    clock,
    random,
    log: module('api'),
  };
  const api = createApi(
    {
      address: options['api-addr'],
      ...(options['debug-api-enable'] ? { debugAddress: options['debug-api-addr'] } : {}),
      dialect: options['api-dialect'],
      corsAllowedOrigins: options['cors-allowed-origins'],
    },
    services,
  );

  // The API answers first, with little at the beginning, and stops first, so that nothing new arrives at the end.
  // A start that is given up leaves its work behind: whoever disposes of the part ends that.
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
  parts.defer(() => salud.stop());
  warmUp.onOver(() => salud.start());
  parts.defer(() => pusher.stop());
  pusher.start();
  parts.defer(() => staking.stop());
  if (fullNode && options['staking-address'] !== '') staking.start();
  parts.defer(() => player.stop());
  if (incentivesEnabled) player.start();
  parts.defer(stopApi);
  readiness = 'ready';
  return { api, overlay: toHex(overlay) };
}

interface Keys {
  readonly swarm: Uint8Array;
  readonly libp2p: Uint8Array;
  readonly pss: Uint8Array;
}

async function loadKeys(options: NodeOptions, random: Random): Promise<Keys> {
  const load = async (name: keyof Keys, kind: 'secp256k1' | 'ed25519') => {
    const directory = join(options['data-dir'], 'keys');
    const { secret } = await loadOrCreateKey(
      { directory, name, password: options.password, kind },
      { random },
    );
    return secret;
  };
  return {
    swarm: await load('swarm', 'secp256k1'),
    libp2p: await load('libp2p', 'ed25519'),
    pss: await load('pss', 'secp256k1'),
  };
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
