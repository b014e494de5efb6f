import { z } from 'zod';
import { HarnessError } from '../../base/errors.ts';
import { formatMs, plural } from '../../base/format.ts';
import { type ProbeResult, until } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import type { Effect, FaultContext, FaultKind } from './fault.ts';
import { duration } from './fields.ts';
import { flag, whole } from './machines/fields.ts';

const TARGET = ['chain'] as const;
/** A second fault would end the first one's effect with its own. */
const PACE = 'the pace of the chain';
/** The chain keeps the state of no more blocks than this. */
const REORGANISED_MAX = 60;
const LOAD_WAIT_MS = 60_000;

interface Pace {
  readonly at: number;
  readonly height: number;
}

async function paceOf({ chain, clock }: FaultContext): Promise<Pace & Record<string, number>> {
  if (chain.blockTimeMs === 0) {
    throw new HarnessError('FAULT_REFUSED', 'the chain mines on demand: it has no pace that could suffer');
  }
  return { at: clock.now(), height: await chain.height() };
}

async function missing(
  { chain, clock }: FaultContext,
  { at, height }: Readonly<Record<string, string | number>>,
  what: string,
): Promise<Effect> {
  const due = Math.floor((clock.now() - Number(at)) / chain.blockTimeMs);
  const came = (await chain.height()) - Number(height);
  return { [what]: Math.max(0, due - came) };
}

const none = z.strictObject({});

export const CHAIN_STALL: FaultKind<z.infer<typeof none>> = {
  name: 'chain-stall',
  layer: 'chain',
  about: 'stop the blocks; reads still work, transactions wait',
  schema: none,
  fields: [],
  sets: () => PACE,
  text: () => 'stops the blocks of the chain',
  targets: () => TARGET,
  async begin(context, _request, { hold }) {
    hold(await paceOf(context));
    await context.chain.pause();
    return paceOf(context);
  },
  effect: (context, handle) => missing(context, handle, 'blocks withheld'),
  end: ({ chain }) => chain.resume(),
};

const slow = z.strictObject({ blockTime: duration });

export const CHAIN_SLOW: FaultKind<z.infer<typeof slow>> = {
  name: 'chain-slow',
  layer: 'chain',
  about: 'make blocks come more slowly than the cluster defines',
  schema: slow,
  fields: [{ field: 'blockTime', flag: '<block-time>', about: 'time between two blocks, such as 5s' }],
  sets: () => PACE,
  text: ({ blockTime }) => `lets blocks come every ${formatMs(blockTime)}`,
  targets: () => TARGET,
  async begin(context, { blockTime }, { hold }) {
    const { chain } = context;
    const pace = await paceOf(context);
    if (blockTime <= chain.blockTimeMs) {
      throw new HarnessError(
        'ARGUMENT_INVALID',
        `blockTime: got ${formatMs(blockTime)}, expected more than the ${formatMs(chain.blockTimeMs)} of this chain`,
      );
    }
    hold(pace);
    await chain.setBlockTime(blockTime);
    return pace;
  },
  effect: (context, handle) => missing(context, handle, 'blocks late'),
  end: ({ chain }) => chain.setBlockTime(chain.blockTimeMs),
};

const reorganisation = z.strictObject({
  blocks: whole(1, REORGANISED_MAX, 'blocks'),
  loaded: flag,
});

export const CHAIN_REORGANISATION: FaultKind<z.infer<typeof reorganisation>> = {
  name: 'chain-reorg',
  layer: 'chain',
  about:
    'replace the last blocks with empty ones: their transactions are undone and lost; with --loaded it waits until they contain some',
  schema: reorganisation,
  fields: [
    { field: 'blocks', flag: '<blocks>', about: `number of blocks, at most ${REORGANISED_MAX}` },
    { field: 'loaded', flag: '--loaded', about: 'wait until they contain transactions' },
  ],
  momentary: true,
  text: ({ blocks, loaded }) =>
    `replaces the last ${plural(blocks, 'block')} of the chain${loaded ? ', with transactions in them' : ''}`,
  targets: () => TARGET,
  async begin({ chain, clock }, { blocks, loaded }, { signal }) {
    if (loaded)
      await until<true>('the blocks to replace have no transactions', () => withTransactions(chain, blocks), {
        clock,
        timeoutMs: LOAD_WAIT_MS,
        signal,
      });
    const before = await lastBlocks(chain, blocks);
    await chain.reorganise(blocks);
    const after = await Promise.all(before.map(({ number }) => blockAt(chain, number)));
    const replaced = before.filter(({ hash }, index) => after[index]?.hash !== hash);
    const undone = replaced.reduce((sum, { transactions }) => sum + transactions.length, 0);
    return { replaced: replaced.length, undone };
  },
  effect: (_context, { replaced, undone }) =>
    Promise.resolve({ 'blocks replaced': Number(replaced), 'transactions undone': Number(undone) }),
  end: () => Promise.resolve(),
};

interface Block {
  readonly number: string;
  readonly hash: string;
  readonly transactions: readonly string[];
}

async function blockAt(chain: Chain, number: string): Promise<Block | null> {
  return chain.call<Block | null>('eth_getBlockByNumber', [number, false]);
}

async function lastBlocks(chain: Chain, count: number): Promise<Block[]> {
  const height = await chain.height();
  const numbers = Array.from({ length: Math.min(count, height) }, (_, back) => height - back);
  const blocks = await Promise.all(numbers.map((number) => blockAt(chain, `0x${number.toString(16)}`)));
  return blocks.filter((block) => block !== null);
}

async function withTransactions(chain: Chain, count: number): Promise<ProbeResult<true>> {
  const blocks = await lastBlocks(chain, count);
  return blocks.some(({ transactions }) => transactions.length > 0)
    ? { done: true }
    : { missing: `the last ${plural(count, 'block')} are empty` };
}
