import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { dialectOf } from '../../../../node/api/dialect.ts';
import { ERRORS } from '../../../../node/api/errors.ts';
import { refusalsOf } from '../../../../node/api/route/openapi.ts';
import type { Method } from '../../../../node/api/route/route.ts';
import { type SchemaName, schemas } from '../../../../node/api/route/schemas.ts';
import { ROUTES } from '../../../../node/api/routes/table.ts';
import { peer, SOME_ACCOUNT } from '../fake-peers.ts';
import { BATCH } from '../fake-postage.ts';
import { SOME_CASHOUT, SOME_CHEQUE } from '../fake-swap.ts';
import { sentTransaction, TX_HASH } from '../fake-transactions.ts';
import { type Kit, PUBLIC_KEY, startKit, WITHDRAWAL_ADDRESS } from '../kit.ts';
import { socOf } from '../soc-kit.ts';

const PEER = '07'.repeat(32);
const PAID = { 'svc-postage-batch-id': BATCH };
const SOC = socOf('a single owner');
const REFERENCE = toHex(makeCac(1n, Buffer.from('x')).address);
let list: { readonly ref: string; readonly historyref: string };
let file: string;

const REQUESTS: readonly {
  method: Method;
  path: string;
  url?: string | (() => string);
  headers?: Record<string, string> | (() => Record<string, string>);
  payload?: unknown;
}[] = [
  { method: 'POST', path: '/bytes', headers: { 'svc-postage-batch-id': BATCH }, payload: 'x' },
  {
    method: 'POST',
    path: '/chunks',
    headers: { 'svc-postage-batch-id': BATCH },
    payload: 'longer than a span',
  },
  {
    method: 'POST',
    path: '/svc',
    headers: { 'svc-postage-batch-id': BATCH, 'content-type': 'text/plain' },
    payload: 'x',
  },
  { method: 'GET', path: '/manifest/{reference}/{prefix}', url: () => `/manifest/${file}/` },
  { method: 'POST', path: '/soc/{owner}/{id}', url: SOC.url, headers: PAID, payload: SOC.wrapped },
  { method: 'POST', path: '/feeds/{owner}/{topic}', url: `/feeds/${'ab'.repeat(20)}/aa`, headers: PAID },
  {
    method: 'POST',
    path: '/pss/send/{topic}/{targets}',
    url: '/pss/send/topic/aa',
    headers: PAID,
    payload: 'x',
  },
  { method: 'POST', path: '/grantee', headers: PAID, payload: {} },
  { method: 'GET', path: '/grantee/{reference}', url: () => `/grantee/${list.ref}` },
  {
    method: 'PATCH',
    path: '/grantee/{reference}',
    url: () => `/grantee/${list.ref}`,
    headers: () => ({ ...PAID, 'svc-act-history-address': list.historyref }),
    payload: { add: [PUBLIC_KEY] },
  },
  { method: 'POST', path: '/envelope/{address}', url: `/envelope/${PEER}`, headers: PAID },
  { method: 'POST', path: '/pins/{reference}', url: `/pins/${REFERENCE}` },
  { method: 'GET', path: '/pins/{reference}', url: `/pins/${REFERENCE}` },
  { method: 'GET', path: '/pins' },
  { method: 'GET', path: '/pins/check' },
  { method: 'DELETE', path: '/pins/{reference}', url: `/pins/${REFERENCE}` },
  { method: 'GET', path: '/stewardship/{reference}', url: `/stewardship/${REFERENCE}` },
  { method: 'PUT', path: '/stewardship/{reference}', url: `/stewardship/${REFERENCE}`, headers: PAID },
  { method: 'GET', path: '/tags' },
  { method: 'POST', path: '/tags' },
  { method: 'GET', path: '/tags/{uid}', url: '/tags/1' },
  { method: 'PATCH', path: '/tags/{uid}', url: '/tags/1', payload: {} },
  { method: 'GET', path: '/stamps' },
  { method: 'GET', path: '/stamps/{batch_id}', url: `/stamps/${BATCH}` },
  { method: 'GET', path: '/stamps/{batch_id}/buckets', url: `/stamps/${BATCH}/buckets` },
  { method: 'POST', path: '/stamps/{amount}/{depth}', url: '/stamps/1/20' },
  {
    method: 'PATCH',
    path: '/stamps/topup/{batch_id}/{amount}',
    url: `/stamps/topup/${BATCH}/1`,
  },
  {
    method: 'PATCH',
    path: '/stamps/dilute/{batch_id}/{depth}',
    url: `/stamps/dilute/${BATCH}/21`,
  },
  { method: 'PATCH', path: '/stamps/{batch_id}', url: `/stamps/${BATCH}`, payload: { label: 'x' } },
  { method: 'GET', path: '/batches' },
  { method: 'GET', path: '/batches/{batch_id}', url: `/batches/${BATCH}` },
  { method: 'GET', path: '/addresses' },
  { method: 'GET', path: '/health' },
  { method: 'GET', path: '/readiness' },
  { method: 'GET', path: '/node' },
  { method: 'GET', path: '/chainstate' },
  { method: 'GET', path: '/reservestate' },
  { method: 'GET', path: '/welcome-message' },
  { method: 'POST', path: '/welcome-message', payload: { welcomeMessage: 'x' } },
  { method: 'GET', path: '/peers' },
  { method: 'GET', path: '/blocklist' },
  {
    method: 'POST',
    path: '/connect/{multiAddress}',
    url: '/connect/ip4/127.0.0.1/tcp/1/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF',
  },
  { method: 'POST', path: '/pingpong/{address}', url: `/pingpong/${PEER}` },
  { method: 'GET', path: '/topology' },
  { method: 'GET', path: '/balances' },
  { method: 'GET', path: '/balances/{address}', url: `/balances/${PEER}` },
  { method: 'GET', path: '/consumed' },
  { method: 'GET', path: '/consumed/{address}', url: `/consumed/${PEER}` },
  { method: 'GET', path: '/accounting' },
  { method: 'GET', path: '/timesettlements' },
  { method: 'GET', path: '/settlements' },
  { method: 'GET', path: '/settlements/{address}', url: `/settlements/${PEER}` },
  { method: 'GET', path: '/chequebook/address' },
  { method: 'GET', path: '/chequebook/balance' },
  { method: 'POST', path: '/chequebook/deposit', url: '/chequebook/deposit?amount=1' },
  { method: 'POST', path: '/chequebook/withdraw', url: '/chequebook/withdraw?amount=1' },
  { method: 'GET', path: '/chequebook/cheque' },
  { method: 'GET', path: '/chequebook/cheque/{peer-id}', url: `/chequebook/cheque/${PEER}` },
  { method: 'GET', path: '/chequebook/cashout/{peer-id}', url: `/chequebook/cashout/${PEER}` },
  { method: 'POST', path: '/chequebook/cashout/{peer-id}', url: `/chequebook/cashout/${PEER}` },
  { method: 'GET', path: '/wallet' },
  { method: 'GET', path: '/stake' },
  { method: 'DELETE', path: '/stake' },
  { method: 'POST', path: '/stake/{amount}', url: '/stake/1' },
  { method: 'GET', path: '/stake/withdrawable' },
  { method: 'DELETE', path: '/stake/withdrawable' },
  { method: 'GET', path: '/redistributionstate' },
  {
    method: 'GET',
    path: '/rchash/{depth}/{anchor1}/{anchor2}',
    url: `/rchash/0/${'11'.repeat(32)}/${'22'.repeat(32)}`,
  },
  {
    method: 'POST',
    path: '/wallet/withdraw/{coin}',
    url: `/wallet/withdraw/nativetoken?amount=1&address=${toHex(WITHDRAWAL_ADDRESS)}`,
  },
  { method: 'GET', path: '/transactions' },
  { method: 'GET', path: '/transactions/{txHash}', url: `/transactions/${TX_HASH}` },
  { method: 'POST', path: '/transactions/{txHash}', url: `/transactions/${TX_HASH}` },
  { method: 'DELETE', path: '/transactions/{txHash}', url: `/transactions/${TX_HASH}` },
  { method: 'GET', path: '/status' },
  { method: 'GET', path: '/status/peers' },
  { method: 'GET', path: '/status/neighborhoods' },
  { method: 'GET', path: '/debugstore' },
  { method: 'GET', path: '/loggers' },
  { method: 'GET', path: '/loggers/{exp}', url: '/loggers/bm9kZQ==' },
  { method: 'PUT', path: '/loggers/{exp}/{verbosity}', url: '/loggers/bm9kZQ==/info' },
  { method: 'GET', path: '/openapi.json' },
  // Last, because it takes the peer away.
  { method: 'DELETE', path: '/peers/{address}', url: `/peers/${PEER}` },
];

