/** Single-owner chunks and feeds. The owner's key signs here, never the node. */

import { type SocParts, signSoc, socParts } from '../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import { updateId } from '../../node/feeds/feed.ts';
import { argumentError, DIGITS, expectBytes, expectHex } from '../base/arguments.ts';
import type { Dialect } from './dialect.ts';
import { ClientError } from './errors.ts';
import type { HttpClient } from './http.ts';
import { downloadRequest, type StampOption, type Uploads } from './transfers.ts';
import type { DownloadOptions, Uploaded, UploadOptions } from './types.ts';

/** Bytes. */
const HASH_SIZE = 32;
const SIGNATURE_SIZE = 65;
const INDEX_MAX = 2n ** 64n - 1n;

/** What a node answers for a single-owner chunk. */
export interface SocContent {
  /** The content whose root the chunk wraps. */
  readonly data: Uint8Array;
  /** Hex. */
  readonly signature: string;
}

/** An update of a feed. */
export interface FeedContent extends SocContent {
  /** Of this update, from 0. */
  readonly index: bigint;
  /** Index of the update to make next. */
  readonly next: bigint;
}

/** `/soc`. @throws ClientError from every method */
export class SocClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #uploads: Uploads;

  constructor(http: HttpClient, dialect: Dialect, uploads: Uploads) {
    this.#http = http;
    this.#dialect = dialect;
    this.#uploads = uploads;
  }

  /**
   * @param owner chain address, 40 hex digits @param soc 32 bytes of id, 65 of signature, span and payload
   * @throws ClientError `http.401` when they do not belong together
   */
  async upload(
    owner: string,
    { id, signature, wrapped }: SocParts,
    options: UploadOptions & StampOption = {},
  ): Promise<Uploaded> {
    const where = 'soc.upload';
    expectBytes(`${where}: signature`, signature, SIGNATURE_SIZE);
    const path = `${socPath(where, owner, id)}?sig=${toHex(signature)}`;
    return this.#uploads.send({ where, path, body: wrapped }, options);
  }

  async download(owner: string, id: Uint8Array, options: DownloadOptions = {}): Promise<SocContent> {
    const request = downloadRequest(this.#dialect, socPath('soc.download', owner, id), options);
    const answer = await this.#http.request(request);
    const signature = answer.headers[`${this.#dialect.headerPrefix}soc-signature`] ?? '';
    return { data: await answer.bytes(), signature };
  }
}

function socPath(where: string, owner: string, id: Uint8Array): string {
  expectHex(`${where}: owner`, owner, DIGITS.account);
  expectBytes(`${where}: id`, id, HASH_SIZE);
  return `/soc/${owner}/${toHex(id)}`;
}

/** `/feeds`. @throws ClientError from every method */
export class FeedsClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;
  readonly #uploads: Uploads;
  readonly #soc: SocClient;

  constructor(http: HttpClient, dialect: Dialect, uploads: Uploads, soc: SocClient) {
    this.#http = http;
    this.#dialect = dialect;
    this.#uploads = uploads;
    this.#soc = soc;
  }

  /** A manifest that leads to the latest update. @param owner 40 hex digits @param topic 32 bytes */
  async create(owner: string, topic: Uint8Array, options: UploadOptions = {}): Promise<Uploaded> {
    const where = 'feeds.create';
    return this.#uploads.send({ where, path: feedPath(where, owner, topic), body: '' }, options);
  }

  /** @param update.wrapped span and payload of the update's chunk @returns its address */
  async update(
    owner: Signer,
    { topic, index, wrapped }: { topic: Uint8Array; index: bigint; wrapped: Uint8Array },
    options: UploadOptions = {},
  ): Promise<Uploaded> {
    const where = 'feeds.update';
    expectBytes(`${where}: topic`, topic, HASH_SIZE);
    expectBytes(`${where}: wrapped`, wrapped);
    expectIndex(`${where}: index`, index);
    const soc = signSoc(updateId(topic, index), wrapped, owner);
    return this.#soc.upload(toHex(owner.address), socParts(soc.data), options);
  }

  /** @param options.after index to start from @throws ClientError `http.404` for a feed without updates */
  async latest(
    owner: string,
    topic: Uint8Array,
    { after = 0n, ...options }: DownloadOptions & { after?: bigint } = {},
  ): Promise<FeedContent> {
    const where = 'feeds.latest';
    expectIndex(`${where}: after`, after);
    const path = `${feedPath(where, owner, topic)}?after=${after}`;
    const request = downloadRequest(this.#dialect, path, options);
    const answer = await this.#http.request(request);
    const header = (name: string) => answer.headers[`${this.#dialect.headerPrefix}${name}`] ?? '';
    const index = indexOf(header('feed-index'));
    const next = indexOf(header('feed-index-next'));
    if (index === undefined || next === undefined) {
      const about = {
        class: 'http.200',
        node: 'node',
        method: 'GET',
        path: request.path,
        status: 200,
      } as const;
      throw new ClientError('the answer has no index', about);
    }
    return { data: await answer.bytes(), signature: header('soc-signature'), index, next };
  }
}

function feedPath(where: string, owner: string, topic: Uint8Array): string {
  expectHex(`${where}: owner`, owner, DIGITS.account);
  expectBytes(`${where}: topic`, topic, HASH_SIZE);
  return `/feeds/${owner}/${toHex(topic)}`;
}

function expectIndex(where: string, value: unknown): void {
  if (typeof value === 'bigint' && value >= 0n && value <= INDEX_MAX) return;
  throw argumentError(where, value, 'a bigint from 0n to 2^64 - 1');
}

/** @param hex 16 digits, big-endian */
function indexOf(hex: string): bigint | undefined {
  return /^[0-9a-f]{16}$/.test(hex) ? Buffer.from(fromHex(hex)).readBigUInt64BE() : undefined;
}
