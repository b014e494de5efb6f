import { type InjectOptions, inject, type Response } from 'light-my-request';
import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { type Clock, systemClock } from '../../../formats/clock.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { createAccessControl } from '../../../node/act/access-control.ts';
import type { Tokens } from '../../../node/api/admission/admission.ts';
import { type DialectName, dialectOf } from '../../../node/api/dialect.ts';
import type { Listener } from '../../../node/api/listen.ts';
import { createListeners } from '../../../node/api/server.ts';
import type { NodeServices } from '../../../node/api/services.ts';
import type { ChunkEvents } from '../../../node/env/chunk-events.ts';
import { createLogger, silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createNetstore } from '../../../node/files/netstore.ts';
import { createStewardship } from '../../../node/files/stewardship.ts';
import { createUploader } from '../../../node/files/upload.ts';
import { createMemoryStore, MemoryDisk } from '../../../node/store/memory-store.ts';
import { failIf } from './failing.ts';
import { fakeGame, fakeStaking, type IncentivesKnobs, incentivesKnobs } from './fake-incentives.ts';
import { fakeMessaging, type MessagingKnobs, messagingKnobs } from './fake-messaging.ts';
import { fakePeers, OVERLAY, type PeerKnobs, peerKnobs } from './fake-peers.ts';
import { fakePostage, type PostageKnobs, postageKnobs } from './fake-postage.ts';
import { observed, type StoreKnobs, storeKnobs } from './fake-store.ts';
import { fakeSwap, type SwapKnobs, swapKnobs } from './fake-swap.ts';
import {
  fakeTransactions,
  fakeTransfer,
  type TransactionKnobs,
  transactionKnobs,
} from './fake-transactions.ts';
import { type ListedStatuses, listedStatuses } from './listed-statuses.ts';

/** The node's own, as a publisher. */
const PRIVATE_KEY = new Uint8Array(32).fill(0x22);
export const PUBLIC_KEY = toHex(createSigner(PRIVATE_KEY).publicKey);
export const WITHDRAWAL_ADDRESS = new Uint8Array(20).fill(0xa1);
export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

export interface Knobs
  extends TransactionKnobs,
    PostageKnobs,
    SwapKnobs,
    IncentivesKnobs,
    StoreKnobs,
    PeerKnobs,
    MessagingKnobs {
  state: 'starting' | 'ready' | 'failed';
  mode: 'full' | 'light' | 'ultra-light';
  capacityDoubling: number;
  swapEnabled: boolean;
  chequebookEnabled: boolean;
  incentivesEnabled: boolean;
  /** Chunks that only the network has. */
  network: Map<string, Chunk>;
  /** For a chunk that it does not have. */
  networkError: ((address: Uint8Array) => Error) | undefined;
  pushed: { chunk: Chunk; batchId: string }[];
  pushError: Error | undefined;
  pushesHang: boolean;
  chainError: Error | undefined;
  chunkEvents: ChunkEvents | undefined;
  nowMs: number;
  sleep: Clock['sleep'];
  disk: MemoryDisk;
  logged: string[];
}

export function knobs(): Knobs {
  return {
    ...transactionKnobs(),
    ...postageKnobs(),
    ...swapKnobs(),
    ...incentivesKnobs(),
    ...storeKnobs(),
    ...peerKnobs(),
    ...messagingKnobs(),
    failing: new Set(),
    state: 'ready',
    mode: 'full',
    capacityDoubling: 0,
    swapEnabled: true,
    chequebookEnabled: true,
    incentivesEnabled: true,
    network: new Map(),
    networkError: undefined,
    pushed: [],
    pushError: undefined,
    pushesHang: false,
    chainError: undefined,
    chunkEvents: undefined,
    nowMs: NOW_MS,
    sleep: (ms, signal) => systemClock().sleep(ms, signal),
    disk: new MemoryDisk(),
    logged: [],
  };
}

