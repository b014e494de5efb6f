/**
 * Typed client of one node's HTTP API (http-api-completion.md 5), in either dialect. Transfers go in as bytes or as
 * streams and are never collected unless the caller asks for bytes.
 */
import { DIALECTS, type Dialect } from './dialect.ts';
import { ClientError } from './errors.ts';
import { type Answer, type Body, HttpClient, type RequestOptions } from './http.ts';
import { type AmountJson, amount } from './json.ts';
import type {
  Addresses,
  Balance,
  ChainState,
  DownloadOptions,
  Health,
  NodeMode,
  PeerEntry,
  ReserveState,
  Settlements,
  Stamp,
  StatusRecord,
  Tag,
  Topology,
  Uploaded,
  UploadOptions,
  Wallet,
} from './types.ts';

/** A transfer's default limit: a gigabyte at ten megabytes per second, with room. */
const TRANSFER_TIMEOUT_MS = 300_000;
/** A purchase is answered when its transactions are mined, which takes several blocks. */
const CHAIN_TIMEOUT_MS = 120_000;
/** Most that `GET /tags` gives in one answer. */
const TAGS_PAGE = 1000;

export interface NodeClientOptions {
  /** Name for messages. */
  readonly node: string;
  /** Base URL of the main API. */
  readonly api: string;
  /** Base URL of the debug API; metrics are read from it. */
  readonly debug?: string;
  readonly dialect?: Dialect;
  /** Batch of uploads that name none, asked for at each upload. */
  readonly defaultBatch?: () => string | undefined;
  /** Told of every accepted upload. */
  readonly onUploaded?: (uploaded: Uploaded) => void;
}

export class NodeClient implements AsyncDisposable {
  readonly name: string;
  readonly dialect: Dialect;
  readonly bytes: BytesClient;
  readonly chunks: ChunksClient;
  readonly files: FilesClient;
  readonly stamps: StampsClient;
  readonly tags: TagsClient;
  readonly #http: HttpClient;
  readonly #debug: HttpClient;