function problemsOf(dialect: 'svc' | 'swarm', name: SchemaName, answer: unknown): string[] {
  const schema = z.fromJSONSchema({ ...schemas(dialectOf(dialect))[name] });
  const issues = schema.safeParse(answer).error?.issues ?? [];
  // Amounts are integers beyond 2^53, which zod does not take.
  const real = issues.filter((issue) => issue.code !== 'too_big' || issue.origin !== 'int');
  return real.map(({ path }) => path.join('.'));
}

describe.each(['svc', 'swarm'] as const)('answers in the %s dialect', (name) => {
  let kit: Kit;
  beforeAll(async () => {
    kit = await startKit({ dialect: name });
    kit.knobs.peers = [peer(7)];
    kit.knobs.transactions = [sentTransaction()];
    const grantees = {
      method: 'POST',
      url: '/grantee',
      headers: PAID,
      payload: { grantees: [PUBLIC_KEY] },
    } as const;
    list = (await kit.api.main.inject(grantees)).json();
    const upload = { ...PAID, 'content-type': 'text/plain' };
    file = (await kit.api.main.post(name === 'svc' ? '/svc' : '/bzz', 'x', upload)).json().reference;
    kit.knobs.nowMs += 1000;
    kit.knobs.accounts = [SOME_ACCOUNT];
    kit.knobs.timeSettlements = [{ peer: PEER, received: 1n, sent: 2n }];
    kit.knobs.cheques = [{ peer: PEER, received: SOME_CHEQUE, sent: undefined }];
    kit.knobs.cashout = { last: SOME_CASHOUT, uncashedAmount: 3n };
    kit.knobs.blocklist = [{ overlay: PEER, fullNode: true, reason: 'x', durationMs: 1, since: 0 }];
  });

  test.each(REQUESTS)(
    '$method $path has the declared status and shape',
    async ({ method, path, url, headers, payload }) => {
      const row = ROUTES.find(
        (route) => route.method === method && route.path === path && route.port !== 'debug',
      );
      const answer = await kit.api.main.inject({
        method,
        url: (typeof url === 'function' ? url() : url) ?? path,
        ...(headers === undefined ? {} : { headers: typeof headers === 'function' ? headers() : headers }),
        ...(payload === undefined ? {} : { payload: payload as string }),
      });
      expect(row?.success, answer.body).toContain(answer.statusCode);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(problemsOf(name, row?.response as SchemaName, answer.json())).toEqual([]);
    },
  );
});

