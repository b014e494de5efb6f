/** Upload sessions: `http-api-completion.md` 5.4. */
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import type { Tag } from '../../store/ports.ts';
import { ApiError, orElse } from '../errors.ts';
import { route } from '../route/route.ts';
import type { NodeServices } from '../services.ts';
import { dateTime } from '../values/http-date.ts';
import { int, uint } from '../values/kinds.ts';
import { type Check, described, min, optional, required } from '../values/params.ts';
import { shaped } from '../values/shaped.ts';

const TAG_BODY_MAX = 1024;
const PAGE_MAX = 1000;
const PAGE_DEFAULT = 100;
const NO_CACHE = { 'cache-control': 'no-cache, private, max-age=0' } as const;

const PATH = { uid: required(uint(64), { field: 'id' }) } as const;

const limitInRange: Check<number> = described(
  (value, { tagLimit }) => {
    const least = tagLimit.min ?? 0;
    if (value < least) return `want min:${least}`;
    return tagLimit.max !== undefined && value > tagLimit.max ? `want max:${tagLimit.max}` : undefined;
  },
  ({ tagLimit }) => ({
    minimum: tagLimit.min ?? 0,
    ...(tagLimit.max === undefined ? {} : { maximum: tagLimit.max }),
  }),
);

export const TAG_ROUTES = [
  route({
    method: 'GET',
    path: '/tags',
    port: 'main',
    summary: 'upload sessions, oldest first',
    gates: ['started'],
    query: {
      offset: optional(int, 0, { checks: [min(0)] }),
      limit: optional(int, PAGE_DEFAULT, { checks: [limitInRange] }),
    },
    success: [200],
    response: 'TagList',
    failure: 'TAG_LIST_FAILED',
    handle: ({ query: { offset, limit }, services: { store } }) => ({
      status: 200,
      json: { tags: store.tags.list(offset, Math.min(limit, PAGE_MAX)).map(tagBody) },
    }),
  }),
  route({
    method: 'POST',
    path: '/tags',
    port: 'main',
    summary: 'start an upload session',
    gates: ['started'],
    // The body is ignored.
    body: { content: 'json', schema: 'TagCreation' },
    bodyLimit: TAG_BODY_MAX,
    success: [201],
    refusals: ['DISK_FULL'],
    response: 'Tag',
    answerHeaders: ['cache-control'],
    failure: 'TAG_CREATE_FAILED',
    handle: async ({ services: { store } }) => ({
      status: 201,
      headers: NO_CACHE,
      json: tagBody(await store.tags.create()),
    }),
  }),
  route({
    method: 'GET',
    path: '/tags/{uid}',
    port: 'main',
    summary: 'progress of an upload session',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['TAG_NOT_PRESENT'],
    response: 'Tag',
    answerHeaders: ['cache-control'],
    failure: 'TAG_GET_FAILED',
    handle: ({ params, services }) => ({
      status: 200,
      headers: NO_CACHE,
      json: tagBody(existing(params.uid, services)),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/tags/{uid}',
    port: 'main',
    summary: 'forget an upload session; its chunks are still pushed',
    gates: ['started'],
    params: PATH,
    success: [204],
    refusals: ['TAG_NOT_PRESENT', 'DISK_FULL'],
    failure: 'TAG_GET_FAILED',
    async handle({ params: { uid }, services, dialect }) {
      if (dialect.missesTags) existing(uid, services);
      await services.store.tags.remove(uid);
      return { status: 204 };
    },
  }),
  route({
    method: 'PATCH',
    path: '/tags/{uid}',
    port: 'main',
    summary: 'give an upload session its reference',
    gates: ['started'],
    params: PATH,
    body: { content: 'json', schema: 'TagPatch' },
    bodyLimit: TAG_BODY_MAX,
    success: [200],
    refusals: ['INVALID_BODY_PARAMS', 'TAG_NOT_PRESENT', 'TAG_DONE_FAILED', 'DISK_FULL'],
    response: 'Acknowledgement',
    failure: 'TAG_GET_FAILED',
    serverErrors: ['TAG_BODY_INVALID'],
    async handle({ params, services, body, dialect }) {
      const bytes = await orElse('TAG_BODY_INVALID', () => body.read());
      const reference = await shaped(
        () => referenceOf(bytes, dialect.tagReferenceKeys),
        dialect,
        'TAG_BODY_INVALID',
      );
      const { uid } = existing(params.uid, services);
      await orElse('TAG_DONE_FAILED', () => services.store.uploads.openSession(uid).done(reference));
      return { status: 200, json: { code: 200, message: 'ok' } };
    },
  }),
];

function existing(uid: number, { store }: NodeServices): Tag {
  const tag = store.tags.get(uid);
  if (tag === undefined) throw new ApiError('TAG_NOT_PRESENT');
  return tag;
}

function tagBody({ address, startedAt, ...counters }: Tag): Record<string, unknown> {
  const { split, seen, stored, sent, synced, uid } = counters;
  return { split, seen, stored, sent, synced, uid, address: toHex(address), startedAt: dateTime(startedAt) };
}

/** @param keys that may name it @returns undefined: none does. @throws when neither hex nor JSON */
function referenceOf(body: Uint8Array, keys: readonly string[]): Uint8Array | undefined {
  if (body.length === 0) return undefined;
  const value = (JSON.parse(Buffer.from(body).toString('utf8')) ?? {}) as Record<string, unknown>;
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError('want an object');
  const given = keys.map((key) => value[key]).find((one) => one !== undefined && one !== null) ?? '';
  if (typeof given !== 'string') throw new TypeError('want a text as address');
  return given === '' ? undefined : fromHex(given);
}
