import { expect, test } from 'vitest';
import {
  type Books,
  type Link,
  lawViolations,
  linkGaps,
  type NodeBooks,
  violations,
} from '../../../../../harness/cluster/books/books.ts';

const PEERS = { a: 'a'.repeat(64), b: 'b'.repeat(64), c: 'c'.repeat(64) };
const ACCOUNTS = { a: '0a'.repeat(20), b: '0b'.repeat(20), c: '0c'.repeat(20) };
const BOOK = { a: 'ba'.repeat(20), b: 'bb'.repeat(20), c: 'bc'.repeat(20) };
type Name = keyof typeof PEERS;

function link(peer: Name, more: Partial<Link> = {}): Link {
  return {
    peer: PEERS[peer],
    balance: 0n,
    limit: 1000n,
    timeSent: 0n,
    timeReceived: 0n,
    chequeSent: 0n,
    chequeReceived: 0n,
    ...more,
  };
}

function node(name: Name, ...links: Link[]): NodeBooks {
  return { name, overlay: PEERS[name], account: ACCOUNTS[name], chequebook: BOOK[name], wipes: 0, links };
}

/** `a` promised 70 to `b`, which cashed 50; 10 staked, a batch of 4 x 2^2, a pot of 3. */
function books(more: { nodes?: NodeBooks[]; chain?: Partial<Books['chain']> } = {}): Books {
  return {
    nodes: more.nodes ?? [
      node('a', link('b', { balance: -5n, timeSent: 8n, chequeSent: 70n })),
      node('b', link('a', { balance: 5n, timeReceived: 8n, chequeReceived: 70n }), link('c')),
      node('c'),
    ],
    chain: {
      block: 20,
      supply: 1000n,
      wallets: new Map([
        [ACCOUNTS.a, 900n],
        [ACCOUNTS.b, 21n],
      ]),
      chequebooks: [
        { address: BOOK.a, balance: 0n, totalPaidOut: 50n, paidOut: new Map([[ACCOUNTS.b, 50n]]) },
        { address: BOOK.b, balance: 50n, totalPaidOut: 0n, paidOut: new Map() },
      ],
      staked: 10n,
      stakes: new Map([[ACCOUNTS.a, 10n]]),
      postage: 19n,
      pot: 3n,
      batches: [{ id: '0x01', depth: 2, remaining: 4n }],
      dilutions: [],
      ...more.chain,
    },
  };
}

test('consistent books have no violation', () => {
  expect(violations(books())).toEqual([]);
  expect(violations(books(), books())).toEqual([]);
});

test.each([
  ['balances that do not cancel out', { balance: -4n }, 'a says -4 of b, which says 5'],
  [
    'a settlement by time that did not arrive',
    { timeSent: 9n },
    'by time: a has sent 9 to b, which has received 8',
  ],
  [
    'a cheque that did not arrive',
    { chequeSent: 71n },
    'by cheques: a has sent 71 to b, which has received 70',
  ],
  ['a settlement out of nowhere', { timeReceived: 1n }, 'by time: b has sent 0 to a, which has received 1'],
])('%s is named with both ends', (_what, change, message) => {
  const nodes = books().nodes.map((one) => one);
  nodes[0] = node('a', link('b', { balance: -5n, timeSent: 8n, chequeSent: 70n, ...change }));
  expect(violations(books({ nodes }))).toEqual([message]);
});

test('a peer unknown to the other end is owed nothing', () => {
  const nodes = [node('a', link('c', { balance: 3n })), node('c')];
  expect(violations({ ...books(), nodes })).toContain('a says 3 of c, which says 0');
});

test('a debt above the limit is reported while the peer is connected, not once it has gone', () => {
  const pair = (limit: bigint | undefined) => [
    node('b', link('c', { balance: 1001n, limit })),
    node('c', link('b', { balance: -1001n, limit })),
  ];
  const found = (limit: bigint | undefined) => violations({ ...books(), nodes: pair(limit) });
  expect(found(1000n)).toEqual(['c owes b 1001, above the limit of 1000, and is connected']);
  expect(found(1001n)).toEqual([]);
  expect(found(undefined)).toEqual([]);
});

