import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { DIALECTS, type Dialect } from '../../../harness/client/dialect.ts';
import { NodeClient } from '../../../harness/client/node-client.ts';

const PEER = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);
const HASH = `0x${'ef'.repeat(32)}`;
const LARGE = 2n ** 70n;

let server: Server | undefined;
let node: NodeClient | undefined;
afterEach(async () => {
  await node?.close();
  server?.closeAllConnections();
  server?.close();
});

/** @param bodies by method and path, as text: amounts beyond 2^53 must not pass through a number */
async function answering(dialect: Dialect, bodies: Readonly<Record<string, string>>): Promise<NodeClient> {
  server = createServer((request, response) => {
    const body = bodies[`${request.method} ${request.url}`];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(body ?? `{"code":404,"message":"no ${request.method} ${request.url}"}`);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  node = new NodeClient({ node: 'node-0', api: `http://127.0.0.1:${port}`, dialect });
  return node;
}

const SPELLINGS = [
  ['svc', DIALECTS.svc, (value: bigint) => `${value}`, 'aB'.repeat(20).toLowerCase()],
  ['swarm', DIALECTS.swarm, (value: bigint) => `"${value}"`, `0x${'aB'.repeat(20)}`],
] as const;
const ADDRESS = 'ab'.repeat(20);

describe.each(SPELLINGS)('in the dialect %s', (_name, dialect, amount, address) => {
  const cheque = `{"beneficiary":"${address}","chequebook":"${address}","payout":${amount(LARGE)}}`;
  const parsed = { beneficiary: ADDRESS, chequebook: ADDRESS, payout: LARGE };

  test('settlements are returned per peer and in total', async () => {
    const body = `{"totalReceived":${amount(LARGE)},"totalSent":${amount(1n)},"settlements":[{"peer":"${PEER}","received":${amount(LARGE)},"sent":${amount(1n)}}]}`;
    const client = await answering(dialect, { 'GET /settlements': body, 'GET /timesettlements': body });
    const expected = {
      totalReceived: LARGE,
      totalSent: 1n,
      settlements: [{ peer: PEER, received: LARGE, sent: 1n }],
    };
    expect(await client.settlements()).toEqual(expected);
    expect(await client.timeSettlements()).toEqual(expected);
  });

  test('the account of each peer is returned in full', async () => {
    const fields = [
      'balance',
      'consumedBalance',
      'thresholdReceived',
      'thresholdGiven',
      'currentThresholdReceived',
      'currentThresholdGiven',
      'surplusBalance',
      'reservedBalance',
      'shadowReservedBalance',
      'ghostBalance',
    ];
    const row = fields.map((field, i) => `"${field}":${amount(LARGE + BigInt(i))}`).join(',');
    const client = await answering(dialect, { 'GET /accounting': `{"peerData":{"${PEER}":{${row}}}}` });
    const expected = Object.fromEntries(fields.map((field, i) => [field, LARGE + BigInt(i)]));
    expect(await client.accounting()).toEqual([{ peer: PEER, ...expected }]);
  });

  test('a chequebook has an address, two balances and its last cheques', async () => {
    const client = await answering(dialect, {
      'GET /chequebook/address': `{"chequebookAddress":"${address}"}`,
      'GET /chequebook/balance': `{"totalBalance":${amount(LARGE)},"availableBalance":${amount(0n)}}`,
      'GET /chequebook/cheque': `{"lastcheques":[{"peer":"${PEER}","lastreceived":null,"lastsent":${cheque}}]}`,
      [`GET /chequebook/cheque/${OTHER}`]: `{"peer":"${OTHER}","lastreceived":${cheque},"lastsent":null}`,
      [`POST /chequebook/deposit?amount=${LARGE}`]: `{"transactionHash":"${HASH}"}`,
      'POST /chequebook/withdraw?amount=5': `{"transactionHash":"${HASH}"}`,
    });
    expect(await client.chequebook.address()).toBe(ADDRESS);
    expect(await client.chequebook.balance()).toEqual({ totalBalance: LARGE, availableBalance: 0n });
    expect(await client.chequebook.cheques()).toEqual([{ peer: PEER, received: undefined, sent: parsed }]);
    expect(await client.chequebook.cheque(OTHER)).toEqual({
      peer: OTHER,
      received: parsed,
      sent: undefined,
    });
    expect(await client.chequebook.deposit(LARGE)).toBe(HASH);
    expect(await client.chequebook.withdraw(5n)).toBe(HASH);
  });

  test('a cashout is reported before, while it is pending and when it is done', async () => {
    const status = (last: string, hash: string, result: string) =>
      `{"peer":"${PEER}","lastCashedCheque":${last},"transactionHash":${hash},"result":${result},"uncashedAmount":${amount(7n)}}`;
    const path = `/chequebook/cashout/${PEER}`;
    const done = `{"recipient":"${address}","lastPayout":${amount(LARGE)},"bounced":true}`;
    const bodies: Record<string, string> = {
      [`GET ${path}`]: status('null', 'null', 'null'),
      [`POST ${path}`]: `{"transactionHash":"${HASH}"}`,
    };
    const client = await answering(dialect, bodies);
    const nothing = { lastCashed: undefined, transactionHash: undefined, result: undefined };
    expect(await client.chequebook.cashout(PEER)).toEqual({ peer: PEER, ...nothing, uncashedAmount: 7n });
    expect(await client.chequebook.cash(PEER)).toBe(HASH);
    bodies[`GET ${path}`] = status(cheque, `"${HASH}"`, done);
    expect(await client.chequebook.cashout(PEER)).toEqual({
      peer: PEER,
      lastCashed: parsed,
      transactionHash: HASH,
      result: { recipient: ADDRESS, lastPayout: LARGE, bounced: true },
      uncashedAmount: 7n,
    });
  });

  test('the wallet holds two currencies, and sends each of them', async () => {
    const { tokenBalanceField, tokenCoin } = dialect;
    const to = `0x${'12'.repeat(20)}`;
    const client = await answering(dialect, {
      'GET /wallet': `{"${tokenBalanceField}":${amount(LARGE)},"nativeTokenBalance":${amount(3n)},"chainID":31337,"walletAddress":"${address}"}`,
      [`POST /wallet/withdraw/${tokenCoin}?amount=4&address=${to}`]: `{"transactionHash":"${HASH}"}`,
      [`POST /wallet/withdraw/nativetoken?amount=5&address=${to}`]: `{"transactionHash":"${HASH}"}`,
    });
    expect(await client.wallet.balances()).toEqual({
      tokenBalance: LARGE,
      nativeBalance: 3n,
      chainId: 31_337,
      address: ADDRESS,
    });
    expect(await client.wallet.withdraw('token', { amount: 4n, to })).toBe(HASH);
    expect(await client.wallet.withdraw('native', { amount: 5n, to: to.slice(2) })).toBe(HASH);
  });

  test('a stake is deposited, read and withdrawn', async () => {
    const client = await answering(dialect, {
      'GET /stake': `{"stakedAmount":${amount(LARGE)}}`,
      'GET /stake/withdrawable': `{"withdrawableAmount":${amount(2n)}}`,
      'POST /stake/100': `{"txHash":"${HASH}"}`,
      'DELETE /stake': `{"txHash":"${HASH}"}`,
      'DELETE /stake/withdrawable': `{"txHash":"${HASH}"}`,
    });
    expect(await client.stake.staked()).toBe(LARGE);
    expect(await client.stake.withdrawable()).toBe(2n);
    expect(await client.stake.deposit(100n)).toBe(HASH);
    expect(await client.stake.withdrawSurplus()).toBe(HASH);
    expect(await client.stake.migrate()).toBe(HASH);
  });

  test('the redistribution game reports its state and its sample', async () => {
    const client = await answering(dialect, {
      'GET /redistributionstate': `{"phase":"commit","round":7,"isFrozen":false,"reward":${amount(LARGE)},"fees":${amount(1n)},"minimumGasFunds":${amount(2n)}}`,
      'GET /rchash/0/aa/bb': `{"hash":"${PEER}","proofs":{"proof1":{}},"durationSeconds":0.5}`,
    });
    expect(await client.redistribution.state()).toMatchObject({
      phase: 'commit',
      round: 7,
      reward: LARGE,
      fees: 1n,
      minimumGasFunds: 2n,
    });
    expect(await client.redistribution.sample({ depth: 0, anchors: ['aa', 'bb'] })).toMatchObject({
      hash: PEER,
      durationSeconds: 0.5,
    });
  });

  test('transactions are listed, sent again and cancelled', async () => {
    const row = `{"transactionHash":"${HASH}","to":"${address}","nonce":4,"gasPrice":${amount(LARGE)},"gasLimit":21000,"gasTipBoost":0,"gasTipCap":${amount(1n)},"gasFeeCap":${amount(2n)},"data":"0x","created":"2026-01-01T00:00:00Z","description":"deposit","value":${amount(0n)}}`;
    const parsedRow = {
      transactionHash: HASH,
      to: ADDRESS,
      nonce: 4,
      gasPrice: LARGE,
      gasLimit: 21_000,
      gasTipBoost: 0,
      gasTipCap: 1n,
      gasFeeCap: 2n,
      data: '0x',
      created: '2026-01-01T00:00:00Z',
      description: 'deposit',
      value: 0n,
    };
    const client = await answering(dialect, {
      'GET /transactions': `{"pendingTransactions":[${row}]}`,
      [`GET /transactions/${HASH}`]: row,
      [`POST /transactions/${HASH}`]: `{"transactionHash":"${HASH}"}`,
      [`DELETE /transactions/${HASH}`]: `{"transactionHash":"0x12"}`,
    });
    expect(await client.transactions.pending()).toEqual([parsedRow]);
    expect(await client.transactions.get(HASH)).toEqual(parsedRow);
    expect(await client.transactions.resend(HASH)).toBe(HASH);
    expect(await client.transactions.cancel(HASH, { gasPrice: 5n })).toBe('0x12');
  });

  test('batches are topped up, diluted and known to the network', async () => {
    const client = await answering(dialect, {
      [`PATCH /stamps/topup/${PEER}/100`]: `{"batchID":"${PEER}","txHash":"${HASH}"}`,
      [`PATCH /stamps/dilute/${PEER}/18`]: `{"batchID":"${PEER}","txHash":"${HASH}"}`,
      'GET /batches': `{"batches":[{"batchID":"${PEER}","value":${amount(LARGE)},"start":4,"owner":"${address}","depth":17,"bucketDepth":16,"batchTTL":60}]}`,
      [`GET /stamps/${PEER}/buckets`]:
        '{"depth":17,"bucketDepth":16,"bucketUpperBound":2,"buckets":[{"bucketID":0,"collisions":1}]}',
    });
    expect(await client.stamps.topUp(PEER, 100n)).toBe(HASH);
    expect(await client.stamps.dilute(PEER, 18)).toBe(HASH);
    expect((await client.stamps.buckets(PEER)).buckets).toEqual([{ bucketID: 0, collisions: 1 }]);
    expect(await client.stamps.network()).toMatchObject([{ batchID: PEER, value: LARGE, owner: ADDRESS }]);
  });
});

test('a null in place of a list is read as an empty list', async () => {
  const client = await answering(DIALECTS.swarm, {
    'GET /chequebook/cheque': '{"lastcheques":null}',
    'GET /settlements': '{"totalReceived":"0","totalSent":"0","settlements":null}',
    'GET /accounting': '{"peerData":null}',
    'GET /transactions': '{"pendingTransactions":null}',
    'GET /batches': '{"batches":null}',
  });
  expect(await client.chequebook.cheques()).toEqual([]);
  expect((await client.settlements()).settlements).toEqual([]);
  expect(await client.accounting()).toEqual([]);
  expect(await client.transactions.pending()).toEqual([]);
  expect(await client.stamps.network()).toEqual([]);
});