test('an unknown peer is named in the shape of the dialect that answers', async () => {
  const { api } = await startKit({ dialect: 'swarm' });
  const answer = await api.main.get('/chequebook/cheque/00');
  expect(answer.statusCode).toBe(200);
  expect(problemsOf('swarm', 'Cheques', answer.json())).toEqual([]);
});

test.each<[SchemaName, unknown, string]>([
  ['ReferenceResponse', {}, 'reference'],
  ['ReferenceResponse', { reference: 'AB'.repeat(32) }, 'reference'],
  ['Tag', { startedAt: 'yesterday' }, 'startedAt'],
  ['AllCheques', { lastcheques: [{ peer: 1 }] }, 'lastcheques.0.peer'],
  ['Accounting', { peerData: { ['07'.repeat(32)]: { balance: 1 } } }, `peerData.${'07'.repeat(32)}.balance`],
])('an answer that %s does not describe is found: %j', (name, answer, at) => {
  expect(problemsOf('svc', name, answer)).toContain(at);
});

test('every route that answers JSON is asked once', () => {
  const asked = new Set(REQUESTS.map(({ method, path }) => `${method} ${path}`));
  const json = ROUTES.filter(
    ({ method, port, response }) =>
      method !== 'HEAD' &&
      port !== 'debug' &&
      response !== undefined &&
      response !== 'octets' &&
      response !== 'text',
  );
  expect(new Set(json.map(({ method, path }) => `${method} ${path}`))).toEqual(asked);
});

