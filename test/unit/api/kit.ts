/** A node made of small simulated ports, and both listeners over it, for tests that inject requests. */
import { type InjectOptions, inject, type Response } from 'light-my-request';
import { createAccessControl } from '../../../node/act/access-control.ts';
import { type DialectName, dialectOf } from '../../../node/api/dialect.ts';
import type { Listener } from '../../../node/api/listen.ts';
import { createListeners } from '../../../node/api/server.ts';
import type { NodeServices } from '../../../node/api/services.ts';
import { type Chunk, ChunkNotFoundError } from '../../../node/chunk/chunk.ts';
import { equalBytes, toHex } from '../../../node/crypto/hex.ts';
import { createSigner } from '../../../node/crypto/signer.ts';
import { systemClock } from '../../../node/env/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { systemRandom } from '../../../node/env/random.ts';
import { createUploader } from '../../../node/files/upload.ts';
import { type BlocklistEntry, HostError, type Peer } from '../../../node/p2p/host.ts';
import { type Batch, type Issuer, type Postage, PostageError } from '../../../node/postage/ports.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import type { Message } from '../../../node/pss/pss.ts';
import { createStewardship } from '../../../node/stewardship/stewardship.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { LocalStore, Pins, UploadSession } from '../../../node/store/ports.ts';
import type { CashoutStatus, LastCashout } from '../../../node/swap/cashout.ts';
import type { SignedCheque } from '../../../node/swap/cheque.ts';
import { SwapError } from '../../../node/swap/errors.ts';
import type { LastCheques } from '../../../node/swap/services.ts';
import type { TopologySnapshot } from '../../../node/topology/topology.ts';
import { fakeTransactions, fakeTransfer, type TransactionKnobs } from './fake-transactions.ts';

export const BATCH_ID = new Uint8Array(32).fill(0xba);
export const BATCH = toHex(BATCH_ID);
export const YOUNG_BATCH_ID = new Uint8Array(32).fill(0x70);
export const NEW_BATCH_ID = new Uint8Array(32).fill(0x4e);
export const EXPIRED_BATCH_ID = new Uint8Array(32).fill(0xee);
export const OVERLAY = new Uint8Array(32).fill(0x11);
/** Of the node as a publisher. */
const PRIVATE_KEY = new Uint8Array(32).fill(0x22);
export const PUBLIC_KEY = toHex(createSigner(PRIVATE_KEY).publicKey);
/** The only one that coins of the node may go to. */
export const WITHDRAWAL_ADDRESS = new Uint8Array(20).fill(0xa1);
export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** What a test turns to change the node under the API. */
export interface Knobs extends TransactionKnobs {
  state: 'starting' | 'ready' | 'failed';
  mode: 'full' | 'light' | 'ultra-light';
  capacityDoubling: number;
  syncState: 'running' | 'synced' | 'failed';
  /** Chunks that only the network has. */
  network: Map<string, Chunk>;
  /** How the network fails for a chunk it does not have. */
  networkError: ((address: Uint8Array) => Error) | undefined;
  /** Stamps left until every bucket is full. */
  stampsLeft: number;
  pushed: { chunk: Chunk; batchId: string }[];
  pushError: Error | undefined;
  /** Pushes end with their signal alone, as they do while there is no peer. */
  pushesHang: boolean;
  peers: Peer[];
  blocklist: BlocklistEntry[];
  connectError: Error | undefined;
  connected: string[];
  buyError: Error | undefined;
  /** The node has a batch whose creation it has not read yet. */
  justBought: boolean;
  /** Requests of purchases, top-ups and dilutions. */
  bought: unknown[];
  /** Holds every purchase until it is called. */
  buying: Promise<void>;
  chainError: Error | undefined;
  accounts: ReturnType<NodeServices['accounting']['balances']>;
  timeSettlements: { peer: string; received: bigint; sent: bigint }[];
  swapEnabled: boolean;
  chequebookEnabled: boolean;
  /** The last cheques with peers. */
  cheques: LastCheques[];
  cashout: CashoutStatus;
  /** What was deposited, withdrawn and cashed, with the gas it may cost. */
  paid: unknown[];
  payError: Error | undefined;
  /** Holds every cashing until it is called. */
  cashing: Promise<void>;
  failing: Set<string>;
  incentivesEnabled: boolean;
  stakeError: Error | undefined;
  /** What was done with the stake, with the gas of the request. */
  staked: unknown[];
  pingMs: number;
  pingError: Error | undefined;
  silentPeers: Set<string>;
  nowMs: number;
  /** Every upload session ever opened. */
  sessions: { tagUid: number; state: 'open' | 'done' | 'cleaned' }[];
  /** Fails writes of chunks, the close of a session. */
  putError: Error | undefined;
  doneError: Error | undefined;
  /** Sent by pss. */
  messages: Message[];
  messageError: Error | undefined;
  /** Open now: of a topic or an address in hex. */
  subscriptions: Set<{ key: string; deliver: (message: Uint8Array) => void }>;
}