  constructor(options: NodeClientOptions) {
    this.name = options.node;
    this.dialect = options.dialect ?? DIALECTS.svc;
    this.#http = new HttpClient({ node: options.node, base: options.api });
    this.#debug =
      options.debug === undefined ? this.#http : new HttpClient({ node: options.node, base: options.debug });
    const uploads = new Uploads(this.#http, this.dialect, options);
    this.bytes = new BytesClient(this.#http, this.dialect, uploads);
    this.chunks = new ChunksClient(this.#http, this.dialect, uploads);
    this.files = new FilesClient(this.#http, this.dialect, uploads);
    this.stamps = new StampsClient(this.#http);
    this.tags = new TagsClient(this.#http);
  }

  async addresses(signal?: AbortSignal): Promise<Addresses> {
    return (await this.#get('/addresses', signal)) as Addresses;
  }

  async health(signal?: AbortSignal): Promise<Health> {
    return (await this.#get('/health', signal)) as Health;
  }

  /** @throws ClientError `http.400` while the node is not ready */
  async readiness(signal?: AbortSignal): Promise<void> {
    await this.#get('/readiness', signal);
  }

  async node(signal?: AbortSignal): Promise<NodeMode> {
    const body = (await this.#get('/node', signal)) as Record<string, unknown>;
    return { ...body, mode: body[this.dialect.modeField] } as unknown as NodeMode;
  }

  async peers(signal?: AbortSignal): Promise<readonly PeerEntry[]> {
    return ((await this.#get('/peers', signal)) as { peers: PeerEntry[] | null }).peers ?? [];
  }

  async topology(signal?: AbortSignal): Promise<Topology> {
    return (await this.#get('/topology', signal)) as Topology;
  }

  /** @param underlay multiaddress with peer id @returns the peer's overlay */
  async connect(underlay: string, signal?: AbortSignal): Promise<string> {
    const answer = await this.#http.request({ method: 'POST', path: `/connect${underlay}`, signal });
    return ((await answer.json()) as { address: string }).address;
  }

  async disconnect(overlay: string, signal?: AbortSignal): Promise<void> {
    await settled(this.#http.request({ method: 'DELETE', path: `/peers/${overlay}`, signal }));
  }

  /** @returns round trip as the node writes it, such as `1.2ms` */
  async pingpong(overlay: string, signal?: AbortSignal): Promise<string> {
    const answer = await this.#http.request({ method: 'POST', path: `/pingpong/${overlay}`, signal });
    return ((await answer.json()) as { rtt: string }).rtt;
  }

  async status(signal?: AbortSignal): Promise<StatusRecord> {
    const body = (await this.#get('/status', signal)) as Record<string, unknown>;
    return { ...body, mode: body[this.dialect.modeField] } as unknown as StatusRecord;
  }

  async reserveState(signal?: AbortSignal): Promise<ReserveState> {
    return (await this.#get('/reservestate', signal)) as ReserveState;
  }

  async chainState(signal?: AbortSignal): Promise<ChainState> {
    const body = (await this.#get('/chainstate', signal)) as Record<keyof ChainState, AmountJson>;
    return {
      chainTip: Number(body.chainTip),
      block: Number(body.block),
      totalAmount: amount(body.totalAmount),
      currentPrice: amount(body.currentPrice),
    };
  }

  async wallet(signal?: AbortSignal): Promise<Wallet> {
    const body = (await this.#get('/wallet', signal)) as Record<string, AmountJson>;
    return {
      tokenBalance: amount(body[this.dialect.tokenBalanceField] ?? 0),
      nativeBalance: amount(body['nativeTokenBalance'] ?? 0),
      chainId: Number(body['chainID']),
      address: String(body['walletAddress']),
    };
  }

  async balances(signal?: AbortSignal): Promise<readonly Balance[]> {
    const body = (await this.#get('/balances', signal)) as {
      balances: { peer: string; balance: AmountJson }[] | null;
    };
    return (body.balances ?? []).map((row) => ({ peer: row.peer, balance: amount(row.balance) }));
  }

  async timeSettlements(signal?: AbortSignal): Promise<Settlements> {
    const body = (await this.#get('/timesettlements', signal)) as {
      totalReceived: AmountJson;
      totalSent: AmountJson;
      settlements: { peer: string; received: AmountJson; sent: AmountJson }[] | null;
    };
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

  /** Prometheus text of the node. */
  async metrics(signal?: AbortSignal): Promise<string> {
    return (await this.#debug.request({ method: 'GET', path: '/metrics', signal })).text();
  }

  async close(): Promise<void> {
    await this.#http.close();
    await this.#debug.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #get(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    return (await this.#http.request({ method: 'GET', path, signal })).json();
  }
}

/** What all uploads share: their headers, their answer, and telling the cluster about it. */
class Uploads {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #options: NodeClientOptions;

  constructor(http: HttpClient, dialect: Dialect, options: NodeClientOptions) {
    this.#http = http;
    this.#dialect = dialect;
    this.#options = options;
  }

  async send(
    path: string,
    body: Body,
    options: UploadOptions & { headers?: Readonly<Record<string, string>> },
  ): Promise<Uploaded> {
    const prefix = this.#dialect.headerPrefix;
    const batch = options.batch ?? this.#options.defaultBatch?.();
    const named: Record<string, string | number | boolean | undefined> = {
      'postage-batch-id': batch,
      tag: options.tag,
      'deferred-upload': options.deferred,
      pin: options.pin,
    };
    const headers: Record<string, string> = { 'content-type': 'application/octet-stream' };
    for (const [name, value] of Object.entries(named)) {
      if (value !== undefined) headers[`${prefix}${name}`] = String(value);
    }
    Object.assign(headers, options.headers);
    const request: RequestOptions = {
      method: 'POST',
      path,
      headers,
      body,
      timeoutMs: options.timeoutMs ?? TRANSFER_TIMEOUT_MS,
      signal: options.signal,
    };
    const answer = await this.#http.request(request);
    const { reference } = (await answer.json()) as { reference: string };
    const tag = answer.headers[`${prefix}tag`];
    const uploaded: Uploaded = tag === undefined ? { reference } : { reference, tag: Number(tag) };
    this.#options.onUploaded?.(uploaded);
    return uploaded;
  }
}

function downloadRequest(
  dialect: Dialect,
  path: string,
  options: DownloadOptions & { range?: { from: number; to: number } },
): RequestOptions {
  const headers: Record<string, string> = {};
  if (options.cache !== undefined) headers[`${dialect.headerPrefix}cache`] = String(options.cache);
  if (options.range !== undefined) headers['range'] = `bytes=${options.range.from}-${options.range.to}`;
  return {
    method: 'GET',
    path,
    headers,
    timeoutMs: options.timeoutMs ?? TRANSFER_TIMEOUT_MS,
    signal: options.signal,
  };
}

/** `/bytes`: raw data. */
class BytesClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #uploads: Uploads;

  constructor(http: HttpClient, dialect: Dialect, uploads: Uploads) {
    this.#http = http;
    this.#dialect = dialect;
    this.#uploads = uploads;
  }

  /** @throws ClientError */
  upload(data: Body, options: UploadOptions = {}): Promise<Uploaded> {
    return this.#uploads.send('/bytes', data, options);
  }

  /** @param options.range first and last byte, both included */
  async download(
    reference: string,
    options: DownloadOptions & { range?: { from: number; to: number } } = {},
  ): Promise<Uint8Array> {
    return (await this.#open(reference, options)).bytes();
  }

  /** The same piece by piece. */
  async stream(reference: string, options: DownloadOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#open(reference, options)).pieces();
  }

  #open(
    reference: string,
    options: DownloadOptions & { range?: { from: number; to: number } },
  ): Promise<Answer> {
    return this.#http.request(downloadRequest(this.#dialect, `/bytes/${reference}`, options));
  }
}

/** `/chunks`: single chunks, span in front of the payload. */
class ChunksClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #uploads: Uploads;

  constructor(http: HttpClient, dialect: Dialect, uploads: Uploads) {
    this.#http = http;
    this.#dialect = dialect;
    this.#uploads = uploads;
  }

  /** @param data span (8 bytes, little-endian) and payload */
  upload(data: Uint8Array, options: Omit<UploadOptions, 'deferred' | 'pin'> = {}): Promise<Uploaded> {
    return this.#uploads.send('/chunks', data, options);
  }

  async download(address: string, options: DownloadOptions = {}): Promise<Uint8Array> {
    return (await this.#http.request(downloadRequest(this.#dialect, `/chunks/${address}`, options))).bytes();
  }

  /** Whether the node itself holds the chunk: HEAD never asks the network, GET would. */
  async has(address: string, signal?: AbortSignal): Promise<boolean> {
    const request = { method: 'HEAD', path: `/chunks/${address}`, signal } as const;
    const { status } = await settled(this.#http.attempt(request));
    if (status === 200 || status === 404) return status === 200;
    throw new ClientError('unexpected answer', { ...request, class: `http.${status}`, node: 'node', status });
  }
}

/** Files and collections, under the dialect's own path. */
class FilesClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #uploads: Uploads;

  constructor(http: HttpClient, dialect: Dialect, uploads: Uploads) {
    this.#http = http;
    this.#dialect = dialect;
    this.#uploads = uploads;
  }

  /** One file. @param options.name its path in the manifest; default: its reference */
  upload(
    data: Body,
    options: UploadOptions & { name?: string; contentType?: string } = {},
  ): Promise<Uploaded> {
    const query = options.name === undefined ? '' : `?name=${encodeURIComponent(options.name)}`;
    const headers = { 'content-type': options.contentType ?? 'application/octet-stream' };
    return this.#uploads.send(`${this.#dialect.files}${query}`, data, { ...options, headers });
  }

  /** A directory as a tar archive. */
  uploadTar(
    tar: Body,
    options: UploadOptions & { indexDocument?: string; errorDocument?: string } = {},
  ): Promise<Uploaded> {
    const prefix = this.#dialect.headerPrefix;
    const headers: Record<string, string> = {
      'content-type': 'application/x-tar',
      [`${prefix}collection`]: 'true',
    };
    if (options.indexDocument !== undefined) headers[`${prefix}index-document`] = options.indexDocument;
    if (options.errorDocument !== undefined) headers[`${prefix}error-document`] = options.errorDocument;
    return this.#uploads.send(this.#dialect.files, tar, { ...options, headers });
  }

  async download(reference: string, path = '', options: DownloadOptions = {}): Promise<Uint8Array> {
    return (await this.#open(reference, path, options)).bytes();
  }

  async stream(
    reference: string,
    path = '',
    options: DownloadOptions = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#open(reference, path, options)).pieces();
  }

  #open(reference: string, path: string, options: DownloadOptions): Promise<Answer> {
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    return this.#http.request(
      downloadRequest(this.#dialect, `${this.#dialect.files}/${reference}/${encoded}`, options),
    );
  }
}

type StampJson = Omit<Stamp, 'amount'> & { amount: AmountJson | null };

function stampOf(row: StampJson): Stamp {
  return { ...row, amount: amount(row.amount ?? 0) };
}

/** Batches of the node. */
class StampsClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async list(signal?: AbortSignal): Promise<readonly Stamp[]> {
    const answer = await this.#http.request({ method: 'GET', path: '/stamps', signal });
    return (((await answer.json()) as { stamps: StampJson[] | null }).stamps ?? []).map(stampOf);
  }

  /** @throws ClientError `stamp.not_usable` while it is too young, `http.404` when the node does not own it */
  async get(batch: string, signal?: AbortSignal): Promise<Stamp> {
    const answer = await this.#http.request({ method: 'GET', path: `/stamps/${batch}`, signal });
    return stampOf((await answer.json()) as StampJson);
  }

  /** Answers when the batch is mined; it is usable some blocks later. @param request.amount per chunk */
  async buy(
    request: { amount: bigint; depth: number; label?: string; immutable?: boolean },
    signal?: AbortSignal,
  ): Promise<{ batchID: string; txHash: string }> {
    const query = request.label === undefined ? '' : `?label=${encodeURIComponent(request.label)}`;
    const answer = await this.#http.request({
      method: 'POST',
      path: `/stamps/${request.amount}/${request.depth}${query}`,
      headers: request.immutable === undefined ? {} : { immutable: String(request.immutable) },
      timeoutMs: CHAIN_TIMEOUT_MS,
      signal,
    });
    return (await answer.json()) as { batchID: string; txHash: string };
  }
}

/** Upload sessions. */
class TagsClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async create(signal?: AbortSignal): Promise<Tag> {
    return (await (await this.#http.request({ method: 'POST', path: '/tags', signal })).json()) as Tag;
  }

  async get(uid: number, signal?: AbortSignal): Promise<Tag> {
    return (await (await this.#http.request({ method: 'GET', path: `/tags/${uid}`, signal })).json()) as Tag;
  }

  /** Every tag of the node, by uid. */
  async list(signal?: AbortSignal): Promise<readonly Tag[]> {
    const all: Tag[] = [];
    for (;;) {
      const path = `/tags?offset=${all.length}&limit=${TAGS_PAGE}`;
      const answer = await this.#http.request({ method: 'GET', path, signal });
      const { tags } = (await answer.json()) as { tags: Tag[] | null };
      all.push(...(tags ?? []));
      if ((tags ?? []).length < TAGS_PAGE) return all;
    }
  }

  async delete(uid: number, signal?: AbortSignal): Promise<void> {
    await settled(this.#http.request({ method: 'DELETE', path: `/tags/${uid}`, signal }));
  }
}

/** Reads the body of an answer whose status says all: a connection with an unread body is not used again. */
async function settled(answer: Promise<Answer>): Promise<Answer> {
  const received = await answer;
  await received.bytes();
  return received;
}
