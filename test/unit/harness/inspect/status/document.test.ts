import { expect, test } from 'vitest';
import type { Topology } from '../../../../../harness/client/types.ts';
import type { NodeAnswers, Replies, Reply } from '../../../../../harness/inspect/status/ask.ts';
import { type ClusterAnswers, statusDocument } from '../../../../../harness/inspect/status/document.ts';

const overlay = (index: number) => `0${index}`.padEnd(64, '0');
const timeout = (path: string, node = 'node-0'): Reply<never> => ({
  failure: { class: 'client.timeout', text: `${node}: GET ${path}: no answer in time` },
});

function topology(connected: readonly number[]): Topology {
  const connectedPeers = connected.map((index) => ({
    address: overlay(index),
    metrics: { latencyEWMA: index, sessionConnectionDirection: '', reachability: '', healthy: true },
  }));
  const bin = { population: 0, connected: connected.length, connectedPeers, disconnectedPeers: null };
  return { connected: connected.length, depth: 1, bins: { bin_0: bin } } as unknown as Topology;
}

function replies(given: Partial<Replies> = {}): Replies {
  return {
    health: { value: { status: 'ok', version: '2.8.1-6e8a2e2', apiVersion: '8.0.0' } },
    status: { value: { reserveSize: 7 } as never },
    topology: { value: topology([0, 1, 2]) },
    chainState: { value: { block: 20 } as never },
    balances: { value: [] },
    cheques: { value: undefined },
    chequebook: { value: undefined },
    ...given,
  };
}

function node(index: number, given: Partial<NodeAnswers> = {}): NodeAnswers {
  return {
    name: `node-${index}`,
    overlay: overlay(index),
    flavour: 'svc',
    mode: 'full',
    state: 'running',
    replies: replies(),
    unheard: [],
    ...given,
  };
}

function down(index: number, state: NodeAnswers['state']): NodeAnswers {
  const { replies: _, ...rest } = node(index, { state });
  return rest;
}

function documentOf(nodes: readonly NodeAnswers[], height: ClusterAnswers['height'] = { value: 20 }) {
  return statusDocument({ at: 'now', name: 'net', seed: 1, rpc: 'http://chain', height, nodes, faults: [] });
}

test('the answers of all nodes become one row each, with the slowest link by the name of its peer', () => {
  const { nodes, problems, chain } = documentOf([node(0), node(1)]);
  expect(problems).toEqual([]);
  expect(chain).toEqual({ rpc: 'http://chain', height: 20 });
  expect(nodes[0]).toMatchObject({
    version: '2.8.1-6e8a2e2',
    answers: true,
    peers: 3,
    depth: 1,
    reserve: 7,
    block: 20,
    slowest: { peer: '02000000', latencyMs: 2 },
  });
});

test('a full Bee that considers itself unreachable is a problem, because it stores nothing', () => {
  const status = (isReachable: boolean) =>
    replies({ status: { value: { reserveSize: 0, isReachable } as never } });
  const { problems } = documentOf([
    node(0, { flavour: 'bee', replies: status(false) }),
    node(1, { flavour: 'bee', replies: status(true) }),
    node(2, { flavour: 'bee', mode: 'light', replies: status(false) }),
    node(3, { flavour: 'svc', replies: status(false) }),
  ]);
  expect(problems).toEqual([expect.stringMatching(/^node-0 reports that it is not publicly reachable/)]);
});

test.each([
  ['links', {}, 'node-0 is not connected to node-1, and has 1 of 2 links'],
  ['a status of a peer', { lacking: 'is warming up' }, 'node-0 is warming up'],
])('a node with peers that lacks %s is a problem, with the reason if it is known', (_what, given, line) => {
  const unlinked = 'lacking' in given ? undefined : new Map([['node-0', { text: line, others: ['node-1'] }]]);
  const about = { at: 'now', name: 'net', seed: 1, rpc: '', height: { value: 20 }, faults: [] };
  const nodes = [node(0, given), node(1)];
  expect(statusDocument({ ...about, nodes, unlinked }).problems).toEqual([line]);
  const isolated = new Map([['node-0', 'fault f1 is active']]);
  const { problems, nodes: shown } = statusDocument({ ...about, nodes, unlinked, isolated });
  expect(problems).toEqual([`${line}: fault f1 is active`]);
  expect(shown[0]).toMatchObject({ lacking: [line] });
});

