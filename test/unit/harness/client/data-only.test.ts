import { afterAll, describe, expect, test } from 'vitest';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { listen } from '../../../../node/api/listen.ts';
import { createApi } from '../../../../node/api/server.ts';
import { BATCH } from '../../api/fake-postage.ts';
import { knobs, simulatedNode } from '../../api/kit.ts';

const PEER = 'ab'.repeat(32);

async function node({ dataOnly }: { dataOnly: boolean }) {
  const settings = {
    address: '127.0.0.1:0',
    debugAddress: '127.0.0.1:0',
    dataOnly,
    dialect: 'svc' as const,
    corsAllowedOrigins: [],
    allowedHosts: [],
    tokens: {},
    idleTimeoutMs: 10_000,
  };
  const api = createApi(settings, await simulatedNode(knobs()), listen);
  await api.start();
  return api;
}

const dataOnly = await node({ dataOnly: true });
const whole = await node({ dataOnly: false });
const url = (address: string | undefined) => `http://${address}`;
const apart = new NodeClient({
  node: 'node-0',
  api: url(dataOnly.addresses.main),
  debug: url(dataOnly.addresses.debug),
  defaultBatch: () => BATCH,
});
const together = new NodeClient({
  node: 'node-1',
  api: url(whole.addresses.main),
  defaultBatch: () => BATCH,
});
afterAll(async () => {
  await Promise.all([apart.close(), together.close()]);
  await Promise.all([dataOnly.stop(), whole.stop()]);
});

type Calls = Readonly<Record<string, (client: NodeClient) => Promise<unknown>>>;
const CALLS: Calls = {
  health: (client) => client.health(),
  readiness: (client) => client.readiness(),
  node: (client) => client.node(),
  addresses: (client) => client.addresses(),
  peers: (client) => client.peers(),
  blocklist: (client) => client.blocklist(),
  topology: (client) => client.topology(),
  status: (client) => client.status(),
  peerStatuses: (client) => client.peerStatuses(),
  reserveState: (client) => client.reserveState(),
  chainState: (client) => client.chainState(),
  balances: (client) => client.balances(),
  accounting: (client) => client.accounting(),
  settlements: (client) => client.settlements(),
  timeSettlements: (client) => client.timeSettlements(),
  metrics: (client) => client.metrics(),
  'stamps.list': (client) => client.stamps.list(),
  'stamps.network': (client) => client.stamps.network(),
  'wallet.balances': (client) => client.wallet.balances(),
  'stake.staked': (client) => client.stake.staked(),
  'redistribution.state': (client) => client.redistribution.state(),
  'transactions.pending': (client) => client.transactions.pending(),
  'chequebook.address': (client) => client.chequebook.address(),
  'chequebook.cheques': (client) => client.chequebook.cheques(),
  'tags.create': (client) => client.tags.create(),
  'tags.list': (client) => client.tags.list(),
  'pins.list': (client) => client.pins.list(),
  'bytes.upload': (client) => client.bytes.upload('content'),
  'chunks.has': (client) => client.chunks.has(PEER),
};

describe.each(Object.entries(CALLS))('%s', (_name, call) => {
  test('finds its operation where the main API serves only data', async () => {
    await expect(call(apart)).resolves.not.toThrow();
  });

  test('finds it on the main API where no other is given', async () => {
    await expect(call(together)).resolves.not.toThrow();
  });
});

test.each([
  ['connect', (client: NodeClient) => client.connect('/ip4/127.0.0.1/tcp/1')],
  ['disconnect', (client: NodeClient) => client.disconnect(PEER)],
  ['pingpong', (client: NodeClient) => client.pingpong(PEER)],
  ['transactions.get', (client: NodeClient) => client.transactions.get(`0x${PEER}`)],
  ['stamps.topUp', (client: NodeClient) => client.stamps.topUp(BATCH, 10n)],
] satisfies [string, Calls[string]][])('%s is answered alike by both nodes', async (_name, call) => {
  const outcome = async (client: NodeClient) => {
    const [settled] = await Promise.allSettled([call(client)]);
    return settled.status === 'fulfilled' ? 'done' : String(settled.reason).replace(client.name, 'node');
  };
  expect(await outcome(apart)).toBe(await outcome(together));
});