export function knobs(): Knobs {
  return {
    state: 'ready',
    mode: 'full',
    capacityDoubling: 0,
    syncState: 'synced',
    network: new Map(),
    networkError: undefined,
    stampsLeft: Number.POSITIVE_INFINITY,
    pushed: [],
    pushError: undefined,
    pushesHang: false,
    peers: [],
    blocklist: [],
    connectError: undefined,
    connected: [],
    buyError: undefined,
    justBought: false,
    bought: [],
    buying: Promise.resolve(),
    chainError: undefined,
    accounts: [],
    timeSettlements: [],
    transactions: [],
    transactionError: undefined,
    resent: [],
    cancelled: [],
    withdrawals: [],
    swapEnabled: true,
    chequebookEnabled: true,
    cheques: [],
    cashout: { last: undefined, uncashedAmount: 0n },
    paid: [],
    payError: undefined,
    cashing: Promise.resolve(),
    failing: new Set(),
    incentivesEnabled: true,
    stakeError: undefined,
    staked: [],
    pingMs: 5.0018,
    pingError: undefined,
    silentPeers: new Set(),
    nowMs: NOW_MS,
    sessions: [],
    putError: undefined,
    doneError: undefined,
    messages: [],
    messageError: undefined,
    subscriptions: new Set(),
  };
}

/** A listener without a socket. */
interface Injected {
  inject(request: InjectOptions): Promise<Response>;
}

export interface Kit {
  readonly api: { readonly main: Injected; readonly debug: Injected };
  readonly services: NodeServices;
  readonly knobs: Knobs;
  readonly dialect: ReturnType<typeof dialectOf>;
}

export async function startKit(
  options: { dialect?: DialectName; corsAllowedOrigins?: string[] } = {},
): Promise<Kit> {
  const turn = knobs();
  const services = await simulatedNode(turn);
  const name = options.dialect ?? 'svc';
  const settings = { dialect: name, corsAllowedOrigins: options.corsAllowedOrigins ?? [], debugAddress: '' };
  const { main, debug } = createListeners(settings, services);
  if (debug === undefined) throw new Error('there is no debug listener');
  return {
    api: { main: injected(main), debug: injected(debug) },
    services,
    knobs: turn,
    dialect: dialectOf(name),
  };
}

function injected({ handle }: Listener): Injected {
  return { inject: (request) => inject(handle, request) };
}

