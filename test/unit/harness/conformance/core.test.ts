import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { secretsOf } from '../../../../formats/shown-url.ts';
import { readReport, writeReport } from '../../../../harness/conformance/files.ts';
import { chosenRows, grade, type Opened } from '../../../../harness/conformance/grade.ts';
import { Names } from '../../../../harness/conformance/http/names.ts';
import { routeAt } from '../../../../harness/conformance/http/routes.ts';
import { matrixLines } from '../../../../harness/conformance/matrix.ts';
import { conformancePage } from '../../../../harness/conformance/page.ts';
import { publishedMatrix } from '../../../../harness/conformance/published.ts';
import { type Level, Mismatch, NotApplicable, type Row } from '../../../../harness/conformance/row.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const PLAIN = { width: 100, colour: false, live: false };

function row(id: string, run: Row<string>['run'], more: Partial<Row<string>> = {}): Row<string> {
  return { id, group: 'g', about: `${id} holds`, level: 'read', run, ...more };
}

const ENDLESS_MS = 60_000;

const ROWS = [
  row('good', (subject, { record }) =>
    Promise.resolve(record({ sent: subject, received: '<b>&', asks: ['GET /hello'] })),
  ),
  row('bad', (_, { record }) => {
    record({ sent: 'GET /', received: '200 <script>' });
    return Promise.reject(new Mismatch('status 200, expected 404'));
  }),
  row('elsewhere', () => Promise.reject(new NotApplicable('needs a peer'))),
  row('broken', () => Promise.reject(new Error('no socket'))),
  row('dear', () => Promise.reject(new Error('must not run')), { level: 'money', group: 'h' }),
  row('endless', () => new Promise(() => undefined), { limitMs: ENDLESS_MS }),
];

interface Subject {
  readonly implementation?: string;
  readonly secrets?: readonly string[];
}

async function graded(
  rows: readonly Row<string>[],
  level: Level = 'write',
  signal = new AbortController().signal,
  { implementation = 'x 1', secrets = [] }: Subject = {},
) {
  const closed: string[] = [];
  const open = () =>
    Promise.resolve({
      subject: 'hello',
      described: 'a node',
      implementation,
      secrets,
      close: () => Promise.resolve([`closed ${closed.push('closed')}`]),
    });
  const clock = new ManualClock();
  const grading = grade({ kind: 'http', rows, open }, { clock, level, signal });
  // Twice as long as the row that never ends, so that it has its last words, too.
  await clock.advance(2 * ENDLESS_MS);
  return { report: await grading, closed };
}

test('each row ends with its own verdict, the reason and the exchange', async () => {
  const { report, closed } = await graded(ROWS);
  expect(report.rows.map(({ id, verdict, reason }) => [id, verdict, reason])).toEqual([
    ['good', 'passed', undefined],
    ['bad', 'failed', 'status 200, expected 404'],
    ['elsewhere', 'skipped', 'needs a peer'],
    ['broken', 'error', 'no socket'],
    ['dear', 'skipped', 'needs --level money'],
    ['endless', 'failed', 'not done within 60 s'],
  ]);
  expect(report.totals).toEqual({ passed: 1, failed: 2, error: 1, skipped: 2 });
  expect(report.leftBehind).toEqual(['closed 1']);
  expect(report.rows[0]?.exchanges).toEqual([{ sent: 'hello', received: '<b>&' }]);
  expect(report.rows[0]?.asks).toEqual(['GET /hello']);
  expect(closed).toEqual(['closed']);
});

test('a row that runs out of time says what it was still waiting for', async () => {
  const waits = row(
    'waits',
    async (_, { signal }) => {
      await once(signal, 'abort');
      throw new Mismatch('still 404');
    },
    { limitMs: ENDLESS_MS },
  );
  const [result] = (await graded([waits])).report.rows;
  expect(result).toMatchObject({ verdict: 'failed', reason: 'still 404' });
});

