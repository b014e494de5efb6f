/** After the death of a process, what was paid for must be there, once. */
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { QUIET_PAGES } from '../../../node/postage/ledger.ts';
import { CrashError } from '../onchain/memory-state.ts';
import { id32, OTHER } from './fake-chain.ts';
import { chunk, forever, type Node, node, pricedChain, request, running, signer, upToDate } from './kit.ts';

const TERMS = { amount: 10_000_000n, depth: 17, immutable: true };
const TOTAL = request.amount << 17n;

/** The other batch is used up and has to be expired first. */
function chainWithHistory() {
  const chain = pricedChain();
  const id = chain.createBatch(signer.address, id32(1), TERMS);
  chain.createBatch(OTHER, id32(2), { ...TERMS, amount: 60_000n });
  chain.mine(5);
  return { chain, id };
}

interface Operation {
  readonly run: (own: Node, id: Uint8Array) => Promise<unknown>;
  /** Transactions of a run that nothing disturbs. */
  readonly transactions: readonly string[];
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  purchase: {
    run: ({ postage }) => postage.buy(request, forever),
    transactions: [
      'expire limited batches',
      'Approve tokens for postage operations',
      'Postage batch creation',
    ],
  },
  'top-up': {
    run: ({ postage }, batchId) => postage.topUp({ batchId, amount: 5_000_000n }, forever),
    transactions: ['Approve tokens for postage operations', 'Postage batch top up'],
  },
  dilution: {
    run: ({ postage }, batchId) => postage.dilute({ batchId, depth: 18 }, forever),
    transactions: ['expire limited batches', 'Postage batch dilution'],
  },
};

type Moment = { readonly stage: string; readonly index: number } | { readonly write: number };

/** Nothing that it does after the moment reaches disk or chain. */
async function dieAt(moment: Moment, operation: Operation) {
  const { chain, id } = chainWithHistory();
  const own = node({ usableBlocks: 3 }, chain);
  await running(own, () => upToDate(own));
  if ('write' in moment) own.state.writesLeft = moment.write;
  else {
    chain.onStage = (stage, index) => {
      if (stage !== moment.stage || index !== moment.index) return;
      own.state.writesLeft = 0;
      throw new CrashError('the process is dead');
    };
  }
  const outcome = await operation.run(own, id).then(
    () => 'answered',
    (error: unknown) => (error instanceof CrashError ? 'died' : error),
  );
  chain.onStage = () => undefined;
  const executed = chain.executed.splice(0);
  return { chain, id, outcome, executed, disk: own.state.disk };
}

async function settleAll(chain: Node['chain']): Promise<void> {
  for (const { hash } of chain.pending()) await chain.wait(hash, forever);
}

function moments({ transactions }: Operation): Moment[] {
  return [
    ...transactions.flatMap((_, index) => ['noted', 'stored', 'mined'].map((stage) => ({ stage, index }))),
    { write: 0 },
    { write: 1 },
  ];
}