export async function simulatedNode(turn: Knobs): Promise<NodeServices> {
  const clock = { ...systemClock(), now: () => turn.nowMs };
  const log = silentLogger();
  const store = observed(
    await createMemoryStore(
      { cacheCapacity: 1000, reserveCapacity: 1000, radius: 0 },
      { clock, log, overlay: OVERLAY },
    ),
    turn,
  );
  const postage = fakePostage(turn);
  const pusher = {
    async direct(chunk: Chunk, stamp: { batchId: Uint8Array }, signal: AbortSignal) {
      if (turn.pushesHang) await aborted(signal);
      if (turn.pushError !== undefined) throw turn.pushError;
      turn.pushed.push({ chunk, batchId: toHex(stamp.batchId) });
    },
  };
  const uploader = createUploader({ postage, store, pusher });
  const network = {
    async get(address: Uint8Array) {
      const remote = turn.network.get(toHex(address));
      if (remote === undefined) throw turn.networkError?.(address) ?? new ChunkNotFoundError(toHex(address));
      return remote;
    },
  };
  let welcome = 'hello';
  return {
    node: {
      version: '0.1.0',
      get mode() {
        return turn.mode;
      },
      get incentivesEnabled() {
        return turn.incentivesEnabled;
      },
      get chequebookEnabled() {
        return turn.chequebookEnabled;
      },
      get swapEnabled() {
        return turn.swapEnabled;
      },
      get capacityDoubling() {
        return turn.capacityDoubling;
      },
      ethereum: new Uint8Array(20).fill(0xab),
      publicKey: new Uint8Array(33).fill(2),
      pssPublicKey: new Uint8Array(33).fill(3),
    },
    accessControl: createAccessControl(PRIVATE_KEY, { clock, random: systemRandom() }),
    readiness: { state: () => turn.state },
    store,
    postage,
    uploader,
    stewardship: createStewardship({ network, uploader, postage, store }),
    netstore: {
      getter: ({ cache }) => ({
        async get(address) {
          const local = store.chunks.get(address);
          if (local !== undefined) return local;
          const remote = await network.get(address);
          if (cache) store.cache.put(remote);
          return remote;
        },
      }),
    },
    host: {
      overlay: OVERLAY,
      underlays: () => ['/ip4/127.0.0.1/tcp/1634/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF'],
      async connect(underlays) {
        if (turn.connectError !== undefined) throw turn.connectError;
        turn.connected.push(...underlays);
        return peer(7);
      },
      async disconnect(overlayHex) {
        const at = turn.peers.findIndex(({ id }) => id === overlayHex);
        if (at === -1) throw new HostError('PEER_NOT_FOUND', 'no such peer');
        turn.peers.splice(at, 1);
      },
      blocklisted() {
        failIf(turn, 'blocklist');
        return turn.blocklist;
      },
      peer: (overlayHex) => turn.peers.find(({ id }) => id === overlayHex),
      peers: () => turn.peers,
      welcomeMessage: () => welcome,
      setWelcomeMessage(text) {
        welcome = text;
      },
    },
    topology: {
      storageRadius: () => 3,
      snapshot: () => topologySnapshot(),
    },
    accounting: {
      balances() {
        failIf(turn, 'balances');
        return turn.accounts;
      },
      balance(overlayHex) {
        failIf(turn, 'balance');
        return turn.accounts.find(({ peer }) => peer === overlayHex);
      },
    },
    pss: {
      async send(message) {
        if (turn.messageError !== undefined) throw turn.messageError;
        message.stamper.stamp({ address: OVERLAY, identity: OVERLAY });
        turn.messages.push(message);
      },
      subscribe: (topic, deliver) => subscribed(turn, toHex(topic), deliver),
    },
    gsoc: { subscribe: (address, deliver) => subscribed(turn, toHex(address), deliver) },
    swap: fakeSwap(turn),
    timeSettlements: {
      settlements() {
        failIf(turn, 'timesettlements');
        return turn.timeSettlements;
      },
    },
    pingpong: {
      async ping() {
        if (turn.pingError !== undefined) throw turn.pingError;
        return turn.pingMs;
      },
    },
    status: {
      local() {
        failIf(turn, 'status');
        return STATUS;
      },
      async request(asked) {
        if (turn.silentPeers.has(asked.id)) throw new Error('no answer');
        return STATUS;
      },
      isWarmingUp: () => false,
    },
    chain: {
      async blockNumber() {
        if (turn.chainError !== undefined) throw turn.chainError;
        return 123;
      },
      chainId: async () => 31337n,
    },
    wallet: {
      async tokenBalance() {
        failIf(turn, 'token');
        return 10n ** 18n;
      },
      async nativeBalance() {
        failIf(turn, 'native');
        return 2n * 10n ** 18n;
      },
      chequebook: () => new Uint8Array(20),
      mayReceive: (address) => equalBytes(address, WITHDRAWAL_ADDRESS),
      sendTokens: fakeTransfer(turn, 'tokens'),
      sendNative: fakeTransfer(turn, 'native'),
    },
    staking: fakeStaking(turn),
    redistribution: fakeGame(turn),
    transactions: fakeTransactions(turn),
    metrics: createMetrics({ prefix: 'svc' }),
    clock,
    random: systemRandom(),
    log,
  };
}

