import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { eventually, http, stateFolder } from './kit.ts';

const TOKENS = {
  'api-token': 'full-token-of-the-tests',
  'api-read-token': 'read-token-of-the-tests',
  'debug-api-token': 'debug-token-of-the-tests',
} as const;
const folder = stateFolder();
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({ nodes: 1, seed: 13, driver: 'process', stateDir: join(folder, 'state') });
});
afterAll(() => net.stop());

const port = () => new URL(net.node(0).api).port;
const bearer = (name: keyof typeof TOKENS) => ({ authorization: `Bearer ${TOKENS[name]}` });

async function possessions() {
  const node = net.node(0);
  const { body } = await http(node, '/chequebook/balance', { headers: bearer('api-token') });
  const stamps = await http(node, '/stamps', { headers: bearer('api-token') });
  return { chequebook: Buffer.from(body).toString(), batches: (stamps.json['stamps'] as unknown[]).length };
}

function subscribes(headers: Record<string, string>): Promise<number> {
  const url = `${net.node(0).api.replace(/^http/, 'ws')}/pss/subscribe/topic`;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.once('open', () => resolve(101)).once('open', () => socket.terminate());
    socket.once('unexpected-response', (request, answer) => {
      request.destroy();
      resolve(answer.statusCode ?? 0);
    });
    socket.once('error', reject);
  });
}

const SPENDING = [
  ['POST', '/chequebook/withdraw?amount=1'],
  ['POST', '/stamps/100000000/20'],
  ['POST', '/welcome-message'],
] as const;