interface Injected {
  readonly handle: Listener['handle'];
  inject(request: InjectOptions): Promise<Response>;
  get(url: string, headers?: Headers): Promise<Response>;
  head: Injected['get'];
  delete: Injected['get'];
  post(url: string, payload?: Payload, headers?: Headers): Promise<Response>;
  put: Injected['post'];
  patch: Injected['post'];
}

type Headers = NonNullable<InjectOptions['headers']>;
type Payload = NonNullable<InjectOptions['payload']>;

export interface Kit {
  readonly api: { readonly main: Injected; readonly debug: Injected };
  readonly services: NodeServices;
  readonly knobs: Knobs;
  readonly dialect: ReturnType<typeof dialectOf>;
}

export async function startKit(
  options: {
    dialect?: DialectName;
    corsAllowedOrigins?: string[];
    allowedHosts?: string[];
    tokens?: Tokens;
    dataOnly?: boolean;
  } = {},
): Promise<Kit> {
  const turn = knobs();
  const services = await simulatedNode(turn);
  const name = options.dialect ?? 'svc';
  const settings = {
    corsAllowedOrigins: [],
    allowedHosts: [],
    tokens: {},
    idleTimeoutMs: 120_000,
    dataOnly: false,
    ...options,
    dialect: name,
    debugAddress: '',
  };
  const { main, debug } = createListeners(settings, services);
  if (debug === undefined) throw new Error('there is no debug listener');
  return {
    api: {
      main: injected(main, listedStatuses(dialectOf(name), 'main', settings.dataOnly)),
      debug: injected(debug, listedStatuses(dialectOf(name), 'debug')),
    },
    services,
    knobs: turn,
    dialect: dialectOf(name),
  };
}

/** Nobody waits: `env/expression.test.ts` tries pauses between expressions. */
export const AT_ONCE: Clock['sleep'] = () => systemClock().turn();

/** No test may see a status that the served document does not list. */
function injected({ handle }: Listener, listed: ListedStatuses): Injected {
  async function ask(request: InjectOptions): Promise<Response> {
    const answer = await inject((asked, response) => {
      // Of a target that is no path, it makes one.
      if (request.url === '*') asked.url = '*';
      handle(asked, response);
    }, request);
    listed.expect(request, answer);
    return answer;
  }
  const bare =
    (method: 'GET' | 'HEAD' | 'DELETE') =>
    (url: string, headers: Headers = {}) =>
      ask({ method, url, headers });
  const carrying =
    (method: 'POST' | 'PUT' | 'PATCH') =>
    (url: string, payload?: Payload, headers: Headers = {}) =>
      ask({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  return {
    handle,
    inject: ask,
    get: bare('GET'),
    head: bare('HEAD'),
    delete: bare('DELETE'),
    post: carrying('POST'),
    put: carrying('PUT'),
    patch: carrying('PATCH'),
  };
}

export async function simulatedNode(turn: Knobs): Promise<NodeServices> {
  const clock: Clock = {
    ...systemClock(),
    now: () => turn.nowMs,
    sleep: (ms, signal) => turn.sleep(ms, signal),
  };
  const root = createLogger(
    { verbosity: 'info' },
    { destination: { write: (line) => turn.logged.push(line) } },
  );
  const store = observed(
    await createMemoryStore(
      { cacheCapacity: 1000, reserveCapacity: 1000, radius: 0 },
      { clock, log: silentLogger(), overlay: OVERLAY, disk: turn.disk },
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
    workers: undefined,
    readiness: { state: () => turn.state },
    store,
    postage,
    uploader,
    stewardship: createStewardship({ network, uploader, postage, store }),
    netstore: createNetstore({ store, retrieval: { retrieve: (address) => network.get(address) } }),
    ...fakePeers(turn),
    ...fakeMessaging(turn),
    swap: fakeSwap(turn),
    get chunkEvents() {
      return turn.chunkEvents;
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
    log: root.child({ module: 'api' }),
    loggers: root,
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