function fakeStaking(turn: Knobs): NodeServices['staking'] {
  const done = async (...what: unknown[]): Promise<string> => {
    await turn.buying;
    if (turn.stakeError !== undefined) throw turn.stakeError;
    turn.staked.push(what);
    return `0x${'5a'.repeat(32)}`;
  };
  const read = async (amount: bigint): Promise<bigint> => {
    if (turn.stakeError !== undefined) throw turn.stakeError;
    return amount;
  };
  return {
    staked: () => read(10n ** 18n),
    withdrawable: () => read(16_000n),
    deposit: (amount, gas) => done('deposit', amount, gas),
    withdraw: (gas) => done('withdraw', gas),
    migrate: (gas) => done('migrate', gas),
    isFrozen: () => Promise.resolve(false),
  };
}

/** A proof without content, for each place. */
const PROOF = {
  proofSegments: [new Uint8Array(32).fill(1)],
  proveSegment: new Uint8Array(32).fill(2),
  proofSegments2: [new Uint8Array(32).fill(3)],
  proveSegment2: new Uint8Array(32).fill(4),
  chunkSpan: 4096n,
  proofSegments3: [new Uint8Array(32).fill(5)],
  postageProof: {
    signature: new Uint8Array(65).fill(6),
    postageId: new Uint8Array(32).fill(7),
    index: 0x00ab_0000_0001n,
    timeStamp: 0x18_0000_0000_0000_0fn,
  },
  socProof: [],
};
const SOC = {
  signer: new Uint8Array(20).fill(8),
  signature: new Uint8Array(65).fill(9),
  identifier: new Uint8Array(32).fill(10),
  chunkAddr: new Uint8Array(32).fill(11),
};

function fakeGame(turn: Knobs): NodeServices['redistribution'] {
  return {
    state() {
      failIf(turn, 'game');
      return {
        phase: 'claim',
        round: 12,
        block: 1912,
        isFrozen: false,
        isFullySynced: true,
        isHealthy: true,
        lastWonRound: 11,
        lastPlayedRound: 12,
        lastFrozenRound: 3,
        lastSelectedRound: 13,
        lastSampleMs: 1500,
        reward: 10n ** 19n,
        fees: 3n * 10n ** 16n,
      };
    },
    async funds() {
      failIf(turn, 'funds');
      return { minimum: 123_456_789_012_345_678n, sufficient: true };
    },
    async prove(request) {
      failIf(turn, 'sample');
      turn.staked.push(request);
      const hash = new Uint8Array(32).fill(0xcd);
      return { hash, proofs: [PROOF, { ...PROOF, socProof: [SOC] }, PROOF], durationMs: 250 };
    },
  };
}

export const SOME_CHEQUE: SignedCheque = {
  chequebook: new Uint8Array(20).fill(0xc1),
  beneficiary: new Uint8Array(20).fill(0xab),
  cumulativePayout: 2n ** 64n,
  signature: new Uint8Array(65),
};

export const SOME_CASHOUT: LastCashout = {
  cheque: SOME_CHEQUE,
  transactionHash: `0x${'ca'.repeat(32)}`,
  state: 'done',
  result: {
    recipient: new Uint8Array(20).fill(0xee),
    totalPayout: 7n,
    cumulativePayout: 2n ** 64n,
    bounced: true,
  },
};

export const CHEQUEBOOK = new Uint8Array(20).fill(0xcb);
export const PAYMENT_HASH = `0x${'fe'.repeat(32)}`;

function fakeSwap(turn: Knobs): NodeServices['swap'] {
  const pay = async (what: string, amount: bigint | string, gas: object) => {
    if (turn.payError !== undefined) throw turn.payError;
    turn.paid.push({ what, amount, gas });
    return PAYMENT_HASH;
  };
  const cheques = () => {
    failIf(turn, 'cheques');
    return turn.cheques;
  };
  const settlements = () =>
    cheques().map(({ peer: id, received, sent }) => ({
      peer: id,
      received: received?.cumulativePayout ?? 0n,
      sent: sent?.cumulativePayout ?? 0n,
    }));
  const checked = (id: string) => {
    if (cheques().every((known) => known.peer !== id)) throw new SwapError('NO_CHEQUE');
  };
  return {
    lastCheques: cheques,
    lastChequesWith: (id) => cheques().find((known) => known.peer === id),
    settlements,
    settlement: (id) => settlements().find((known) => known.peer === id),
    cashout: {
      async cash(id, gas) {
        checked(id);
        await turn.cashing;
        return pay('cashout', id, gas);
      },
      async status(id) {
        checked(id);
        failIf(turn, 'cashout');
        return turn.cashout;
      },
    },
    chequebook: {
      address: CHEQUEBOOK,
      async balance() {
        failIf(turn, 'chequebook');
        return 100n;
      },
      availableBalance: async () => -5n,
      deposit: (amount, gas) => pay('deposit', amount, gas),
      withdraw: (amount, gas) => pay('withdraw', amount, gas),
    },
  };
}