test('every declared shape is used', () => {
  const used = new Set(ROUTES.flatMap(({ response, body }) => [response, body?.schema]));
  for (const name of Object.keys(schemas(dialectOf('svc')))) {
    if (name !== 'Problem') expect(used, name).toContain(name);
  }
});

describe('the document', () => {
  interface Operation {
    readonly parameters: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[];
    readonly responses: Record<string, unknown>;
  }
  interface Document {
    readonly info: { version: string };
    readonly paths: Record<string, Record<string, Operation>>;
    readonly components: { schemas: Record<string, unknown> };
  }
  const documentOf = async (dialect: 'svc' | 'swarm', port: 'main' | 'debug'): Promise<Document> =>
    (await (await startKit({ dialect })).api[port].inject({ url: '/openapi.json' })).json();

  test.each([
    ['svc', 'main'],
    ['svc', 'debug'],
    ['swarm', 'main'],
    ['swarm', 'debug'],
  ] as const)('%s, %s: is valid, and all its references resolve', async (dialect, port) => {
    const validator = new Validator();
    const document = await documentOf(dialect, port);
    expect(await validator.validate({ ...document })).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    const responses = { 200: { description: 'success', content: { 'application/json': {} } } };
    for (const wrong of [
      { parameters: 'none' },
      { responses: { 200: {} } },
      { requestBody: { $ref: '#/none' } },
    ]) {
      const paths = { ...document.paths, '/wrong': { get: { responses, ...wrong } } };
      expect((await validator.validate({ ...document, paths })).valid, JSON.stringify(wrong)).toBe(false);
    }
  });

  test('has every route of its port', async () => {
    for (const port of ['main', 'debug'] as const) {
      const { paths } = await documentOf('svc', port);
      const documented = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const served = ROUTES.filter((row) => row.port === 'both' || row.port === port);
      expect(documented.sort()).toEqual(served.map(({ method, path }) => `${method} ${path}`).sort());
    }
  });

  test('names the scheme of tokens, which probes never need', async () => {
    const document = (await documentOf('svc', 'main')) as unknown as {
      security: unknown;
      components: { securitySchemes: unknown };
      paths: Record<
        string,
        Record<string, { security?: unknown; responses: Record<string, { content?: object }> }>
      >;
    };
    expect(document.security).toEqual([{}, { bearer: [] }]);
    expect(document.components.securitySchemes).toMatchObject({ bearer: { type: 'http', scheme: 'bearer' } });
    expect(document.paths['/health']?.['get']?.security).toEqual([]);
    expect(document.paths['/peers']?.['get']?.security).toBeUndefined();
    const types = document.paths['/chunks/{address}']?.['get']?.responses['200']?.content;
    expect(Object.keys(types ?? {})).toEqual(['application/octet-stream']);
    const { paths } = (await documentOf('swarm', 'main')) as unknown as typeof document;
    const chunk = paths['/chunks/{address}']?.['get']?.responses['200']?.content;
    expect(Object.keys(chunk ?? {})).toEqual(['binary/octet-stream']);
  });

  test('names its interface and version', async () => {
    expect((await documentOf('svc', 'main')).info.version).toBe('7.3.0');
    expect((await documentOf('svc', 'debug')).info.version).toBe('4.0.0');
    expect((await documentOf('swarm', 'main')).info.version).toBe('8.1.0');
    expect((await documentOf('swarm', 'debug')).info.version).toBe('8.1.0');
  });

  test('uses only the active dialect', async () => {
    const swarm = await documentOf('swarm', 'main');
    expect(Object.keys(swarm.paths)).toContain('/bzz/{reference}/{path}');
    expect(JSON.stringify(swarm)).not.toMatch(/"svc-|\/svc/);
    expect(JSON.stringify(await documentOf('svc', 'main'))).not.toMatch(/"swarm-|\/bzz/);
  });

  test('describes parameters with their place, whether they are required, and their default', async () => {
    const { paths } = await documentOf('svc', 'main');
    const parameters = paths['/bytes']?.post?.parameters ?? [];
    const of = (name: string) => parameters.find((parameter) => parameter.name === name);
    expect(of('svc-postage-batch-id')).toMatchObject({ in: 'header', required: true });
    expect(of('svc-deferred-upload')).toMatchObject({
      required: false,
      schema: { type: 'boolean', default: true },
    });
    expect(paths['/bytes/{reference}']?.get?.parameters[0]).toMatchObject({
      name: 'reference',
      in: 'path',
      required: true,
    });
  });

  test.each([
    ['svc', ['svc-postage-batch-id', 'svc-tag'], true],
    ['swarm', ['swarm-tag', 'swarm-postage-batch-id', 'swarm-tag'], false],
  ] as const)(
    '%s: a stream has the parameters that the dialect reads',
    async (dialect, names, isRequired) => {
      const { paths } = await documentOf(dialect, 'main');
      const parameters = paths['/chunks/stream']?.get?.parameters ?? [];
      expect(parameters.map(({ name }) => name)).toEqual(names);
      const batch = parameters.find(({ name }) => name.endsWith('batch-id'));
      expect(batch?.required).toBe(isRequired);
    },
  );

  test.each([
    ['get', '/peers', '200 401 403 500 503'],
    ['get', '/health', '200 403 500'],
    ['head', '/readiness', '200 400 403 500'],
    ['get', '/bytes/{reference}', '200 206 304 400 401 403 404 412 416 500 503'],
    ['post', '/bytes', '201 400 401 402 403 404 408 422 500 503 507'],
    ['post', '/chunks', '201 400 401 402 403 404 408 413 422 500 503 507'],
    ['get', '/redistributionstate', '200 400 401 403 500 503'],
    ['post', '/stamps/{amount}/{depth}', '201 400 401 403 429 500 503 507'],
    ['patch', '/stamps/topup/{batch_id}/{amount}', '202 400 401 402 403 404 429 500 503 507'],
    ['get', '/status/peers', '200 401 403 429 500 503'],
    ['get', '/gsoc/subscribe/{address}', '101 400 401 403 500 503'],
  ])('lists every status that %s %s can answer', async (method, path, statuses) => {
    const { paths } = await documentOf('svc', 'main');
    expect(Object.keys(paths[path]?.[method]?.responses ?? {}).join(' ')).toBe(`${statuses} default`);
  });

  test('lists the messages of a status, in the words of the dialect', async () => {
    const of = async (dialect: 'svc' | 'swarm') =>
      (await documentOf(dialect, 'main')).paths['/chunks']?.post?.responses['400'];
    expect(await of('svc')).toMatchObject({
      description: expect.stringContaining("Either 'Svc-Postage-Stamp'"),
    });
    expect(await of('swarm')).toMatchObject({
      description: expect.stringContaining("Either 'Swarm-Postage-Stamp'"),
    });
    const { paths } = await documentOf('svc', 'main');
    expect(paths['/peers']?.get?.responses['503']).toMatchObject({
      description: 'Node is syncing. This endpoint is unavailable. Try again later.',
    });
  });

  test('every error of the table can be answered by an operation', () => {
    const answered = new Set(
      (['svc', 'swarm'] as const).flatMap((name) =>
        ROUTES.flatMap((row) => refusalsOf(row, dialectOf(name))),
      ),
    );
    // Answered where no operation is known.
    const rowless = ['MALFORMED_URL', 'HOST_TWICE'];
    expect(Object.keys(ERRORS).filter((code) => !answered.has(code as never))).toEqual(rowless);
  });
});
