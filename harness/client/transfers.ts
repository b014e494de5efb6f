/** Raw bytes, single chunks, files and collections. */
import {
  argumentError,
  DIGITS,
  expectBytes,
  expectHex,
  expectText,
  expectTimeout,
  expectWhole,
} from '../base/arguments.ts';
import { streamChunks } from './chunk-stream.ts';
import type { Dialect } from './dialect.ts';
import { ClientError } from './errors.ts';
import {
  type Body,
  expectBody,
  type HttpClient,
  type HttpResponse,
  type RequestOptions,
  settled,
} from './http.ts';
import type { DownloadOptions, OpenedFile, Uploaded, UploadOptions } from './types.ts';

/** A gigabyte at ten megabytes per second, with room. */
const TRANSFER_TIMEOUT_MS = 300_000;

/** Defaults of all uploads of a client. */
export interface UploadsOptions {
  /** Batch of uploads that name none, looked up at each upload. */
  readonly defaultBatch?: () => string | undefined;
  /** Called with every accepted upload. */
  readonly onUploaded?: (uploaded: Uploaded) => void;
}

/** From none to paranoid. */
const REDUNDANCY_MAX = 4;

/** 113 bytes: batch, index, timestamp, signature. */
const STAMP_DIGITS = [226] as const;

/** A stamp that was signed elsewhere, instead of a batch of the node. */
export interface StampOption {
  /** Pays instead of a batch of the node: 226 hex digits, of any batch. */
  readonly stamp?: string;
}

/** An upload's path and method name. */
export interface UploadRequest {
  readonly where: string;
  readonly path: string;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Shared by uploads: headers, answers, telling the cluster. */
export class Uploads {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #options: UploadsOptions;

  constructor(http: HttpClient, dialect: Dialect, options: UploadsOptions) {
    this.#http = http;
    this.#dialect = dialect;
    this.#options = options;
  }

  /** @throws HarnessError `ARGUMENT_INVALID`, ClientError */
  async send(
    { where, path, body, headers: given }: UploadRequest,
    options: UploadOptions & StampOption,
  ): Promise<Uploaded> {
    expectBody(where, body);
    const prefix = this.#dialect.headerPrefix;
    const headers = {
      'content-type': 'application/octet-stream',
      ...this.headers(where, options),
      ...given,
    };
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
    const history = answer.headers[`${prefix}act-history-address`];
    const uploaded: Uploaded = {
      reference,
      tag: tag === undefined ? undefined : Number(tag),
      history,
    };
    this.#options.onUploaded?.(uploaded);
    return uploaded;
  }

  /** The options as headers of the dialect. @throws HarnessError `ARGUMENT_INVALID` */
  headers(where: string, options: UploadOptions & StampOption): Record<string, string> {
    expectOptions(where, options);
    return named(this.#dialect, {
      ...(options.stamp === undefined
        ? { 'postage-batch-id': options.batch ?? this.#options.defaultBatch?.() }
        : { 'postage-stamp': options.stamp }),
      tag: options.tag,
      'deferred-upload': options.deferred,
      pin: options.pin,
      encrypt: options.encrypt,
      'redundancy-level': options.redundancyLevel,
      act: options.act,
      'act-history-address': options.actHistory,
    });
  }
}

function expectOptions(where: string, options: UploadOptions & StampOption): void {
  const { batch, stamp, tag, redundancyLevel, actHistory, timeoutMs } = options;
  if (stamp !== undefined) expectHex(`${where}: stamp`, stamp, STAMP_DIGITS);
  if (batch !== undefined) expectHex(`${where}: batch`, batch, DIGITS.hash);
  if (tag !== undefined) expectWhole(`${where}: tag`, tag, { min: 0 });
  if (redundancyLevel !== undefined) {
    expectWhole(`${where}: redundancyLevel`, redundancyLevel, { min: 0, max: REDUNDANCY_MAX });
  }
  if (actHistory !== undefined) expectHex(`${where}: actHistory`, actHistory, DIGITS.hash);
  if (timeoutMs !== undefined) expectTimeout(`${where}: timeoutMs`, timeoutMs);
}

/** The given values as headers of the dialect. */
function named(
  { headerPrefix }: Dialect,
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [`${headerPrefix}${name}`, String(value)]));
}

