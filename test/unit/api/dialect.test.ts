import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type DialectName, dialectOf } from '../../../node/api/dialect.ts';
import { BATCH } from './fake-postage.ts';
import { startKit } from './kit.ts';

const OWN_NAMES = [
  'postage-batch-id',
  'postage-stamp',
  'tag',
  'pin',
  'encrypt',
  'deferred-upload',
  'collection',
  'index-document',
  'error-document',
  'redundancy-level',
  'redundancy-strategy',
  'redundancy-fallback-mode',
  'chunk-retrieval-timeout',
  'lookahead-buffer-size',
  'cache',
  'only-root-chunk',
  'act',
  'act-timestamp',
  'act-publisher',
  'act-history-address',
  'soc-signature',
  'feed-index',
  'feed-index-next',
];

async function get(dialect: DialectName, url: string) {
  return (await startKit({ dialect })).api.main.get(url);
}

describe('names', () => {
  test.each(['svc', 'swarm'] as const)('the %s dialect names every header of the family', (name) => {
    const active = Object.values(dialectOf(name).headers).map((header) => header.active);
    for (const rest of OWN_NAMES) expect(active).toContain(`${name}-${rest}`);
  });

  test('only the table spells the prefix of a dialect', () => {
    const folder = new URL('../../../node/api/', import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    expect(files.length).toBeGreaterThan(10);
    for (const file of files.filter((path) => path !== 'dialect.ts')) {
      expect(readFileSync(new URL(file, folder), 'utf8'), file).not.toMatch(/["'`](svc|swarm)-/i);
    }
  });

  test.each([
    ['svc', 'svc'],
    ['svc', 'swarm'],
    ['swarm', 'svc'],
    ['swarm', 'swarm'],
  ] as const)('the %s dialect accepts headers and segment of %s', async (active, sent) => {
    const { api } = await startKit({ dialect: active });
    const segment = sent === 'svc' ? 'svc' : 'bzz';
    const up = await api.main.post(`/${segment}?name=a.txt`, 'hello', {
      [`${sent}-postage-batch-id`]: BATCH,
      'content-type': 'text/plain',
    });
    expect(up.statusCode).toBe(201);
    expect(up.headers[`${active}-tag`]).toBe('1');
    expect(up.headers[`${active === 'svc' ? 'swarm' : 'svc'}-tag`]).toBeUndefined();
    const down = await api.main.get(`/v1/${segment}/${up.json().reference}/`);
    expect(down.body).toBe('hello');
  });

  test('the header of the active dialect wins over the other one', async () => {
    const { api } = await startKit();
    const headers = { 'svc-postage-batch-id': BATCH, 'swarm-postage-batch-id': 'zz' };
    expect((await api.main.inject({ method: 'POST', url: '/bytes', headers })).statusCode).toBe(201);
    const swapped = { 'svc-postage-batch-id': 'zz', 'swarm-postage-batch-id': BATCH };
    expect((await api.main.inject({ method: 'POST', url: '/bytes', headers: swapped })).statusCode).toBe(400);
  });
});

describe('shapes', () => {
  test('reasons are strings in svc and objects in swarm, named in the active dialect', async () => {
    const reasonsOf = async (dialect: 'svc' | 'swarm') =>
      (await (await startKit({ dialect })).api.main.post('/bytes')).json().reasons;
    expect(await reasonsOf('svc')).toEqual(['svc-postage-batch-id: want required:']);
    expect(await reasonsOf('swarm')).toEqual([{ field: 'swarm-postage-batch-id', error: 'want required:' }]);
  });

  test.each([
    ['svc', '/node', { svcMode: 'full', chequebookEnabled: true, swapEnabled: true }],
    ['swarm', '/node', { beeMode: 'full', chequebookEnabled: true, swapEnabled: true }],
  ] as const)('%s: %s', async (dialect, url, body) => {
    expect((await get(dialect, url)).json()).toEqual(body);
  });

  test.each([
    ['svc', 'svc node\n'],
    ['swarm', 'Ethereum Swarm Bee\n'],
  ] as const)('%s: GET / says %j', async (dialect, body) => {
    expect((await get(dialect, '/')).body).toBe(body);
  });

  test.each([
    ['svc', "Either 'Svc-Postage-Stamp' or 'Svc-Postage-Batch-Id' header must be set in the request"],
    ['swarm', "Either 'Swarm-Postage-Stamp' or 'Swarm-Postage-Batch-Id' header must be set in the request"],
  ] as const)('%s: a chunk without stamp and batch', async (dialect, message) => {
    const { api } = await startKit({ dialect });
    const answer = await api.main.post('/chunks', Buffer.alloc(9));
    expect(answer.json()).toEqual({ code: 400, message });
  });

  test.each([
    ['svc', 'ab'.repeat(20)],
    ['swarm', `0x${'ab'.repeat(20)}`],
  ] as const)('%s: chain addresses are written as %s', async (dialect, written) => {
    const { api } = await startKit({ dialect });
    const { ethereum, chain_address } = (await api.main.get('/addresses')).json();
    expect([ethereum, chain_address]).toEqual([written, written]);
    expect((await api.main.get('/wallet')).json().walletAddress).toBe(written);
  });

  test('settlement sums are integers with all digits in svc and text in swarm', async () => {
    const bodyOf = async (dialect: 'svc' | 'swarm') => {
      const { api, knobs } = await startKit({ dialect });
      knobs.timeSettlements = [{ peer: '07'.repeat(32), received: 9_007_199_254_740_993n, sent: 5n }];
      return (await api.main.get('/timesettlements')).body;
    };
    expect(await bodyOf('svc')).toContain('"totalReceived":9007199254740993,"totalSent":5');
    expect(await bodyOf('swarm')).toContain('"totalReceived":"9007199254740993","totalSent":"5"');
  });

  test.each([
    ['svc', ['peerData', 'balances']],
    ['swarm', ['balances']],
  ] as const)('%s: members of /balances and /consumed are %j', async (dialect, members) => {
    const { api } = await startKit({ dialect });
    for (const url of ['/balances', '/consumed']) {
      expect(Object.keys((await api.main.get(url)).json())).toEqual(members);
    }
  });

  test.each([
    ['svc', ['stamps', 'snapshots']],
    ['swarm', ['snapshots']],
  ] as const)('%s: status records are listed under %j', async (dialect, members) => {
    const { api } = await startKit({ dialect });
    expect(Object.keys((await api.main.get('/status/peers')).json())).toEqual(members);
  });

  test.each([
    [
      'svc',
      {
        overlay: true,
        peer: true,
        batchCommitment: true,
        BatchCommitment: true,
        svcMode: true,
        beeMode: false,
      },
    ],
    [
      'swarm',
      {
        overlay: true,
        peer: false,
        batchCommitment: true,
        BatchCommitment: false,
        svcMode: false,
        beeMode: true,
      },
    ],
  ] as const)('%s: a status record has %j', async (dialect, members) => {
    const record = (await get(dialect, '/status')).json();
    for (const [name, present] of Object.entries(members)) expect(name in record, name).toBe(present);
  });

  test.each([
    ['svc', { immutableFlag: true, storageRadius: true }],
    ['swarm', { immutableFlag: false, storageRadius: false }],
  ] as const)('%s: a network batch has %j beside immutable', async (dialect, members) => {
    const [batch] = (await get(dialect, '/batches')).json().batches;
    expect(batch.immutable).toBe(true);
    for (const [name, present] of Object.entries(members)) expect(name in batch, name).toBe(present);
  });

  test.each([
    ['svc', ['status', 'version', 'apiVersion', 'debugApiVersion', 'code', 'message']],
    ['swarm', ['code', 'message']],
  ] as const)('%s: setting the welcome message answers %j', async (dialect, members) => {
    const { api } = await startKit({ dialect });
    const answer = await api.main.post('/welcome-message', { welcomeMessage: 'x' });
    expect(Object.keys(answer.json())).toEqual(members);
  });

  test.each([
    ['svc', 'svc'],
    ['swarm', 'bzz'],
  ] as const)('%s: the wallet names the token balance %sBalance', async (dialect, name) => {
    const wallet = (await get(dialect, '/wallet')).json();
    expect(wallet[`${name}Balance`]).toBe('1000000000000000000');
  });
});
