/** Who may read access-controlled content: `http-api-completion.md` 5.7. */

import { toHex } from '../../../formats/crypto/hex.ts';
import { GRANTEES_MAX } from '../../act/grantees.ts';
import { ACT_UPLOAD_REFUSALS } from '../content/act.ts';
import { defaultGetter } from '../content/download.ts';
import { OTHER_DOWNLOAD_LEVEL, OTHER_UPLOAD_LEVEL } from '../content/levels.ts';
import { requireTag } from '../content/stamped.ts';
import { inSession, SESSION_REFUSALS, UPLOAD_HEADERS } from '../content/uploads.ts';
import { ApiError, type ApiErrorCode, orElse } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { type Call, type EarlyCall, route } from '../route/route.ts';
import { bool, hex, publicKey, reference } from '../values/kinds.ts';
import {
  optional,
  type ParamTable,
  referenceLength,
  required,
  strictly,
  type ValuesOf,
} from '../values/params.ts';
import { shaped } from '../values/shaped.ts';

/** More keys than a list may hold. */
const BODY_MAX = 2 * 1024 * 1024;

const { postageBatchId, tag, pin, deferredUpload, actHistoryAddress } = UPLOAD_HEADERS;
const STORING = { postageBatchId, tag, pin, deferredUpload } as const;
/** Past versions may have replicas; those stored here have none. */
const LEVEL = { redundancyLevel: OTHER_UPLOAD_LEVEL } as const;
const CHANGE_HEADERS = { ...STORING, ...LEVEL } as const;
const CREATE_HEADERS = { ...STORING, actHistoryAddress, ...LEVEL } as const;
const PATCH_HEADERS = { ...STORING, actHistoryAddress: required(hex), ...LEVEL } as const;
const PATH = {
  reference: required(reference, { field: 'address', checks: [strictly(referenceLength)] }),
} as const;

const CHANGE_REFUSALS = [
  ...SESSION_REFUSALS,
  ...ACT_UPLOAD_REFUSALS,
  'BODY_REQUIRED',
  'INVALID_BODY_PARAMS',
  'GRANTEES_BODY_UNREAD',
  'GRANTEES_CLOSE_FAILED',
] as const;
const CHANGE_SERVER_ERRORS = ['GRANTEES_BODY_INVALID', 'GRANTEES_CHANGE_FAILED'] as const;

export const GRANTEE_ROUTES = [
  route({
    method: 'POST',
    path: '/grantee',
    port: 'main',
    summary: 'create a list of grantees',
    gates: ['started'],
    headers: CREATE_HEADERS,
    body: { content: 'json', schema: 'GranteesCreation', required: true },
    bodyLimit: BODY_MAX,
    success: [201],
    refusals: [...CHANGE_REFUSALS, 'GRANTEES_INVALID'],
    response: 'GranteesChange',
    serverErrors: CHANGE_SERVER_ERRORS,
    early: requireBody,
    async handle(call) {
      const [listed] = await readLists(call, ['grantees']);
      return change(call, { add: await publicKeys(listed, 'GRANTEES_INVALID', call) }, 201);
    },
  }),
  route({
    method: 'PATCH',
    path: '/grantee/{reference}',
    port: 'main',
    summary: 'add and revoke grantees',
    gates: ['started'],
    params: PATH,
    headers: PATCH_HEADERS,
    body: { content: 'json', schema: 'GranteesPatch', required: true },
    bodyLimit: BODY_MAX,
    success: [200],
    refusals: [...CHANGE_REFUSALS, 'GRANTEES_ADD_INVALID', 'GRANTEES_REVOKE_INVALID', 'GRANTEES_NONE'],
    response: 'GranteesChange',
    serverErrors: CHANGE_SERVER_ERRORS,
    early: requireBody,
    async handle(call) {
      const [added, revoked] = await readLists(call, ['add', 'revoke']);
      const add = await publicKeys(added, 'GRANTEES_ADD_INVALID', call);
      const revoke = await publicKeys(revoked, 'GRANTEES_REVOKE_INVALID', call);
      return change(call, { grantees: call.params.reference, add, revoke }, 200);
    },
  }),
  route({
    method: 'GET',
    path: '/grantee/{reference}',
    port: 'main',
    summary: 'public keys of a list of grantees, for its publisher',
    gates: ['started'],
    params: PATH,
    headers: { cache: optional(bool, true), redundancyLevel: OTHER_DOWNLOAD_LEVEL },
    success: [200],
    refusals: ['GRANTEES_NOT_FOUND'],
    response: 'PublicKeys',
    async handle({ params, headers: { cache, redundancyLevel: level }, services, signal }) {
      const getter = defaultGetter(services, { cache, level });
      const listing = () => services.accessControl.grantees(params.reference, { getter, signal });
      const grantees = await orElse('GRANTEES_NOT_FOUND', listing);
      return { status: 200, json: grantees.map(toHex) };
    },
  }),
];