const STILL = 'the chain has made no block for 42.0 s, expected one every 1.0 s';

test.each([
  [{ blockTimeMs: 1000, paused: false }, 42_000, [STILL]],
  [{ blockTimeMs: 1000, paused: true }, 42_000, [`${STILL}: it is paused`]],
  [{ blockTimeMs: 1000, paused: false }, 9_000, []],
  [{ blockTimeMs: 30_000, paused: false }, 42_000, []],
  [{ blockTimeMs: 0, paused: false }, 42_000, []],
  [undefined, 42_000, []],
])('a chain with the pace %j and no block for %d ms: %j', (pace, ageMs, problems) => {
  const at = new Date(1_000_000).toISOString();
  const about = { at, name: 'net', seed: 1, rpc: '', height: { value: 20 }, faults: [], nodes: [node(0)] };
  expect(statusDocument({ ...about, blockAt: 1_000_000 - ageMs, pace }).problems).toEqual(problems);
});

test.each([
  [42_000, [STILL]],
  [0, []],
])(
  'a chain whose last block is %d ms old by the clocks beside it, and 42 s by ours: %j',
  (ageMs, problems) => {
    const blockAt = 1_000_000;
    const at = new Date(blockAt + 42_000).toISOString();
    const timestamp = new Date(blockAt + ageMs).toISOString();
    const there = { topology: { value: { ...topology([0, 1, 2]), timestamp } } };
    const nodes = [node(0, { replies: replies(there) })];
    const about = { at, name: 'net', seed: 1, rpc: '', height: { value: 20 }, faults: [], nodes };
    const pace = { blockTimeMs: 1000, paused: false };
    expect(statusDocument({ ...about, blockAt, pace }).problems).toEqual(problems);
  },
);

test('a node that is not running has its state and no figures, and does not affect the other rows', () => {
  const { nodes, problems } = documentOf([node(0), down(1, 'paused'), down(2, 'crashed')]);
  expect(nodes[0]).toMatchObject({ peers: 3, block: 20 });
  expect(nodes[1]).toEqual({
    name: 'node-1',
    flavour: 'svc',
    mode: 'full',
    state: 'paused',
    unheard: [],
    lacking: [],
    peers: null,
    depth: null,
    reserve: null,
    block: null,
    balances: null,
    problem: 'node-1 is paused',
  });
  expect(problems).toEqual(['node-1 is paused', 'node-2 has crashed; see its log: svcnet logs node-2']);
});

test('a question without an answer leaves the other answers in the row', () => {
  const { nodes, problems } = documentOf([
    node(0, {
      replies: replies({
        chequebook: timeout('/chequebook/balance'),
        status: timeout('/status'),
      }),
    }),
    node(1),
  ]);
  expect(nodes[0]).toMatchObject({ answers: true, peers: 3, reserve: null, block: 20 });
  expect(problems).toEqual(['node-0: GET /status: no answer in time (and 1 more question)']);
});

test('a node that answers nothing is reported in one line', () => {
  const silent = (reply: Reply<never>) =>
    node(0, {
      replies: {
        health: reply,
        status: reply,
        topology: reply,
        chainState: reply,
        balances: reply,
        cheques: reply,
        chequebook: reply,
        backlog: reply,
      },
    });
  const hanging = documentOf([silent(timeout('/status')), node(1)]);
  expect(hanging.nodes[0]).toMatchObject({ state: 'running', answers: false, peers: null });
  expect(hanging.problems).toEqual(['node-0 does not answer within 1.0 s; see its log: svcnet logs node-0']);
  const refused = { class: 'client.connect', text: 'node-0: GET /status: connect ECONNREFUSED' } as const;
  expect(documentOf([silent({ failure: refused }), node(1)]).problems).toEqual([
    'node-0 does not answer: GET /status: connect ECONNREFUSED',
  ]);
});

