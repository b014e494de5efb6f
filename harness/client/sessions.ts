/** Batches, and upload sessions. */
import { DIGITS, expectAmount, expectHex, expectWhole } from '../base/arguments.ts';
import { CHAIN_TIMEOUT_MS, type HttpClient, sent, settled } from './http.ts';
import { type AmountJson, amount, plainHex } from './json.ts';
import type { NetworkBatch, Stamp, StampBuckets, Tag } from './types.ts';

/** In one answer of `GET /tags`. */
const TAGS_PAGE = 1000;

/** A byte on the chain, which decides which depths it accepts. */
const DEPTH = { min: 0, max: 255 } as const;

type StampJson = Omit<Stamp, 'amount'> & { amount: AmountJson | null };

function stampOf(row: StampJson): Stamp {
  return { ...row, amount: amount(row.amount ?? 0) };
}

/** Batches of the node. @throws ClientError from every method */
export class StampsClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async list(signal?: AbortSignal): Promise<readonly Stamp[]> {
    return ((await this.#http.get<{ stamps: StampJson[] | null }>('/stamps', signal)).stamps ?? []).map(
      stampOf,
    );
  }

  /** @throws ClientError `stamp.not_usable` while it is too young, `http.404` when the node does not own it */
  async get(batch: string, signal?: AbortSignal): Promise<Stamp> {
    expectHex('stamps.get: batch', batch, DIGITS.hash);
    return stampOf(await this.#http.get<StampJson>(`/stamps/${batch}`, signal));
  }

  /** @throws ClientError `http.404` when the node does not own it */
  async buckets(batch: string, signal?: AbortSignal): Promise<StampBuckets> {
    expectHex('stamps.buckets: batch', batch, DIGITS.hash);
    return this.#http.get<StampBuckets>(`/stamps/${batch}/buckets`, signal);
  }

  /** Answers when the batch is mined; it is usable some blocks later. @param request.amount per chunk */
  async buy(
    request: { amount: bigint; depth: number; label?: string; immutable?: boolean },
    signal?: AbortSignal,
  ): Promise<{ batchID: string; txHash: string }> {
    expectAmount('stamps.buy: amount', request.amount);
    expectWhole('stamps.buy: depth', request.depth, DEPTH);
    const query = request.label === undefined ? '' : `?label=${encodeURIComponent(request.label)}`;
    return this.#http.json<{ batchID: string; txHash: string }>({
      method: 'POST',
      path: `/stamps/${request.amount}/${request.depth}${query}`,
      headers: request.immutable === undefined ? {} : { immutable: String(request.immutable) },
      timeoutMs: CHAIN_TIMEOUT_MS,
      signal,
    });
  }

  /** Answers when it is mined. @param perChunk added amount @returns hash of the transaction */
  async topUp(batch: string, perChunk: bigint, signal?: AbortSignal): Promise<string> {
    expectHex('stamps.topUp: batch', batch, DIGITS.hash);
    expectAmount('stamps.topUp: perChunk', perChunk);
    return sent(
      this.#http,
      { method: 'PATCH', path: `/stamps/topup/${batch}/${perChunk}`, signal },
      'txHash',
    );
  }

  /** Answers when it is mined. @param depth larger than the present one @returns hash of the transaction */
  async dilute(batch: string, depth: number, signal?: AbortSignal): Promise<string> {
    expectHex('stamps.dilute: batch', batch, DIGITS.hash);
    expectWhole('stamps.dilute: depth', depth, DEPTH);
    return sent(this.#http, { method: 'PATCH', path: `/stamps/dilute/${batch}/${depth}`, signal }, 'txHash');
  }

  /** Every batch that the node knows from the chain, of any owner. */
  async network(signal?: AbortSignal): Promise<readonly NetworkBatch[]> {
    const { batches } = await this.#http.get<{
      batches: (Omit<NetworkBatch, 'value'> & { value: AmountJson })[] | null;
    }>('/batches', signal);
    return (batches ?? []).map((row) => ({
      ...row,
      value: amount(row.value),
      owner: plainHex(row.owner),
    }));
  }
}

/** Upload sessions. @throws ClientError from every method */
export class TagsClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async create(signal?: AbortSignal): Promise<Tag> {
    return this.#http.json<Tag>({ method: 'POST', path: '/tags', signal });
  }

  async get(uid: number, signal?: AbortSignal): Promise<Tag> {
    expectWhole('tags.get: uid', uid, { min: 0 });
    return this.#http.get<Tag>(`/tags/${uid}`, signal);
  }

  /** Every tag of the node, by uid. */
  async list(signal?: AbortSignal): Promise<readonly Tag[]> {
    const all: Tag[] = [];
    for (;;) {
      const path = `/tags?offset=${all.length}&limit=${TAGS_PAGE}`;
      const { tags } = await this.#http.get<{ tags: Tag[] | null }>(path, signal);
      all.push(...(tags ?? []));
      if ((tags ?? []).length < TAGS_PAGE) return all;
    }
  }

  /** Gives the session its root. */
  async done(uid: number, reference: string, signal?: AbortSignal): Promise<void> {
    expectWhole('tags.done: uid', uid, { min: 0 });
    expectHex('tags.done: reference', reference, DIGITS.reference);
    const body = JSON.stringify({ address: reference });
    await settled(this.#http.request({ method: 'PATCH', path: `/tags/${uid}`, body, signal }));
  }

  async delete(uid: number, signal?: AbortSignal): Promise<void> {
    expectWhole('tags.delete: uid', uid, { min: 0 });
    await settled(this.#http.request({ method: 'DELETE', path: `/tags/${uid}`, signal }));
  }
}
