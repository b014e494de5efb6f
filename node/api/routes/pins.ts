/** Pinned content: `http-api-completion.md` 5.4. */
import { toHex } from '../../../formats/crypto/hex.ts';
import { pinContent } from '../../files/pinning.ts';
import { isMissing } from '../../files/traversal.ts';
import type { Pins } from '../../store/ports.ts';
import { defaultGetter } from '../content/download.ts';
import { OTHER_DOWNLOAD_LEVEL } from '../content/levels.ts';
import type { Dialect } from '../dialect.ts';
import { ApiError, answerOf, orElse } from '../errors.ts';
import { ACKNOWLEDGEMENT, CREATED, route } from '../route/route.ts';
import { JSON_CONTENT_TYPE, writeJson } from '../values/json.ts';
import { hex } from '../values/kinds.ts';
import { optional, referenceLength, required, strictly } from '../values/params.ts';

const PAGE = 256;
const PATH = { reference: required(hex, { checks: [strictly(referenceLength)] }) } as const;

export const PIN_ROUTES = [
  route({
    method: 'GET',
    path: '/pins',
    port: 'main',
    summary: 'root references of pinned content',
    gates: ['started'],
    success: [200],
    response: 'PinList',
    failure: 'PIN_LIST_FAILED',
    handle: ({ services: { store } }) => ({
      status: 200,
      json: { references: Array.from(rootsOf(store.pins), toHex) },
    }),
  }),
  route({
    method: 'GET',
    path: '/pins/check',
    port: 'main',
    effect: 'costs',
    summary: 'whether every chunk of pinned content is there and is right, root by root',
    gates: ['started'],
    query: { ref: optional(hex, undefined, { checks: [strictly(referenceLength)] }) },
    success: [200],
    response: 'PinChecks',
    handle({ query: { ref }, services: { store }, dialect, signal }) {
      const roots = ref === undefined ? rootsOf(store.pins) : [ref];
      return {
        status: 200,
        headers: { 'content-type': JSON_CONTENT_TYPE },
        stream: checks(roots, { pins: store.pins, dialect, signal }),
      };
    },
  }),
  route({
    method: 'POST',
    path: '/pins/{reference}',
    port: 'main',
    summary: 'fetch content and keep it',
    gates: ['started'],
    params: PATH,
    headers: { redundancyLevel: OTHER_DOWNLOAD_LEVEL },
    success: [200, 201],
    refusals: ['PIN_CONTENT_NOT_FOUND', 'PIN_CHECK_FAILED', 'DISK_FULL'],
    response: 'Acknowledgement',
    serverErrors: ['PIN_FAILED'],
    async handle({ params: { reference }, headers: { redundancyLevel: level }, services, signal }) {
      const { pins } = services.store;
      if (await orElse('PIN_CHECK_FAILED', () => pins.has(reference))) return ACKNOWLEDGEMENT;
      const getter = defaultGetter(services, { cache: true, level });
      try {
        await pinContent(reference, { getter, pins, signal });
      } catch (cause) {
        throw isMissing(cause)
          ? new ApiError('PIN_CONTENT_NOT_FOUND', { cause })
          : answerOf(cause, 'PIN_FAILED');
      }
      return CREATED;
    },
  }),
  route({
    method: 'GET',
    path: '/pins/{reference}',
    port: 'main',
    summary: 'whether content is pinned',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['NOT_FOUND'],
    response: 'ReferenceResponse',
    failure: 'PIN_GET_FAILED',
    handle({ params: { reference }, services: { store } }) {
      if (!store.pins.has(reference)) throw new ApiError('NOT_FOUND');
      return { status: 200, json: { reference: toHex(reference) } };
    },
  }),
  route({
    method: 'DELETE',
    path: '/pins/{reference}',
    port: 'main',
    summary: 'keep content no longer',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['NOT_FOUND', 'UNPIN_CHECK_FAILED', 'UNPIN_FAILED', 'DISK_FULL'],
    response: 'Acknowledgement',
    async handle({ params: { reference }, services: { store } }) {
      if (!(await orElse('UNPIN_CHECK_FAILED', () => store.pins.has(reference))))
        throw new ApiError('NOT_FOUND');
      // A concurrent request has already unpinned it.
      await orElse('UNPIN_FAILED', () => store.pins.remove(reference));
      return ACKNOWLEDGEMENT;
    },
  }),
];

function* rootsOf(pins: Pins): Generator<Uint8Array, void, void> {
  for (let after: Uint8Array | undefined; ; ) {
    const page = pins.list(after, PAGE);
    yield* page;
    after = page.at(-1);
    if (after === undefined) return;
  }
}

/** Sent once its root is checked. */
async function* checks(
  roots: Iterable<Uint8Array>,
  { pins, dialect, signal }: { pins: Pins; dialect: Dialect; signal: AbortSignal },
): AsyncGenerator<Uint8Array, void, void> {
  const { start, between, end } = dialect.pinChecks;
  let before = start;
  for (const root of roots) {
    signal.throwIfAborted();
    const record = { reference: toHex(root), ...(await pins.check(root)) };
    yield Buffer.concat([Buffer.from(before), writeJson(record)]);
    before = between;
  }
  const rest = before === start ? start + end : end;
  if (rest !== '') yield Buffer.from(rest);
}