test('reports a beneficiary that cashes more than was promised, or that is unknown', () => {
  const paying = (total: bigint, paid: bigint) =>
    violations(
      books({
        chain: {
          chequebooks: [
            { address: BOOK.a, balance: 0n, totalPaidOut: total, paidOut: new Map([[ACCOUNTS.b, paid]]) },
            { address: BOOK.b, balance: 50n, totalPaidOut: 0n, paidOut: new Map() },
          ],
        },
      }),
    );
  expect(paying(70n, 70n)).toEqual([]);
  expect(paying(71n, 71n)).toEqual(['b has cashed 71 of a, which has promised 70']);
  expect(paying(51n, 50n)).toEqual([`chequebook ${BOOK.a} has paid 51, its known beneficiaries got 50`]);
});

test.each([
  [
    'a token too many',
    { supply: 999n },
    'supply 999 at block 20, but known accounts and contracts hold 1000',
  ],
  [
    'a stake that is not there',
    { stakes: new Map([[ACCOUNTS.a, 11n]]) },
    'the stakes are 11, their contract holds 10',
  ],
  ['a pot that is not there', { pot: 4n }, 'pot 4 and batches 16 at block 20, their contract holds 19'],
  ['a pot that was lost', { pot: 2n }, 'pot 2 and batches 16 at block 20, their contract holds 19'],
])('%s is named', (_what, chain, message) => {
  expect(violations(books({ chain }))).toEqual([message]);
});

test('a dilution leaves less than one unit of each chunk behind', () => {
  const diluted = (pot: bigint) => violations(books({ chain: { pot, dilutions: [1] } }));
  expect(diluted(1n)).toEqual([]);
  expect(diluted(0n)).toHaveLength(1);
  expect(diluted(4n)).toHaveLength(1);
});

test('a cheque that promises less than the one before is named at either end', () => {
  const before = books({
    nodes: [node('a', link('b', { chequeSent: 80n })), node('b', link('a', { chequeReceived: 80n }))],
  });
  expect(violations(books(), before)).toEqual([
    'a: what was promised to bbbbbbbb fell from 80 to 70',
    'b: what was promised by aaaaaaaa fell from 80 to 70',
  ]);
  const forgotten = books({
    nodes: [node('b', link('a', { chequeReceived: 70n })), node('a', link('b', { chequeSent: 70n }))],
  });
  expect(violations(forgotten, books())).toEqual([]);
});

test('the books of a node begin anew when its data is removed', () => {
  const wiped = (name: Name, ...links: Link[]) => ({ ...node(name, ...links), wipes: 1 });
  const other = node('b', link('a', { balance: 5n, timeReceived: 8n, chequeReceived: 70n }));
  const afterwards = books({ nodes: [wiped('a', link('b', { balance: -5n, timeSent: 3n })), other] });
  expect(violations(afterwards, books())).toEqual([]);
  const again = [wiped('a', link('b', { balance: -5n, chequeSent: 9n })), other];
  const fallen = [wiped('a', link('b', { balance: -5n, chequeSent: 6n })), other];
  expect(violations(books({ nodes: fallen }), books({ nodes: again }))).toEqual([
    'a: what was promised to bbbbbbbb fell from 9 to 6',
  ]);
});

test('while payments are under way only what can never be is wrong', () => {
  const [paid, before] = [books(), books({ nodes: [node('a', link('b', { chequeSent: 80n }))] })];
  const underWay = [node('a', link('b', { balance: -9n, chequeSent: 70n })), node('b', link('a'))];
  expect(violations({ ...paid, nodes: underWay })).not.toEqual([]);
  expect(lawViolations({ ...paid, nodes: underWay })).toEqual([]);
  expect(lawViolations(books({ chain: { supply: 999n } }))).toHaveLength(1);
  expect(lawViolations({ nodes: underWay }, before)).toEqual([
    'a: what was promised to bbbbbbbb fell from 80 to 70',
  ]);
});

test('a gap explained by a fault is no violation, any other gap is', () => {
  const nodes = [
    node('a', link('b', { balance: -5n, timeSent: 8n, chequeSent: 70n })),
    node('b', link('a', { balance: 5n, timeReceived: 12n, chequeReceived: 70n }), link('c')),
    node('c'),
  ];
  const [gap, ...others] = linkGaps(nodes);
  expect(others).toEqual([]);
  expect(gap).toMatchObject({ ends: ['a', 'b'], what: 'by time', gap: 4n, total: 12n });
  const unexplained = violations(books({ nodes }));
  expect(unexplained).toEqual(['by time: a has sent 8 to b, which has received 12']);
  expect(violations(books({ nodes }), undefined, ({ ends }) => ends.includes('b'))).toEqual([]);
  expect(violations(books({ nodes }), undefined, ({ ends }) => ends.includes('c'))).toEqual(unexplained);
});
