import { expect, test } from 'vitest';
import { ClientError } from '../../../../../harness/client/errors.ts';
import type { Settlements } from '../../../../../harness/client/money-types.ts';
import {
  type AccountedNode,
  probeLinks,
  readNodeBooks,
} from '../../../../../harness/cluster/books/node-books.ts';

const SIGNAL = new AbortController().signal;
const overlayOf = (name: string) => `overlay of ${name}`;

interface Told {
  /** What peers owe, by name. */
  readonly balances?: Record<string, bigint>;
  readonly time?: Settlements['settlements'];
  readonly cheques?: Settlements['settlements'] | 'off';
  readonly peers?: readonly string[];
  readonly running?: boolean;
}

const refused = () =>
  Promise.reject(
    new ClientError('Swap is disabled', {
      class: 'http.403',
      node: 'a',
      method: 'GET',
      path: '/settlements',
      status: 403,
    }),
  );

function node(name: string, told: Told | Error): AccountedNode {
  const given = told instanceof Error ? {} : told;
  const rows = Object.entries(given.balances ?? {}).map(([peer, balance]) => ({
    peer: overlayOf(peer),
    balance,
    currentThresholdGiven: 1000n,
  }));
  const settlements = (list: Settlements['settlements'] = []) =>
    Promise.resolve({ totalReceived: 0n, totalSent: 0n, settlements: list });
  const { cheques = [] } = given;
  return {
    name,
    overlay: overlayOf(name),
    ethereum: `account of ${name}`,
    running: given.running ?? true,
    wipes: 0,
    client: {
      balances: () => (told instanceof Error ? Promise.reject(told) : Promise.resolve(rows)),
      accounting: () => Promise.resolve(rows),
      timeSettlements: () => settlements(given.time),
      settlements: () => (cheques === 'off' ? refused() : settlements(cheques)),
      chequebook: { address: () => (cheques === 'off' ? refused() : Promise.resolve('0b')) },
      peers: () => Promise.resolve((given.peers ?? []).map((peer) => ({ address: overlayOf(peer) }))),
    },
  } as unknown as AccountedNode;
}

test('a node’s books have a row for each peer with which it has an account', async () => {
  const paid = (peer: string, sent: bigint) => ({ peer: overlayOf(peer), sent, received: 2n });
  const books = await readNodeBooks(
    node('a', { balances: { b: 70n }, time: [paid('c', 5n)], cheques: [paid('d', 7n)], peers: ['b'] }),
  );
  const nothing = {
    balance: 0n,
    limit: undefined,
    timeSent: 0n,
    timeReceived: 0n,
    chequeSent: 0n,
    chequeReceived: 0n,
  };
  expect(books).toEqual({
    name: 'a',
    overlay: overlayOf('a'),
    account: 'account of a',
    chequebook: '0b',
    wipes: 0,
    links: [
      { ...nothing, peer: overlayOf('b'), balance: 70n, limit: 1000n },
      { ...nothing, peer: overlayOf('c'), timeSent: 5n, timeReceived: 2n },
      { ...nothing, peer: overlayOf('d'), chequeSent: 7n, chequeReceived: 2n },
    ],
  });
});

test('a node with cheques off has no chequebook and no cheques, and that is no failure', async () => {
  const books = await readNodeBooks(node('a', { balances: { b: 1n }, cheques: 'off' }));
  expect(books.chequebook).toBeUndefined();
  expect(books.links).toMatchObject([{ chequeSent: 0n, chequeReceived: 0n }]);
});

test('nodes whose counts agree have settled, and nodes that are not running are not asked', async () => {
  const nodes = [
    node('a', { balances: { b: 70n } }),
    node('b', { balances: { a: -70n } }),
    node('c', { balances: { a: 5n }, running: false }),
  ];
  expect(await probeLinks(nodes, SIGNAL)).toMatchObject({ done: [{ name: 'a' }, { name: 'b' }] });
});

test('reports a link whose ends differ, or a node that does not answer, as missing', async () => {
  const apart = [node('a', { balances: { b: 70n } }), node('b', { balances: { a: -60n } })];
  expect(await probeLinks(apart, SIGNAL)).toEqual({ missing: 'a says 70 of b, which says -60' });
  expect(await probeLinks([node('a', new Error('gone'))], SIGNAL)).toEqual({ missing: 'a: gone' });
});

test('of many links that differ, only the first are listed', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const nodes = names.map((name) =>
    node(name, { balances: name === 'a' ? { b: 1n, c: 1n, d: 1n, e: 1n } : {} }),
  );
  expect(await probeLinks(nodes, SIGNAL)).toEqual({
    missing:
      'a says 1 of b, which says 0; a says 1 of c, which says 0; a says 1 of d, which says 0 and 1 more',
  });
});
