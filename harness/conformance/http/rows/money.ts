import { must, NotApplicable, type Row } from '../../row.ts';
import type { Names } from '../names.ts';
import { table } from '../question.ts';
import { ROUTES } from '../routes.ts';
import type { HttpSubject, RowSession } from '../subject.ts';

/** A usable batch takes two transactions and ten blocks. */
const CHAIN_LIMIT_MS = 120_000;
const DEPTH = 17;
const BATCH = '{batchID:hex32,txHash:txhash}';
const SENT = '{transactionHash:txhash}';

export function moneyRows(names: Names): Row<HttpSubject>[] {
  const paid = names.either(201, 200);
  return table('spending', { level: 'money', limitMs: CHAIN_LIMIT_MS }, [
    {
      id: 'POST /stamps',
      about: 'a batch is bought, mined, and listed with its label',
      steps: async (session) => {
        const amount = await affordable(session);
        const bought = await session.ask(
          {
            method: 'POST',
            path: `/stamps/${amount}/${DEPTH}?label=conformance`,
            headers: { immutable: 'false' },
          },
          { status: 201, json: BATCH },
        );
        batchStays(session, bought.text('batchID'));
        await session.until(
          { path: `/stamps/${bought.text('batchID')}` },
          {
            status: 200,
            values: { depth: DEPTH, label: 'conformance', immutableFlag: false, amount: String(amount) },
          },
        );
      },
    },
    {
      id: 'PATCH /stamps/topup',
      about: 'a batch is given more',
      steps: async (session) => {
        const id = await ownBatch(session);
        const { text } = await session.ask(
          { path: `/stamps/${id}` },
          { status: 200, json: '{amount:amount}' },
        );
        await session.ask(
          { method: 'PATCH', path: `/stamps/topup/${id}/1000` },
          { status: 202, json: BATCH, values: { batchID: id } },
        );
        await session.until(
          { path: `/stamps/${id}` },
          { status: 200, values: { amount: String(BigInt(text('amount')) + 1000n) } },
        );
      },
    },
    {
      id: 'PATCH /stamps/dilute',
      about: 'a batch is diluted, and not to less',
      steps: async (session) => {
        const id = await ownBatch(session);
        await session.ask(
          { method: 'PATCH', path: `/stamps/dilute/${id}/${DEPTH + 1}` },
          { status: 202, json: BATCH, values: { batchID: id } },
        );
        await session.until({ path: `/stamps/${id}` }, { status: 200, values: { depth: DEPTH + 1 } });
        await session.ask(
          { method: 'PATCH', path: `/stamps/dilute/${id}/${DEPTH}` },
          { status: 400, message: 'invalid depth' },
        );
      },
    },
    {
      id: 'PATCH /stamps/dilute same',
      about: 'a batch is not diluted to the depth that it has',
      steps: async (session) => {
        const id = await ownBatch(session);
        const { text } = await session.ask({ path: `/stamps/${id}` }, { status: 200, json: '{depth:int}' });
        await session.ask(
          { method: 'PATCH', path: `/stamps/dilute/${id}/${text('depth')}` },
          { status: 400, message: 'invalid depth' },
        );
      },
    },
    {
      id: 'POST /chequebook/deposit one',
      about: `one unit is deposited, which is answered ${paid}`,
      ask: { method: 'POST', path: '/chequebook/deposit?amount=1' },
      expect: { status: paid, json: SENT },
    },
    {
      id: 'POST /chequebook/withdraw one',
      about: `one unit is withdrawn, which is answered ${paid}, and its transaction is told`,
      steps: async (session) => {
        const { text } = await session.ask(
          { method: 'POST', path: '/chequebook/withdraw?amount=1' },
          { status: paid, json: SENT },
        );
        const hash = text('transactionHash');
        // At once: the chain reports a pending transaction, but it may be mined in between. Then our node answers 200, and a
        // Bee 500.
        const again = await session.ask(
          { method: 'POST', path: `/transactions/${hash}` },
          { status: [400, 200, 500] },
        );
        const told = again.member(again.status === 200 ? 'transactionHash' : 'message');
        const wanted = { 200: hash, 400: 'already imported' }[again.status] ?? "can't resend transaction";
        must(told === wanted, `sent again, ${again.status}: ${String(told)}, expected ${wanted}`);
        const known =
          ROUTES.find(({ method, path }) => method === 'GET' && path === '/transactions/{txHash}')
            ?.response ?? 'any';
        const shape = names.either(known, known.replace('to:address', 'to:0xaddress'));
        await session.ask(
          { path: `/transactions/${hash}` },
          { status: 200, json: shape, values: { transactionHash: hash } },
        );
      },
    },
    {
      id: 'POST /stake small',
      about: 'the first stake has at least 10^17 units',
      steps: async (session) => {
        const { text } = await session.ask(
          { path: '/stake' },
          { status: 200, json: '{stakedAmount:amount}' },
        );
        if (text('stakedAmount') !== '0') throw new NotApplicable('the node has a stake already');
        await session.ask(
          { method: 'POST', path: '/stake/1' },
          { status: 400, message: 'insufficient stake amount' },
        );
      },
    },
    {
      id: 'DELETE /stake',
      about: 'a stake is moved only while its contract is paused',
      ask: { method: 'DELETE', path: '/stake' },
      expect: { status: 400, message: 'contract is not paused' },
    },
    {
      id: 'DELETE /stake/withdrawable',
      about: 'only what is above the stake can be withdrawn',
      steps: async (session) => {
        const { text } = await session.ask(
          { path: '/stake/withdrawable' },
          { status: 200, json: '{withdrawableAmount:amount}' },
        );
        if (text('withdrawableAmount') !== '0') throw new NotApplicable('the node could withdraw stake');
        await session.ask(
          { method: 'DELETE', path: '/stake/withdrawable' },
          { status: 400, message: 'insufficient stake to withdraw' },
        );
      },
    },
  ]);
}

/** Two days on the public network; enough on a faster chain. */
const BLOCKS = 34_560n;

async function affordable(session: RowSession): Promise<bigint> {
  const { text } = await session.ask({ path: '/chainstate' }, { status: 200, json: '{currentPrice:amount}' });
  return BigInt(text('currentPrice')) * BLOCKS + 1n;
}

function batchStays(session: RowSession, id: string): void {
  session.stays(`batch ${id}`, 'bought, and there until its time is over');
}

function ownBatch(session: RowSession): Promise<string> {
  return session.once('bought', async (setup) => {
    const path = `/stamps/${await affordable(setup)}/${DEPTH}?label=conformance`;
    const { text } = await setup.ask({ method: 'POST', path }, { status: 201 });
    batchStays(setup, text('batchID'));
    await setup.until({ path: `/stamps/${text('batchID')}` }, { status: 200, values: { usable: true } });
    return text('batchID');
  });
}
