/**
 * A node's HTTP API in either dialect (http-api-completion.md 5). Transfers are bytes or streams, collected only when the
 * caller asks for bytes.
 */

import type { Clock } from '../../formats/clock.ts';
import { argumentError, DIGITS, expectHex } from '../base/arguments.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import type { TokenSource } from '../base/token.ts';
import { DIALECTS, type Dialect } from './dialect.ts';
import { FeedsClient, SocClient } from './feeds.ts';
import { GranteesClient } from './grantees.ts';
import { type ExchangeObserver, HttpClient, settled } from './http.ts';
import { type AmountJson, amount } from './json.ts';
import { MessagesClient } from './messages.ts';
import {
  ChequebookClient,
  RedistributionClient,
  StakeClient,
  TransactionsClient,
  WalletClient,
} from './money.ts';
import type { Balance, PeerAccount, Settlements } from './money-types.ts';
import { PinsClient, StewardshipClient } from './pins.ts';
import { StampsClient, TagsClient } from './sessions.ts';
import { BytesClient, ChunksClient, FilesClient, Uploads, type UploadsOptions } from './transfers.ts';
import type {
  Addresses,
  Backlog,
  BlockedPeer,
  ChainState,
  ChunkEvents,
  Health,
  NodeInfo,
  PeerEntry,
  PeerStatus,
  ReserveState,
  StatusRecord,
  Topology,
} from './types.ts';

/** Where a node is, and the defaults of its uploads. */
export interface NodeClientOptions extends UploadsOptions, TokenSource {
  /** Name for messages. */
  readonly node: string;
  /** Base URL of the main API. */
  readonly api: string;
  /**
   * Base URL of the debug API, where everything but data is asked; default: the main API. A node may serve nothing
   * but data on its main API.
   */
  readonly debug?: string;
  readonly dialect?: Dialect;
  /** Of a network that svcnet has not started: reached by the proxies that the environment names. */
  readonly foreign?: boolean | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}

/** A node's HTTP API as methods and types, in both dialects. @throws ClientError from every method */
export class NodeClient implements AsyncDisposable {
  readonly name: string;
  /** Of the network that the node belongs to. */
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly bytes: BytesClient;
  readonly chunks: ChunksClient;
  readonly files: FilesClient;
  readonly soc: SocClient;
  readonly feeds: FeedsClient;
  readonly grantees: GranteesClient;
  readonly messages: MessagesClient;
  readonly stamps: StampsClient;
  readonly tags: TagsClient;
  readonly pins: PinsClient;
  readonly stewardship: StewardshipClient;
  readonly chequebook: ChequebookClient;
  readonly wallet: WalletClient;
  readonly stake: StakeClient;
  readonly redistribution: RedistributionClient;
  readonly transactions: TransactionsClient;
  readonly #http: HttpClient;
  readonly #debug: HttpClient;