test('a node whose disk is full is a problem', () => {
  const backlog = { value: { reserve: { leftovers: [] }, uploads: [], disk: { full: true } } as never };
  expect(documentOf([node(0, { replies: replies({ backlog }) }), node(1)]).problems).toEqual([
    'node-0 has no space left on its disk and stores nothing; free space, and it resumes by itself',
  ]);
});

test('a ping without an answer is listed by the name of the peer, and is not a problem', () => {
  const { nodes, problems } = documentOf([node(0, { unheard: [overlay(1)] }), node(1)]);
  expect(nodes[0]?.unheard).toEqual(['node-1']);
  expect(problems).toEqual([]);
});

test('a chain that does not answer is reported, and the rows stay', () => {
  const failure = { class: 'other', text: 'connect ECONNREFUSED' } as const;
  const { chain, nodes, problems } = documentOf([node(0), node(1)], { failure });
  expect(chain.height).toBeNull();
  expect(nodes[0]).toMatchObject({ peers: 3 });
  expect(problems).toEqual(['chain: connect ECONNREFUSED']);
});

test('nodes far behind the chain and nodes without peers are problems', () => {
  const alone = node(0, { replies: replies({ topology: { value: topology([]) } }) });
  expect(documentOf([alone, node(1)], { value: 31 }).problems).toEqual([
    'node-0 has read block 20, the chain is at 31',
    'node-1 has read block 20, the chain is at 31',
    'node-0 has no peers',
  ]);
});

test('the debts of a node that did not report them are taken from its peers', () => {
  const owed = node(1, { replies: replies({ balances: { value: [{ peer: overlay(0), balance: 5n }] } }) });
  const { debts } = documentOf([node(0, { replies: replies({ balances: timeout('/balances') }) }), owed]);
  expect(debts).toEqual([{ debtor: 'node-0', creditor: 'node-1', units: '5' }]);
});

test('a network without a chain has no height, which is no problem; a silent node is one', () => {
  const { chain, problems } = documentOf([node(0), down(1, 'silent')], { value: null });
  expect(chain.height).toBeNull();
  expect(problems).toEqual(['node-1 does not answer']);
});

test('a mutable batch that displaces its oldest chunks is a problem, with what helps', () => {
  const displacing = [{ batchID: 'ab'.repeat(32), displaced: 3 }];
  expect(documentOf([node(0, { displacing })]).problems).toEqual([
    'node-0: batch abababab is mutable and full: 3 stamps took the place of its oldest chunks; dilute it, or buy a deeper one',
  ]);
});

test('versions of a flavour without a link to each other are named, those of linked nodes are not', () => {
  const bee = (index: number, version: string, peers: readonly number[]) =>
    node(index, {
      flavour: 'bee',
      replies: replies({
        health: { value: { status: 'ok', version, apiVersion: '8.0.0' } },
        topology: { value: topology(peers) },
      }),
    });
  const ours = node(0, { replies: replies({ topology: { value: topology([1, 2, 3]) } }) });
  const apart = [ours, bee(1, '2.7.1', [0]), bee(2, '2.8.1', [0, 3]), bee(3, '2.8.1', [0, 2])];
  expect(documentOf(apart).unlinked).toEqual([
    [
      { flavour: 'bee', version: '2.7.1', names: ['node-1'] },
      { flavour: 'bee', version: '2.8.1', names: ['node-2', 'node-3'] },
    ],
  ]);
  expect(documentOf([ours, bee(1, '2.8.0', [0]), bee(2, '2.8.1', [0, 1])]).unlinked).toEqual([]);
});