function subscribed(turn: Knobs, key: string, deliver: (message: Uint8Array) => void): () => void {
  failIf(turn, 'subscribe');
  const subscription = { key, deliver };
  turn.subscriptions.add(subscription);
  return () => turn.subscriptions.delete(subscription);
}

/** The store in memory, with its sessions in view and its failures in hand. */
function observed(store: LocalStore, turn: Knobs): LocalStore {
  const openSession = (tagUid: number): UploadSession => {
    const session = store.uploads.openSession(tagUid);
    const seen: Knobs['sessions'][number] = { tagUid, state: 'open' };
    turn.sessions.push(seen);
    return {
      tagUid,
      async put(chunk, stamp) {
        if (turn.putError !== undefined) throw turn.putError;
        await session.put(chunk, stamp);
      },
      async done(reference) {
        if (turn.doneError !== undefined) throw turn.doneError;
        await session.done(reference);
        seen.state = 'done';
      },
      async cleanup() {
        await session.cleanup();
        seen.state = 'cleaned';
      },
    };
  };
  const tags: LocalStore['tags'] = {
    ...store.tags,
    create() {
      failIf(turn, 'tag create');
      return store.tags.create();
    },
    get(uid) {
      failIf(turn, 'tag get');
      return store.tags.get(uid);
    },
    list(offset, limit) {
      failIf(turn, 'tag list');
      return store.tags.list(offset, limit);
    },
  };
  const chunkTotals = async () => {
    failIf(turn, 'store');
    return store.chunkTotals();
  };
  const { reserve } = store;
  const sizeFrom = reserve.sizeFrom.bind(reserve);
  reserve.sizeFrom = (firstBin) => {
    failIf(turn, 'reserve');
    return sizeFrom(firstBin);
  };
  return {
    ...store,
    tags,
    uploads: { ...store.uploads, openSession },
    pins: observedPins(store.pins, turn),
    chunkTotals,
  };
}