export function downloadRequest(
  dialect: Dialect,
  path: string,
  options: DownloadOptions & { range?: { from: number; to: number } },
): RequestOptions {
  const headers = named(dialect, {
    cache: options.cache,
    'act-publisher': options.access?.publisher,
    'act-history-address': options.access?.history,
    'act-timestamp': options.access?.timestamp,
  });
  if (options.range !== undefined) headers['range'] = `bytes=${options.range.from}-${options.range.to}`;
  return {
    method: 'GET',
    path,
    headers,
    timeoutMs: options.timeoutMs ?? TRANSFER_TIMEOUT_MS,
    signal: options.signal,
  };
}

/** `/bytes`: raw data. @throws ClientError from every method */
export class BytesClient {
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
    return this.#uploads.send({ where: 'bytes.upload', path: '/bytes', body: data }, options);
  }

  /** @param options.range first and last byte, both included */
  async download(
    reference: string,
    options: DownloadOptions & { range?: { from: number; to: number } } = {},
  ): Promise<Uint8Array> {
    return (await this.#open('bytes.download', reference, options)).bytes();
  }

  /** The same piece by piece. */
  async stream(reference: string, options: DownloadOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#open('bytes.stream', reference, options)).pieces();
  }

  async #open(
    where: string,
    reference: string,
    options: DownloadOptions & { range?: { from: number; to: number } },
  ): Promise<HttpResponse> {
    expectHex(`${where}: reference`, reference, DIGITS.reference);
    expectRange(where, options.range);
    return this.#http.request(downloadRequest(this.#dialect, `/bytes/${reference}`, options));
  }
}

function expectRange(where: string, range: { from: number; to: number } | undefined): void {
  if (range === undefined) return;
  expectWhole(`${where}: range.from`, range.from, { min: 0 });
  expectWhole(`${where}: range.to`, range.to, { min: range.from });
}

/** A chunk has some 4 KiB. */
const CHUNK_ANSWER_MAX = 65_536;