test('an interrupted run keeps its results and skips the rest', async () => {
  const interruption = new AbortController();
  const stops = row('stops', () => {
    interruption.abort();
    return Promise.resolve();
  });
  const { report, closed } = await graded([stops, ...ROWS], 'money', interruption.signal);
  expect(report.rows.slice(1).every(({ reason }) => reason === 'interrupted')).toBe(true);
  expect(closed).toEqual(['closed']);
});

test('long messages are truncated, and a row keeps its last exchanges', async () => {
  const talkative = row('talkative', (_, { record }) => {
    for (let i = 0; i < 100; i++) record({ sent: String(i), received: 'x'.repeat(100_000) });
    return Promise.resolve();
  });
  const exchanges = (await graded([talkative])).report.rows[0]?.exchanges ?? [];
  expect(exchanges.at(-1)?.sent).toBe('99');
  expect(exchanges.length).toBeLessThan(20);
  expect(exchanges[0]?.received.length).toBeLessThan(10_000);
});

test('the matrix counts by group and names every red row', async () => {
  const { report } = await graded(ROWS);
  const text = matrixLines(report, PLAIN, 100).join('\n');
  expect(text).toContain('conformance http of a node, level write (x 1)');
  expect(text).toContain('GROUP  PASSED  FAILED  ERROR  SKIPPED');
  expect(text).toContain('failed  bad: bad holds');
  expect(text).toContain('error  broken: broken holds');
  expect(text).toContain('skipped 1: needs --level money');
  expect(text).toMatch(/1 passed, 2 failed, 1 error, 2 skipped in/);
});

test('the files contain every row, and nothing that a node said becomes markup', async () => {
  const folder = temporaryFolder('svcnet-conformance');
  const { report } = await graded(ROWS);
  writeReport(join(folder, 'new'), report);
  const read = (name: string) => readFileSync(join(folder, 'new', name), 'utf8');
  expect(JSON.parse(read('conformance.json'))).toEqual(report);
  expect(read('junit.xml')).toContain('tests="5" failures="2" errors="1" skipped="1"');
  expect(read('junit.xml')).toContain('GET /&#10;&lt; 200 &lt;script&gt;');
  expect(read('report.html')).toContain('200 &lt;script&gt;');
  expect(read('report.html')).not.toContain('<script>');
  expect(read('report.html')).toContain('<details open><summary><strong>bad</strong>');
  const red = Array.from({ length: 20 }, (_, i) => ({ ...report.rows[1], id: `bad ${i}` }));
  writeReport(join(folder, 'long'), { ...report, rows: red as typeof report.rows });
  expect(readFileSync(join(folder, 'long', 'report.html'), 'utf8')).not.toContain('<details open>');
  expect(existsSync(join(folder, 'new', 'report.html'))).toBe(true);
});

test('rows are selected by part of their name or group', () => {
  const graded = { kind: 'http', rows: ROWS } as const;
  expect(chosenRows(graded, 'H d').map(({ id }) => id)).toEqual(['dear']);
  expect(chosenRows(graded, undefined)).toHaveLength(ROWS.length);
  expect(() => chosenRows(graded, 'no such row')).toThrow(
    expect.objectContaining({
      code: 'ARGUMENT_INVALID',
      message: "only: no row of http conformance contains 'no such row'",
    }),
  );
});

