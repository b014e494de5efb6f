import type { Response } from 'light-my-request';
import { describe, expect, test } from 'vitest';
import { type Dialect, dialectOf, type HeaderKey } from '../../../node/api/dialect.ts';
import type { Route } from '../../../node/api/route/route.ts';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { GAS_HEADERS } from '../../../node/api/values/gas.ts';
import { paramsIn, wireName } from '../../../node/api/values/params.ts';
import { BATCH } from './fake-postage.ts';
import { AT_ONCE, type Kit, PUBLIC_KEY, startKit } from './kit.ts';

/** For every input: some are valid for some of them. */
const VALUES: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '1',
  '255',
  '256',
  '18446744073709551616',
  '9'.repeat(80),
  '1'.repeat(5000),
  'ab',
  'abc',
  'zz',
  'true',
  'null',
  'ab'.repeat(20),
  'ab'.repeat(31),
  'ab'.repeat(32),
  'ab'.repeat(33),
  'ab'.repeat(64),
  `02${'ff'.repeat(32)}`,
  'é',
  'a/b',
  '/a',
  '..',
  'a.eth',
  '\u0000',
  '%',
  '{}',
  'x'.repeat(4097),
  'multipart/form-data',
  'multipart/form-data; boundary=b',
  'application/x-tar',
  'bytes=9-1,-0',
];

const BODIES: readonly string[] = [
  '',
  '{',
  'null',
  '[]',
  '5',
  '"text"',
  '{"address":5}',
  '{"address":"ab"}',
  '{"welcomeMessage":5}',
  `{"welcomeMessage":"${'x'.repeat(141)}"}`,
  '{"label":5}',
  '{"grantees":5}',
  '{"grantees":[5]}',
  '{"grantees":["ab"]}',
  `{"grantees":["02${'ff'.repeat(32)}"]}`,
  '{"add":{},"revoke":7}',
  '['.repeat(1000),
  '\u0000'.repeat(7),
  '\u0000'.repeat(4000),
  '\u0000'.repeat(4001),
  '\u0000'.repeat(4105),
  '\u0000'.repeat(4201),
  '\u0000'.repeat(5000),
];

/** As far as one is known without the operation's state. */
const GOOD: Readonly<Record<string, string>> = {
  reference: 'ab'.repeat(32),
  address: 'ab'.repeat(32),
  owner: 'ab'.repeat(20),
  topic: 'ab'.repeat(32),
  id: 'ab'.repeat(32),
  sig: 'ab'.repeat(65),
  batch_id: BATCH,
  amount: '1',
  depth: '20',
  uid: '1',
  'peer-id': 'ab'.repeat(32),
  coin: 'svc',
  targets: 'ab',
  txHash: `0x${'ab'.repeat(32)}`,
  exp: Buffer.from('node').toString('base64'),
  verbosity: 'info',
  anchor1: 'ab'.repeat(32),
  anchor2: 'ab'.repeat(32),
  path: 'index.html',
  prefix: 'a/b',
  multiAddress: 'ip4/127.0.0.1/tcp/1634/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF',
  recipient: PUBLIC_KEY,
};
const GOOD_HEADERS: { readonly [K in HeaderKey]?: string } = {
  postageBatchId: BATCH,
  contentType: 'text/plain',
};

interface Sent {
  readonly path: Record<string, string>;
  readonly query: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly payload?: string;
}

/** No node has it: the answer is about the network. */
const MISSING_CONTENT = ['PUT /stewardship/{reference}'];

type Source = 'path' | 'query' | 'header';

function inputsOf(
  row: Route,
  dialect: Dialect,
): { source: Source; name: string; good: string | undefined }[] {
  const named = (source: Source, table: NonNullable<Route['headers']> | NonNullable<Route['params']>) =>
    paramsIn(table, dialect).map(([key, param]) => ({
      source,
      name: wireName(source, key, param, dialect),
      good: source === 'header' ? GOOD_HEADERS[key as HeaderKey] : param.required ? GOOD[key] : undefined,
    }));
  return [
    ...named('path', row.params ?? {}).map((input) => ({ ...input, good: GOOD[input.name] })),
    ...named('query', row.query ?? {}),
    ...named('header', { ...row.headers, ...(row.gates.includes('gas') ? GAS_HEADERS : {}) }),
  ];
}

function ask(kit: Kit, { method, path, port }: Route, sent: Sent): Promise<Response> {
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => {
    const value = sent.path[name] ?? '';
    return ['path', 'prefix', 'multiAddress'].includes(name) ? encodeURI(value) : encodeURIComponent(value);
  });
  const query = new URLSearchParams(sent.query).toString();
  const url = query === '' ? filled : `${filled}?${query}`;
  const { headers, payload } = sent;
  const api = port === 'debug' ? kit.api.debug : kit.api.main;
  return api.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
}

/** Header values travel as bytes. */
const isSendable = (value: string) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

describe.each(ROUTES.map((row) => ({ ...row, name: `${row.method} ${row.path} ${row.port}` })))(
  '$name',
  (row) => {
    const dialect = dialectOf('svc');
    const isFailure = ({ statusCode, payload }: Response) =>
      statusCode === 500 &&
      !(MISSING_CONTENT.includes(`${row.method} ${row.path}`) && payload.includes('re-upload failed'));
    const inputs = inputsOf(row, dialect);
    const good: Sent = { path: {}, query: {}, headers: {} };
    for (const { source, name, good: value } of inputs) {
      if (value !== undefined) (source === 'header' ? good.headers : good[source])[name] = value;
    }

    test.each(inputs.map(({ source, name }) => [source, name] as const))('%s %s', async (source, name) => {
      const kit = await startKit();
      kit.knobs.sleep = AT_ONCE;
      const failed: string[] = [];
      for (const value of VALUES) {
        if (source === 'header' && !isSendable(value)) continue;
        const of = source === 'header' ? 'headers' : source;
        const payload = row.body === undefined ? {} : { payload: 'text' };
        const answer = await ask(kit, row, {
          ...good,
          ...payload,
          [of]: { ...good[of], [name]: value },
        });
        if (isFailure(answer)) failed.push(`${value.slice(0, 20)} (${value.length}): ${answer.payload}`);
      }
      expect(failed).toEqual([]);
    });

    test('bodies', async () => {
      const kit = await startKit();
      const failed: string[] = [];
      for (const payload of BODIES) {
        for (const type of ['application/json', 'application/x-tar', 'multipart/form-data; boundary=b']) {
          const answer = await ask(kit, row, {
            ...good,
            headers: { ...good.headers, 'content-type': type },
            payload,
          });
          if (isFailure(answer))
            failed.push(`${type} ${payload.slice(0, 20)} (${payload.length}): ${answer.payload}`);
        }
      }
      expect(failed).toEqual([]);
    });
  },
);

test('a good value is known for every variable of a path', () => {
  const names = new Set(ROUTES.flatMap(({ params = {} }) => Object.keys(params)));
  expect([...names].filter((name) => GOOD[name] === undefined)).toEqual([]);
});