describe.each(Object.entries(OPERATIONS))('a crash in the middle of a %s', (name, operation) => {
  test('runs through the expected steps', async () => {
    const { chain, id } = chainWithHistory();
    await operation.run(node({}, chain), id);
    expect(chain.executed.map(({ description }) => description)).toEqual(operation.transactions);
  });

  test.each(moments(operation).map((moment) => [JSON.stringify(moment), moment] as const))(
    'at %s loses nothing, and nothing is done twice',
    async (_, moment) => {
      const { chain, id, outcome, disk } = await dieAt(moment, operation);
      if (!('write' in moment)) expect(outcome).toBe('died');
      const dead = { tokens: chain.tokens, allowance: chain.allowance };
      const restarted = node({ usableBlocks: 3 }, chain, disk);
      await running(restarted, async () => {
        await settleAll(chain);
        chain.mine(3);
        await upToDate(restarted);
        // Only what was written down before is mined.
        expect(chain.executed).toEqual([]);
        const { postage } = restarted;
        const batches = [...chain.batches.values()].filter(({ owner }) => owner !== OTHER);
        expect(postage.issuers().map(({ batchId }) => toHex(batchId))).toEqual(
          batches.map((batch) => toHex(batch.id)),
        );
        for (const issuer of postage.issuers()) {
          expect(postage.usable(issuer)).toBe(true);
          expect(issuer.label).toBe(toHex(issuer.batchId) === toHex(id) ? 'recovered' : 'mine');
          postage.validate(chunk(1), postage.stamper(issuer.batchId).stamp(chunk(1)));
        }
        const spent = dead.tokens - chain.tokens;
        expect([0n, TOTAL, 5_000_000n << 17n]).toContain(spent);
        expect(intents(disk)).toEqual([]);
      });
    },
  );

  test.each(moments(operation).map((moment) => [JSON.stringify(moment), moment] as const))(
    'at %s does not prevent a repeated request, which approves for itself',
    async (_, moment) => {
      const { chain, id, disk, executed } = await dieAt(moment, operation);
      const restarted = node({ usableBlocks: 3 }, chain, disk);
      await running(restarted, async () => {
        // What was written down is still on its way.
        const again = await operation.run(restarted, id).then(
          () => 'done',
          (error: { code?: string }) => error.code,
        );
        expect(chain.pending()).toEqual([]);
        const sent = [...executed, ...chain.executed].map(({ description }) => description);
        const count = (what: string) => sent.filter((description) => description === what).length;
        if (name === 'dilution') {
          expect(chain.batches.get(toHex(id))?.depth).toBe(18);
          expect(again).toBe(executed.length === 2 ? 'DEPTH_INVALID' : 'done');
          expect(count('Postage batch dilution')).toBe(1);
          return;
        }
        expect(again).toBe('done');
        const used = count('Postage batch creation') + count('Postage batch top up');
        const approvals = count('Approve tokens for postage operations');
        const unused = executed.at(-1)?.description === 'Approve tokens for postage operations' ? 1 : 0;
        expect(approvals).toBe(used + unused);
        expect(chain.allowance).toBe(0n);
        if (name === 'purchase') expect(chain.batches.size).toBe(1 + used);
      });
    },
  );
});

function intents(disk: ReadonlyMap<string, Uint8Array>): string[] {
  return [...disk.keys()].filter((key) => key.startsWith('intent/'));
}

describe('a purchase', () => {
  test('whose client leaves before the receipt keeps its label', async () => {
    const own = node({ usableBlocks: 3 });
    const leaving = new AbortController();
    own.chain.onStage = (stage, index) => {
      if (stage !== 'stored' || index !== 1) return;
      leaving.abort(new Error('client left'));
      throw leaving.signal.reason;
    };
    await running(own, async () => {
      await expect(own.postage.buy(request, leaving.signal)).rejects.toThrow('client left');
      await settleAll(own.chain);
      own.chain.mine(3);
      await upToDate(own);
      expect(own.postage.issuers()).toMatchObject([{ label: 'mine' }]);
      expect(intents(own.state.disk)).toEqual([]);
    });
  });

  test('that the contract refuses leaves nothing behind', async () => {
    const own = node();
    own.chain.onStage = (stage, index) => {
      if (stage === 'noted' && index === 1) own.chain.tokens = 0n;
    };
    await expect(own.postage.buy(request, forever)).rejects.toMatchObject({ code: 'REVERTED' });
    expect(intents(own.state.disk)).toEqual([]);
    expect(own.postage.issuers({ all: true })).toEqual([]);
  });

  test('that cannot keep its record is not sent', async () => {
    const own = node();
    own.state.writesLeft = 0;
    await expect(own.postage.buy(request, forever)).rejects.toThrow(CrashError);
    expect(own.chain.batches.size).toBe(0);
  });
});

test('blocks without events are written together; a crash between forgets some, which are read again', async () => {
  const { chain } = chainWithHistory();
  const own = node({ usableBlocks: 3 }, chain);
  await running(own, async () => {
    await upToDate(own);
    const before = own.state.writes;
    for (let block = 0; block < 5 * QUIET_PAGES + 3; block++) {
      chain.mine(1);
      await upToDate(own);
    }
    expect(own.state.writes - before).toBe(5);
    const died = new Map(own.state.disk);
    const height = own.postage.batches.chainState().block;
    const restarted = node({ usableBlocks: 3 }, chain, died);
    expect(height - restarted.postage.batches.chainState().block).toBeGreaterThan(0);
    await running(restarted, () => upToDate(restarted));
    expect(restarted.postage.batches.chainState()).toEqual(own.postage.batches.chainState());
  });
  const stopped = node({ usableBlocks: 3 }, chain, new Map(own.state.disk));
  expect(stopped.postage.batches.chainState()).toEqual(own.postage.batches.chainState());
});