test('reports are shown side by side, each red row with what is known about it', async () => {
  const { report } = await graded(ROWS);
  const known = {
    ...report,
    rows: [{ ...report.rows[1], id: 'if-match weak', known: 'bug: answers 412' }],
  } as typeof report;
  const wire = { ...report, kind: 'wire', subject: '/ip4/127.0.0.1/tcp/1/p2p/12D, network 4' } as const;
  const page = publishedMatrix([
    { title: 'ours', report },
    { title: 'a|b', report: known },
    { title: 'peer', report: wire },
  ]);
  expect(page).toMatch(/## Over HTTP[^]*## On the wire[^]*- peer: x 1, network 4, level write/);
  expect(page).toContain('| Group | ours | a\\|b |');
  expect(page).toContain('| g | 1 of 4 | 0 of 1 |');
  expect(page).toContain('| h | – | – |');
  expect(page).toContain('| bad | bad holds | not explained: status 200, expected 404 |');
  expect(page).toMatch(/\| if-match weak \| .* \| bug: answers 412/);
  expect(matrixLines(known, PLAIN, 100).join('\n')).toContain('known bug: answers 412');
  expect(conformancePage(known)).toContain('Known bug: answers 412');
});

test('a red row of a released version says what is known about it', async () => {
  const deadly = row('14 no address', () => Promise.reject(new Mismatch('gone')));
  const told = async (implementation: string) =>
    (await graded([deadly], 'read', undefined, { implementation })).report.rows[0]?.known;
  expect(await told('bee/2.7.1 go1.26 linux/amd64')).toMatch(/^bug: reads the overlay/);
  expect(await told('bee/2.8.1-dev go1.26 linux/amd64')).toBeUndefined();
  const download = row('if-match weak', () => Promise.reject(new Mismatch('412')));
  const overHttp = (implementation: string) =>
    graded([download], 'read', undefined, { implementation }).then(({ report }) => report.rows[0]?.known);
  expect(await overHttp('version 2.8.1-dev')).toMatch(/^bug: answers 412/);
  expect(await overHttp('version 2.8.1-svcnet')).toBeUndefined();
});

test('no secret is in a report, wherever a row has recorded it', async () => {
  const url = 'https://me:p%40ss@rpc.example/v3/0123456789abcdef0123?key=hush';
  expect(secretsOf(url)).toEqual(['me', 'p%40ss', 'p@ss', 'hush', '0123456789abcdef0123']);
  expect(secretsOf('http://127.0.0.1:8545/rpc')).toEqual([]);
  const leaks = row('leaks', (_, { record }) => {
    record({ sent: url, received: url });
    return Promise.reject(new Mismatch(`no answer from ${url}`));
  });
  const { report } = await graded([leaks], 'read', undefined, { secrets: ['p%40ss', 'hush'] });
  expect(JSON.stringify(report)).not.toMatch(/p%40ss|hush/);
  expect(report.rows[0]?.reason).toContain('[redacted]');
});

test('an interruption ends a run while its subject is being opened, and closes a subject opened late', async () => {
  const interruption = new AbortController();
  const late = Promise.withResolvers<Opened<string>>();
  const closed = Promise.withResolvers<string>();
  const run = grade(
    { kind: 'wire', rows: ROWS, open: () => late.promise },
    { clock: new ManualClock(), level: 'read', signal: interruption.signal },
  );
  interruption.abort(new Error('interrupted by SIGINT'));
  await expect(run).rejects.toThrow('interrupted by SIGINT');
  late.resolve({
    subject: 'late',
    described: '',
    implementation: '',
    secrets: [],
    close: () => {
      closed.resolve('closed');
      return Promise.resolve([]);
    },
  });
  expect(await closed.promise).toBe('closed');
});

test('a file that is not a report is refused by name', () => {
  expect(() => readReport(join(import.meta.dirname, 'core.test.ts'))).toThrow(/core\.test\.ts: /);
});

test('a request is for the route whose template it fits, in the names of the dialect', () => {
  const routes = (dialect: 'svc' | 'swarm', ...requests: (readonly [string, string])[]) =>
    requests.map(([method, path]) => routeAt(new Names(dialect), method, path));
  expect(
    routes(
      'svc',
      ['GET', '/health?x=1'],
      ['GET', '/v1/pins'],
      ['GET', '/pins/check'],
      ['GET', `/pins/${'ab'.repeat(32)}`],
      ['GET', `/svc/${'ab'.repeat(32)}/a/b/c`],
      ['GET', '/nowhere/at/all'],
    ),
  ).toEqual([
    'GET /health',
    'GET /pins',
    'GET /pins/check',
    'GET /pins/{reference}',
    'GET /svc/{reference}/{path}',
    'GET /nowhere/at/all',
  ]);
  expect(routes('swarm', ['POST', '/bzz?name=a'])).toEqual(['POST /bzz']);
});