describe('a web page', () => {
  test('whose host name was pointed here (DNS rebinding) can read, spend and hear nothing', async () => {
    const before = await possessions();
    const headers = { host: `evil.example:${port()}`, origin: `http://evil.example:${port()}` };
    for (const path of ['/wallet', '/health', '/stamps', '/']) {
      const answer = await http(net.node(0), path, { headers });
      expect([answer.status, answer.headers['access-control-allow-origin']], path).toEqual([403, undefined]);
    }
    for (const [method, path] of SPENDING) {
      expect((await http(net.node(0), path, { method, headers })).status).toBe(403);
    }
    expect(await subscribes(headers)).toBe(403);
    expect(await possessions()).toEqual(before);
  });

  test('of another site can spend and hear nothing', async () => {
    const before = await possessions();
    const headers = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
    for (const [method, path] of SPENDING) {
      expect((await http(net.node(0), path, { method, headers })).status).toBe(403);
    }
    expect(await subscribes(headers)).toBe(403);
    const read = await http(net.node(0), '/wallet', { headers });
    expect([read.status, read.headers['access-control-allow-origin']]).toEqual([200, undefined]);
    expect(await possessions()).toEqual(before);
  });

  test('of content under its own host name has no API there, and cannot buy anything', async () => {
    const before = await possessions();
    const { json } = await http(net.node(0), '/svc?name=index.html', {
      method: 'POST',
      headers: { 'svc-postage-batch-id': net.node(0).batch ?? '', 'content-type': 'text/html' },
      body: '<script>fetch("/wallet")</script>',
    });
    const host = `${String(json['reference'])}.svc.localhost:${port()}`;
    const page = await http(net.node(0), '/', { headers: { host } });
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
    const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
    for (const path of ['/wallet', '/stamps', '/addresses', '/node']) {
      expect((await http(net.node(0), path, { headers })).status, path).toBe(404);
    }
    for (const [method, path] of SPENDING) {
      expect([404, 405]).toContain((await http(net.node(0), path, { method, headers })).status);
    }
    expect((await http(net.node(0), '/health', { headers })).status).toBe(200);
    expect(await possessions()).toEqual(before);
  });

  test('of an uploaded file under the host of the API is sandboxed', async () => {
    const { reference } = await net.node(0).bytes.upload(Buffer.from('<script>fetch("/wallet")</script>'));
    const { headers } = await http(net.node(0), `/bytes/${reference}`);
    expect(headers['content-security-policy']).toMatch(/^sandbox /);
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  test('is kept out without affecting programs, which send no origin', async () => {
    const { chequebook } = await possessions();
    expect((await http(net.node(0), '/chequebook/withdraw?amount=1', { method: 'POST' })).status).toBe(201);
    expect(await subscribes({})).toBe(101);
    await eventually('the chequebook has not paid out', async () => {
      const now = (await possessions()).chequebook;
      return now === chequebook ? `it has ${now}` : undefined;
    });
  });
});

describe('with tokens in files', () => {
  beforeAll(async () => {
    const node = net.node(0);
    await node.stop();
    const file = join(node.dataDir, 'config.yaml');
    const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    for (const [name, token] of Object.entries(TOKENS)) {
      const path = join(folder, name);
      writeFileSync(path, `${token}\n`);
      config[`${name}-file`] = path;
    }
    writeFileSync(file, JSON.stringify(config));
    await node.start();
  });

  test('probes need no token, everything else does', async () => {
    const statuses = async (path: string) => (await http(net.node(0), path)).status;
    expect([await statuses('/health'), await statuses('/readiness')]).toEqual([200, 200]);
    for (const path of ['/wallet', '/metrics', '/', '/nowhere']) expect(await statuses(path), path).toBe(401);
    expect(await subscribes({})).toBe(401);
    const { headers } = await http(net.node(0), '/wallet');
    expect(headers['www-authenticate']).toBe('Bearer realm="storage node"');
  });

  test('the read-only token can read and nothing else', async () => {
    const before = await possessions();
    const headers = bearer('api-read-token');
    expect((await http(net.node(0), '/wallet', { headers })).status).toBe(200);
    for (const [method, path] of SPENDING) {
      expect((await http(net.node(0), path, { method, headers })).status).toBe(403);
    }
    expect(await subscribes(headers)).toBe(403);
    expect(await possessions()).toEqual(before);
  });

  test('the full token can do everything', async () => {
    const headers = bearer('api-token');
    const withdrawn = await http(net.node(0), '/chequebook/withdraw?amount=1', { method: 'POST', headers });
    expect(withdrawn.status).toBe(201);
    expect(await subscribes(headers)).toBe(101);
    expect((await http({ api: net.node(0).debug }, '/addresses', { headers })).status).toBe(200);
  });

  test('the token of the debug API opens only that API', async () => {
    const headers = bearer('debug-api-token');
    expect((await http(net.node(0), '/addresses', { headers })).status).toBe(401);
    expect((await http({ api: net.node(0).debug }, '/addresses', { headers })).status).toBe(200);
  });

  describe('svcnet', () => {
    const stateDir = join(folder, 'attached');
    const file = join(folder, 'locked.yaml');
    const written = (token: string) => {
      const { api, debug } = net.node(0);
      writeFileSync(
        file,
        JSON.stringify({ chain: { rpc: net.chain.rpc }, nodes: [{ api, debug }], ...JSON.parse(token) }),
      );
      return file;
    };

    test('reports a missing or wrong token', async () => {
      const attached = (token: string) => Cluster.attachNetwork(written(token), { stateDir });
      await expect(attached('{}')).rejects.toThrow('requires a token: set token or tokenFile');
      const wrong = attached('{"token":"wrong-token"}');
      await expect(wrong).rejects.toThrow('rejected the token');
      await expect(wrong).rejects.not.toThrow('wrong-token');
      await expect(attached('{"tokenFile":"nowhere"}')).rejects.toThrow("tokenFile: no file 'nowhere'");
    });

    test('drives the node with its token, and keeps the token to itself', async () => {
      const network = await Cluster.attachNetwork(written('{"tokenFile":"api-token"}'), { stateDir });
      await network.detach();
      const again = await Cluster.attach('locked', { stateDir });
      const node = again.node(0);
      const data = Buffer.alloc(5000, 9);
      const { reference } = await node.bytes.upload(data, { deferred: true });
      expect(Buffer.compare(await node.bytes.download(reference), data)).toBe(0);
      using subscription = await node.messages.listen('topic');
      expect(subscription.closed).toBeUndefined();
      expect(await node.client.metrics()).toContain('svc_');
      const state = readFileSync(join(stateDir, 'clusters', 'locked', 'cluster.json'), 'utf8');
      const shown = [JSON.stringify(again.toJSON()), inspect(again, { depth: 10 }), state].join('\n');
      expect(shown).not.toContain(TOKENS['api-token']);
      await again.stop();
    });

    test('can read with a read-only token, and reports what that does not allow', async () => {
      const network = await Cluster.attachNetwork(written('{"tokenFile":"api-read-token"}'), { stateDir });
      expect(await network.node(0).client.peers()).toEqual([]);
      const refused = network.node(0).bytes.upload(Buffer.from('x'));
      await expect(refused).rejects.toThrow('403 the token is read-only: this operation needs the full one');
      await network.stop();
    });
  });

  test('neither the tokens nor the key of the node appear in the log, on the command line or in an answer', async () => {
    const node = net.node(0);
    const headers = bearer('api-token');
    await http(node, `/loggers/${Buffer.from('.').toString('base64')}/all`, { method: 'PUT', headers });
    const answers = await Promise.all(
      ['/loggers', '/node', '/metrics', '/nowhere', '/bytes/x'].map((path) => http(node, path, { headers })),
    );
    const exposed = [
      readFileSync(node.log, 'utf8'),
      readFileSync(`/proc/${node.pid}/cmdline`, 'utf8'),
      readFileSync(`/proc/${node.pid}/environ`, 'utf8'),
      ...answers.map(({ headers: sent, body }) => JSON.stringify(sent) + Buffer.from(body).toString()),
    ].join('\n');
    for (const token of Object.values(TOKENS)) expect(exposed).not.toContain(token);
    expect(node.privateKey).toMatch(/^[0-9a-f]{64}$/);
    expect(exposed).not.toContain(node.privateKey);
  });
});