function observedPins(pins: Pins, turn: Knobs): Pins {
  const unlessFailing = <T>(what: string, work: () => T): T => {
    failIf(turn, what);
    return work();
  };
  return {
    openSession: () => unlessFailing('pin', () => pins.openSession()),
    has: (reference) => unlessFailing('pin has', () => pins.has(reference)),
    list: (after, limit) => unlessFailing('pin list', () => pins.list(after, limit)),
    remove: (reference) => unlessFailing('pin remove', () => pins.remove(reference)),
    check: (reference) => pins.check(reference),
    totals: () => pins.totals(),
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

function failIf(turn: Knobs, what: string): void {
  if (turn.failing.has(what)) throw new Error(`${what} is broken`);
}

export function peer(fill: number, direction: 'inbound' | 'outbound' = 'outbound'): Peer {
  const overlay = new Uint8Array(32).fill(fill);
  return {
    id: toHex(overlay),
    overlay,
    ethereum: new Uint8Array(20).fill(fill),
    fullNode: true,
    direction,
    generation: '15.0.0',
    underlays: [],
    welcomeMessage: '',
    connectedAt: 0,
    closed: new AbortController().signal,
  };
}

const STATUS: StatusSnapshot = {
  beeMode: 'full',
  metrics: new Map(),
  reserveSize: 100n,
  reserveSizeWithinRadius: 60n,
  pullsyncRate: 0.5,
  storageRadius: 3,
  connectedPeers: 4n,
  neighborhoodSize: 2n,
  batchCommitment: 4_194_304n,
  isReachable: true,
  lastSyncedBlock: 120n,
  committedDepth: 3,
};

function topologySnapshot(): TopologySnapshot {
  const empty = { population: 0, connected: 0, disconnectedPeers: [], connectedPeers: [] };
  return {
    baseAddr: toHex(OVERLAY),
    population: 1,
    connected: 1,
    nnLowWatermark: 3,
    depth: 3,
    reachability: 'Public',
    networkAvailability: 'Available',
    bins: Array.from({ length: 32 }, () => empty),
    lightNodes: empty,
  };
}

function issuer(batchId: Uint8Array, blockNumber: number): Issuer {
  return {
    batchId,
    label: 'label',
    amount: 1000n,
    depth: 20,
    bucketDepth: 16,
    blockNumber,
    immutable: true,
    utilization: 4,
  };
}

function batch(id: Uint8Array, start: number): Batch {
  return {
    id,
    value: 5000n,
    start,
    owner: new Uint8Array(20).fill(0xab),
    bucketDepth: 16,
    depth: 20,
    immutable: true,
  };
}

function fakePostage(turn: Knobs): Postage {
  const stampedBy = new Map<string, Uint8Array>();
  const live = [batch(BATCH_ID, 10), batch(YOUNG_BATCH_ID, 119)];
  const issuers = [issuer(BATCH_ID, 10), issuer(YOUNG_BATCH_ID, 119), issuer(EXPIRED_BATCH_ID, 5)];
  const held = () => (turn.justBought ? [...issuers, issuer(NEW_BATCH_ID, 121)] : issuers);
  const same = (id: Uint8Array) => (other: { id?: Uint8Array; batchId?: Uint8Array }) =>
    toHex((other.id ?? other.batchId) as Uint8Array) === toHex(id);
  const batchOf = (id: Uint8Array) => live.find(same(id));
  const postage: Postage = {
    batches: {
      get(id) {
        failIf(turn, 'batch');
        return batchOf(id);
      },
      all() {
        failIf(turn, 'batches');
        return live;
      },
      chainState: () => ({ block: 120, totalAmount: 77n, currentPrice: 24_000n }),
      commitment() {
        failIf(turn, 'commitment');
        return 2n ** 21n;
      },
      radius: () => 1,
    },
    issuers(options) {
      failIf(turn, 'issuers');
      return held().filter((own) => options?.all === true || !postage.gone(own));
    },
    issuer(batchId) {
      failIf(turn, 'issuer');
      return held().find(same(batchId));
    },
    awaited: () => false,
    gone: ({ batchId, blockNumber }) => batchOf(batchId) === undefined && blockNumber <= 120,
    usable: ({ batchId, blockNumber }) => batchOf(batchId) !== undefined && 120 - blockNumber >= 10,
    buckets: (batchId) => (issuers.some(same(batchId)) ? new Uint32Array(65_536).fill(1, 0, 2) : undefined),
    stamper(batchId) {
      const own = issuers.find(same(batchId));
      if (own === undefined) throw new PostageError('BATCH_NOT_FOUND', 'no issuer');
      if (!postage.usable(own)) throw new PostageError('BATCH_NOT_USABLE', 'too young or expired');
      return {
        batchId,
        stamp({ identity }) {
          if (turn.stampsLeft-- <= 0) throw new PostageError('BATCH_OVERISSUED', 'bucket full');
          stampedBy.set(toHex(identity), batchId);
          return {
            batchId,
            index: new Uint8Array(8),
            timestamp: new Uint8Array(8),
            signature: new Uint8Array(65),
          };
        },
      };
    },
    lastBatch: (identity) => stampedBy.get(toHex(identity)),
    async saved() {
      failIf(turn, 'saved');
    },
    validate(_chunk, stamp) {
      if (stamp.signature[0] !== 1) throw new PostageError('STAMP_INVALID', 'signature of another owner');
    },
    async buy(request) {
      await turn.buying;
      if (turn.buyError !== undefined) throw turn.buyError;
      turn.bought.push(request);
      return { batchId: new Uint8Array(32).fill(0xcc), txHash: `0x${'ab'.repeat(32)}` };
    },
    async topUp(request) {
      if (turn.buyError !== undefined) throw turn.buyError;
      turn.bought.push(request);
      return { txHash: `0x${'cd'.repeat(32)}` };
    },
    async dilute(request) {
      if (turn.buyError !== undefined) throw turn.buyError;
      turn.bought.push(request);
      return { txHash: `0x${'ef'.repeat(32)}` };
    },
    async relabel(batchId, label) {
      failIf(turn, 'relabel');
      const own = issuers.find(same(batchId));
      if (own === undefined) throw new PostageError('BATCH_NOT_FOUND', 'no issuer');
      issuers[issuers.indexOf(own)] = { ...own, label };
    },
    batchTtl: () => 3600,
    syncState: () => turn.syncState,
  };
  return postage;
}
