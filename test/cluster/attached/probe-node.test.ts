import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { probeNode } from '../../../harness/cluster/attached/probe-node.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

type Answers = Readonly<Record<string, unknown>>;

const OVERLAY = 'ab'.repeat(32);
const ED25519 = '/ip4/10.0.0.1/tcp/1634/p2p/12D3KooWBZ1NEMeT7GnopKMi8EFG44n4CHqqAaixMR6m1rAuzcZW';
const P256 = '/ip4/10.0.0.1/tcp/1634/p2p/QmeTpySFQbHdbwKe3uke8zfsQYg2JtPGXz8V5iZgzhiVY2';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function endpoint(answers: Answers): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const answer = answers[url];
    const body = typeof answer === 'string' ? answer : JSON.stringify(answer ?? { message: 'Not Found' });
    response.writeHead(answer === undefined ? 404 : 200).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const withoutChain = (node: Answers, underlay: string): Answers => ({
  '/health': { status: 'ok' },
  '/node': node,
  '/addresses': { overlay: OVERLAY, ethereum: `0x${'CD'.repeat(20)}`, underlay: [underlay] },
  '/peers': { peers: [] },
});

async function lookAt(answers: Answers): ReturnType<typeof probeNode> {
  const api = await endpoint(answers);
  return probeNode({ name: 'node-0', api, debug: api }, { clock: MACHINE_CLOCK });
}

test.each([
  ['our node in its own dialect', { svcMode: 'full' }, ED25519, ['svc', 'svc', 'full']],
  ['our node in the swarm dialect', { beeMode: 'light' }, ED25519, ['svc', 'swarm', 'light']],
  ['a Bee', { beeMode: 'full' }, P256, ['bee', 'swarm', 'full']],
  ['a Bee without a chain', { beeMode: 'ultra-light' }, P256, ['bee', 'swarm', 'light']],
])('%s is recognised by its answers', async (_what, node, underlay, expected) => {
  const seen = await lookAt(withoutChain(node, underlay));
  if ('mistake' in seen) throw new Error(seen.mistake);
  expect([seen.flavour, seen.dialect, seen.mode]).toEqual(expected);
  expect(seen).toMatchObject({
    overlay: OVERLAY,
    ethereum: 'cd'.repeat(20),
    p2p: underlay,
    chain: undefined,
  });
});

test.each([
  ['a page', { '/node': '<html></html>' }],
  ['another service', { '/node': { mode: 'full' } }],
  ['a server without such a path', {}],
])('%s is not a storage node', async (_what, answers: Answers) => {
  expect(await lookAt(answers)).toEqual({
    mistake: 'answers, but is not a storage node: GET /node returns no mode',
  });
});

test('a node that serves only data at one address is asked at its debug API', async () => {
  const { '/node': node, '/health': health, ...rest } = withoutChain({ svcMode: 'full' }, ED25519);
  const data = { '/health': health, '/readiness': { status: 'ready', apiVersion: '7.3.0' } };
  expect(await lookAt(data)).toEqual({ mistake: 'serves only data there: name its debug API with debug' });
  const [api, debug] = [await endpoint(data), await endpoint({ '/node': node, ...rest })];
  expect(await probeNode({ name: 'node-0', api, debug }, { clock: MACHINE_CLOCK })).toMatchObject({
    overlay: OVERLAY,
    mode: 'full',
  });
});

test('nodes without a chain need no chain endpoint', async () => {
  const stateDir = temporaryFolder('svcnet-look');
  const api = await endpoint(withoutChain({ beeMode: 'ultra-light' }, P256));
  await using net = await Cluster.attachNetwork({ nodes: [{ api }] }, { stateDir });
  expect(net.name).toBe('network');
  expect([net.chain.rpc, net.batches, net.node(0).running]).toEqual(['', [], true]);
  await net.membership.observe();
  expect(net.node(0).state).toBe('running');
  await expect(net.chain.height()).rejects.toThrow('the nodes have no chain');
});
