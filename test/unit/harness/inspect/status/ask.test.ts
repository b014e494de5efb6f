/** Nodes are asked in parallel, each question on its own, with a deadline. */
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ClientError } from '../../../../../harness/client/errors.ts';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import { ANSWER_LIMIT_MS, askNodes } from '../../../../../harness/inspect/status/ask.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const SIGNAL = new AbortController().signal;
const clock = new ManualClock();

async function answersOf(nodes: readonly ClusterNode[]): ReturnType<typeof askNodes> {
  const asking = askNodes(nodes, SIGNAL);
  await clock.advance(ANSWER_LIMIT_MS);
  return asking;
}

async function hangs(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  const request = { node: 'node', method: 'GET', path: '/' };
  throw new ClientError('no answer in time', { ...request, class: 'client.timeout', cause: signal.reason });
}

type Answering = (signal: AbortSignal) => Promise<unknown>;

function node(
  name: string,
  given: { state?: string; ping?: Answering; status?: Answering; peers?: readonly string[] } = {},
): ClusterNode {
  const answering = (value: unknown) => () => Promise.resolve(value);
  return {
    name,
    overlay: name,
    flavour: 'svc',
    mode: 'light',
    state: given.state ?? 'running',
    lacking: answering(undefined),
    client: {
      clock,
      peers: answering((given.peers ?? []).map((address) => ({ address }))),
      pingpong: (_peer: string, signal: AbortSignal) => (given.ping ?? answering('1ms'))(signal),
      health: answering({ version: '2.8.1-6e8a2e2' }),
      status: given.status ?? answering({ reserveSize: 1 }),
      topology: answering({ connected: 1 }),
      chainState: answering({ block: 1 }),
      balances: answering([]),
      settlements: answering({ totalSent: 0n }),
      stamps: { list: answering([]) },
      chequebook: { balance: answering({ totalBalance: 0n }) },
    },
  } as unknown as ClusterNode;
}

test('a ping without an answer leaves the other answers intact', async () => {
  const [asked] = await answersOf([node('a', { ping: hangs, peers: ['b'] }), node('b')]);
  expect(asked).toMatchObject({ unheard: ['b'], replies: { topology: { value: { connected: 1 } } } });
});

test('peers that do not run are not pinged', async () => {
  const pings: string[] = [];
  const ping = () => Promise.resolve(pings.push('ping'));
  const nodes = [node('a', { ping, peers: ['b', 'c'] }), node('b', { state: 'paused' }), node('c')];
  const [asked, paused] = await answersOf(nodes);
  expect(pings).toHaveLength(1);
  expect(asked?.unheard).toEqual([]);
  expect(paused).toEqual({
    name: 'b',
    overlay: 'b',
    flavour: 'svc',
    mode: 'light',
    state: 'paused',
    unheard: [],
  });
});

test('nodes that hang are waited for in parallel', async () => {
  const hanging = Array.from({ length: 20 }, (_, i) => node(`node-${i}`, { status: hangs }));
  const asked = await answersOf([...hanging, node('well')]);
  expect(asked[0]?.replies).toMatchObject({
    status: { failure: { class: 'client.timeout' } },
    chainState: { value: { block: 1 } },
  });
  expect(asked.at(-1)?.replies).toMatchObject({ status: { value: { reserveSize: 1 } } });
});

test('an interruption ends the questions', async () => {
  const interruption = new AbortController();
  const asking = askNodes([node('a', { status: hangs })], interruption.signal);
  interruption.abort();
  expect((await asking)[0]?.replies).toHaveProperty('status.failure');
});