type ChangeCall = Call<ParamTable, ParamTable, typeof CHANGE_HEADERS>;
type Keys = readonly Uint8Array[];

/** @throws ApiError `BODY_REQUIRED` */
function requireBody({ hasBody }: EarlyCall): undefined {
  if (!hasBody) throw new ApiError('BODY_REQUIRED');
  return undefined;
}

/** Checks the tag before the body. @param names of the members; a missing one is empty @throws ApiError */
async function readLists(
  { headers, services, body, dialect }: ChangeCall,
  names: readonly string[],
): Promise<readonly (readonly string[])[]> {
  if (headers.deferredUpload || headers.pin) requireTag(headers.tag, services);
  const bytes = await orElse('GRANTEES_BODY_UNREAD', () => body.read());
  const parse = () => {
    const members = membersOf(bytes);
    return names.map((name) => textsOf(members[name], name));
  };
  return shaped(parse, dialect, 'GRANTEES_BODY_INVALID');
}

function membersOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  const value: unknown = body.length === 0 ? {} : JSON.parse(Buffer.from(body).toString());
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError('want an object');
  return (value ?? {}) as Record<string, unknown>;
}

function textsOf(list: unknown, name: string): readonly string[] {
  const texts = list ?? [];
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw new TypeError(`want a list of texts as ${name}`);
}

/** @returns compressed @throws ApiError `code` for a text that is no public key, and for more keys than a list may hold */
function publicKeys(
  texts: readonly string[] | undefined,
  code: ApiErrorCode,
  { dialect }: ChangeCall,
): Promise<Keys> {
  return orElse(code, () => {
    if (texts !== undefined && texts.length > GRANTEES_MAX)
      throw new RangeError(`${texts.length} public keys`);
    return (texts ?? []).map((text) => publicKey.parse(text, dialect) ?? missingKey());
  });
}

function missingKey(): never {
  throw new TypeError('an empty public key');
}

async function change(
  {
    headers,
    services,
    signal,
  }: Omit<ChangeCall, 'headers'> & {
    readonly headers: ValuesOf<typeof CREATE_HEADERS>;
  },
  wanted: { readonly grantees?: Uint8Array; readonly add: Keys; readonly revoke?: Keys },
  status: number,
): Promise<Answer> {
  const { uploader, accessControl } = services;
  const { postageBatchId: batchId, tag: tagUid, pin, actHistoryAddress: history } = headers;
  const deferred = headers.deferredUpload || pin;
  const begin = () => uploader.begin({ batchId, tagUid, deferred, pin, signal });
  const session = await orElse('PUTTER_REFUSED', begin);
  const getter = defaultGetter(services, { cache: true, level: headers.redundancyLevel });
  const io = { getter, putter: session, signal };
  const store = async () => {
    const changed = await accessControl.change({ ...wanted, history }, io);
    return { ...changed, root: changed.stored };
  };
  const stored = await inSession(
    session,
    () =>
      orElse('GRANTEES_CHANGE_FAILED', store, {
        CHUNK_NOT_FOUND: 'ACT_NOT_FOUND',
        BATCH_OVERISSUED: 'GRANTEES_CHANGE_FAILED',
      }),
    'GRANTEES_CLOSE_FAILED',
  );
  return { status, json: { ref: toHex(stored.grantees), historyref: toHex(stored.history) } };
}