/** `/chunks`: single chunks, span in front of the payload. @throws ClientError from every method */
export class ChunksClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #uploads: Uploads;

  constructor(http: HttpClient, dialect: Dialect, uploads: Uploads) {
    this.#http = http;
    this.#dialect = dialect;
    this.#uploads = uploads;
  }

  /** @param data span (8 bytes, little-endian) and payload */
  async upload(
    data: Uint8Array,
    options: Omit<UploadOptions, 'deferred' | 'pin'> & StampOption = {},
  ): Promise<Uploaded> {
    expectBytes('chunks.upload', data);
    return this.#uploads.send({ where: 'chunks.upload', path: '/chunks', body: data }, options);
  }

  /**
   * A stamp of one of the node's batches for a chunk that is uploaded elsewhere.
   * @param address of the chunk @param batch default: that of uploads @returns 226 hex digits
   */
  async stamp(address: string, options: Pick<UploadOptions, 'batch' | 'signal'> = {}): Promise<string> {
    expectHex('chunks.stamp: address', address, DIGITS.hash);
    const headers = this.#uploads.headers('chunks.stamp', options);
    const path = `/envelope/${address}`;
    const request = { method: 'POST', path, headers, signal: options.signal } as const;
    const { index, timestamp, signature } = await this.#http.json<Record<string, string>>(request);
    return `${headers[`${this.#dialect.headerPrefix}postage-batch-id`]}${index}${timestamp}${signature}`;
  }

  /**
   * Many chunks over one connection: with a tag they are stored, and pushed at its end; without one they are
   * pushed as they come.
   * @param chunks span and payload each @returns acknowledgements, one for each of them
   */
  async stream(
    chunks: Iterable<Uint8Array>,
    options: Pick<UploadOptions, 'batch' | 'tag' | 'timeoutMs' | 'signal'> = {},
  ): Promise<number> {
    const where = 'chunks.stream';
    if (!isIterableOfChunks(chunks)) {
      throw argumentError(where, chunks, 'an iterable of Uint8Arrays');
    }
    const headers = { ...this.#http.authorization(), ...this.#uploads.headers(where, options) };
    const { base, node, agent, clock } = this.#http;
    using deadline = clock.deadline(options.timeoutMs ?? TRANSFER_TIMEOUT_MS, options.signal);
    return await streamChunks({ base, node, headers, agent, signal: deadline.signal }, chunks);
  }

  async download(address: string, options: DownloadOptions = {}): Promise<Uint8Array> {
    expectHex('chunks.download: address', address, DIGITS.reference);
    const request = downloadRequest(this.#dialect, `/chunks/${address}`, options);
    return (await this.#http.request(request)).bytes(CHUNK_ANSWER_MAX);
  }

  /** Whether the node itself holds the chunk: HEAD never asks the network, GET would. */
  async has(address: string, signal?: AbortSignal): Promise<boolean> {
    expectHex('chunks.has: address', address, DIGITS.reference);
    const request = { method: 'HEAD', path: `/chunks/${address}`, signal } as const;
    const { status } = await settled(this.#http.attempt(request));
    if (status === 200 || status === 404) return status === 200;
    throw new ClientError('unexpected answer', { ...request, class: `http.${status}`, node: 'node', status });
  }
}

function isIterableOfChunks(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && Symbol.iterator in value && !(value instanceof Uint8Array)
  );
}

/** Files and collections, under the dialect's own path. @throws ClientError from every method */
export class FilesClient {
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
    const path = `${this.#dialect.files}${query}`;
    return this.#uploads.send({ where: 'files.upload', path, body: data, headers }, options);
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
    const path = this.#dialect.files;
    return this.#uploads.send({ where: 'files.uploadTar', path, body: tar, headers }, options);
  }

  /** A directory as the parts of a form. @param form.contentType with its boundary */
  uploadForm(form: { body: Body; contentType: string }, options: UploadOptions = {}): Promise<Uploaded> {
    const headers = {
      'content-type': form.contentType,
      [`${this.#dialect.headerPrefix}collection`]: 'true',
    };
    const path = this.#dialect.files;
    return this.#uploads.send({ where: 'files.uploadForm', path, body: form.body, headers }, options);
  }

  async download(reference: string, path = '', options: DownloadOptions = {}): Promise<Uint8Array> {
    return (await this.#request('files.download', { reference, path }, options)).bytes();
  }

  /** What the node reports about the file, and its bytes. */
  async open(reference: string, path = '', options: DownloadOptions = {}): Promise<OpenedFile> {
    const answer = await this.#request('files.open', { reference, path }, options);
    const { headers } = answer;
    return {
      contentType: headers['content-type'] ?? '',
      filename: filenameOf(headers['content-disposition'] ?? ''),
      pieces: () => answer.pieces(),
    };
  }

  async stream(
    reference: string,
    path = '',
    options: DownloadOptions = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#request('files.stream', { reference, path }, options)).pieces();
  }

  async #request(
    where: string,
    { reference, path }: { reference: string; path: string },
    options: DownloadOptions,
  ): Promise<HttpResponse> {
    expectHex(`${where}: reference`, reference, DIGITS.reference);
    expectText(`${where}: path`, path);
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    return this.#http.request(
      downloadRequest(this.#dialect, `${this.#dialect.files}/${reference}/${encoded}`, options),
    );
  }
}

/** Quoted UTF-8 with backslashes before quotes and backslashes. */
function filenameOf(disposition: string): string | undefined {
  const quoted = /;\s*filename="((?:[^"\\]|\\.)*)"/.exec(disposition)?.[1];
  return quoted === undefined ? undefined : Buffer.from(quoted.replace(/\\(.)/g, '$1'), 'latin1').toString();
}