  constructor(options: NodeClientOptions) {
    this.name = options.node;
    this.dialect = options.dialect ?? DIALECTS.svc;
    const { node, token, tokenFile, foreign, clock = MACHINE_CLOCK } = options;
    this.clock = clock;
    this.#http = new HttpClient({ node, base: options.api, token, tokenFile, foreign, clock });
    this.#debug =
      options.debug === undefined
        ? this.#http
        : new HttpClient({ node, base: options.debug, token, tokenFile, foreign, clock });
    const uploads = new Uploads(this.#http, this.dialect, options);
    this.bytes = new BytesClient(this.#http, this.dialect, uploads);
    this.chunks = new ChunksClient(this.#http, this.dialect, uploads);
    this.files = new FilesClient(this.#http, this.dialect, uploads);
    this.soc = new SocClient(this.#http, this.dialect, uploads);
    this.feeds = new FeedsClient(this.#http, this.dialect, uploads, this.soc);
    this.messages = new MessagesClient(this.#http, this.dialect, options);
    this.grantees = new GranteesClient(this.#http, uploads);
    this.stamps = new StampsClient(this.#debug);
    this.tags = new TagsClient(this.#http);
    this.pins = new PinsClient(this.#http);
    this.stewardship = new StewardshipClient(this.#http, this.dialect);
    this.chequebook = new ChequebookClient(this.#debug);
    this.wallet = new WalletClient(this.#debug, this.dialect);
    this.stake = new StakeClient(this.#debug);
    this.redistribution = new RedistributionClient(this.#debug);
    this.transactions = new TransactionsClient(this.#debug);
  }

  /** Tells somebody of its exchanges from now on. @param observer undefined: nobody any more @internal */
  observe(observer: ExchangeObserver | undefined): void {
    this.#http.observe(observer);
    this.#debug.observe(observer);
  }

  /** Headers that let a request in, for programs that make their own requests. */
  authorization(): Readonly<Record<string, string>> {
    return this.#http.authorization();
  }

  async addresses(signal?: AbortSignal): Promise<Addresses> {
    return this.#debug.get<Addresses>('/addresses', signal);
  }

  /** Of the main API, as readiness is. */
  async health(signal?: AbortSignal): Promise<Health> {
    return this.#http.get<Health>('/health', signal);
  }

  /** @throws ClientError `http.400` while the node is not ready */
  async readiness(signal?: AbortSignal): Promise<void> {
    await settled(this.#http.request({ method: 'GET', path: '/readiness', signal }));
  }

  async node(signal?: AbortSignal): Promise<NodeInfo> {
    const body = await this.#debug.get<Record<string, unknown>>('/node', signal);
    return { ...body, mode: body[this.dialect.modeField] } as unknown as NodeInfo;
  }

  async peers(signal?: AbortSignal): Promise<readonly PeerEntry[]> {
    return (await this.#debug.get<{ peers: PeerEntry[] | null }>('/peers', signal)).peers ?? [];
  }

  /** Peers that the node refuses for a while. */
  async blocklist(signal?: AbortSignal): Promise<readonly BlockedPeer[]> {
    return (await this.#debug.get<{ peers: BlockedPeer[] | null }>('/blocklist', signal)).peers ?? [];
  }

  async topology(signal?: AbortSignal): Promise<Topology> {
    return this.#debug.get<Topology>('/topology', signal);
  }

  /** @param underlay multiaddress with peer id @returns the peer's overlay */
  async connect(underlay: string, signal?: AbortSignal): Promise<string> {
    if (typeof underlay !== 'string' || !underlay.startsWith('/')) {
      throw argumentError(
        'connect: underlay',
        underlay,
        'a multiaddress such as /ip4/127.0.0.1/tcp/1634/p2p/…',
      );
    }
    const request = { method: 'POST', path: `/connect${underlay}`, signal } as const;
    return (await this.#debug.json<{ address: string }>(request)).address;
  }

  async disconnect(overlay: string, signal?: AbortSignal): Promise<void> {
    expectHex('disconnect: overlay', overlay, DIGITS.hash);
    await settled(this.#debug.request({ method: 'DELETE', path: `/peers/${overlay}`, signal }));
  }

  /** @returns round trip as the node writes it, such as `1.2ms` */
  async pingpong(overlay: string, signal?: AbortSignal): Promise<string> {
    expectHex('pingpong: overlay', overlay, DIGITS.hash);
    const request = { method: 'POST', path: `/pingpong/${overlay}`, signal } as const;
    return (await this.#debug.json<{ rtt: string }>(request)).rtt;
  }

  async status(signal?: AbortSignal): Promise<StatusRecord> {
    const body = await this.#debug.get<Record<string, unknown>>('/status', signal);
    return { ...body, mode: body[this.dialect.modeField] } as unknown as StatusRecord;
  }

  /** What the node's peers report of themselves. */
  async peerStatuses(signal?: AbortSignal): Promise<readonly PeerStatus[]> {
    return (await this.#debug.get<{ snapshots: PeerStatus[] }>('/status/peers', signal)).snapshots;
  }

  async reserveState(signal?: AbortSignal): Promise<ReserveState> {
    return this.#debug.get<ReserveState>('/reservestate', signal);
  }

  /** @throws ClientError `http.404` by nodes that are not ours */
  async backlog(signal?: AbortSignal): Promise<Backlog> {
    return this.#debug.get<Backlog>('/status/backlog', signal);
  }

  /**
   * What happened to chunks on the node. @param wanted.address 64 hex digits; default: of all
   * @param wanted.after events up to this number are left out @param wanted.limit at most this many, 1 to
   * 10,000
   * @throws ClientError `http.404` by nodes that are not ours
   */
  async chunkEvents(
    wanted: { readonly address?: string; readonly after?: number; readonly limit?: number } = {},
    signal?: AbortSignal,
  ): Promise<ChunkEvents> {
    const query = Object.entries(wanted).map(([name, value]) => `${name}=${value}`);
    const path = `/chunk-events?${query.join('&')}`;
    return this.#debug.get<ChunkEvents>(path, signal);
  }

  async chainState(signal?: AbortSignal): Promise<ChainState> {
    const body = await this.#debug.get<Record<keyof ChainState, AmountJson>>('/chainstate', signal);
    return {
      chainTip: Number(body.chainTip),
      block: Number(body.block),
      totalAmount: amount(body.totalAmount),
      currentPrice: amount(body.currentPrice),
    };
  }

  async balances(signal?: AbortSignal): Promise<readonly Balance[]> {
    type Body = { balances: { peer: string; balance: AmountJson }[] | null };
    const { balances } = await this.#debug.get<Body>('/balances', signal);
    return (balances ?? []).map((row) => ({ peer: row.peer, balance: amount(row.balance) }));
  }

  /** Everything in the node's books about each peer. */
  async accounting(signal?: AbortSignal): Promise<readonly PeerAccount[]> {
    type Body = { peerData: Record<string, Record<keyof PeerAccount, AmountJson>> | null };
    const { peerData } = await this.#debug.get<Body>('/accounting', signal);
    return Object.entries(peerData ?? {}).map(
      ([peer, row]) =>
        ({
          ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, amount(value)])),
          peer,
        }) as PeerAccount,
    );
  }

  /** By cheques, token units. @throws ClientError `http.403` where swap is off */
  settlements(signal?: AbortSignal): Promise<Settlements> {
    return this.#settlements('/settlements', signal);
  }

  /** By time, accounting units. */
  timeSettlements(signal?: AbortSignal): Promise<Settlements> {
    return this.#settlements('/timesettlements', signal);
  }

  /** Prometheus text of the node. */
  metrics(signal?: AbortSignal): Promise<string> {
    return this.text('/metrics', signal);
  }

  /** What it answers to a GET request. @internal */
  async text(path: string, signal?: AbortSignal): Promise<string> {
    return (await this.#debug.request({ method: 'GET', path, signal })).text();
  }

  async close(): Promise<void> {
    await this.#http.close();
    await this.#debug.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #settlements(path: string, signal: AbortSignal | undefined): Promise<Settlements> {
    const body = await this.#debug.get<{
      totalReceived: AmountJson;
      totalSent: AmountJson;
      settlements: { peer: string; received: AmountJson; sent: AmountJson }[] | null;
    }>(path, signal);
    return {
      totalReceived: amount(body.totalReceived),
      totalSent: amount(body.totalSent),
      settlements: (body.settlements ?? []).map((row) => ({
        peer: row.peer,
        received: amount(row.received),
        sent: amount(row.sent),
      })),
    };
  }
}
