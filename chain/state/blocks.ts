import { quantity } from '../../formats/ethereum/hex.ts';
import { LocalChainError } from '../errors.ts';
import type { RpcClient } from '../rpc.ts';
import type { BlockLine } from './state-folder.ts';

/** A dump is repeated when a block was mined during it: other clients may mine too. */
const TRIES = 5;

export interface Block {
  readonly number: number;
  /** Unix seconds. */
  readonly time: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly transactions: readonly string[];
}

interface Answer extends Omit<Block, 'number' | 'time'> {
  readonly number: string;
  readonly timestamp: string;
}

export async function headOf(rpc: RpcClient): Promise<Block> {
  return blockOf((await rpc.call('eth_getBlockByNumber', 'latest', false)) as Answer);
}

export async function blocksBetween(rpc: RpcClient, first: number, last: number): Promise<Block[]> {
  const calls = Array.from({ length: last - first + 1 }, (_, index) => ({
    method: 'eth_getBlockByNumber',
    params: [quantity(first + index), false],
  }));
  return ((await rpc.batch(calls)) as Answer[]).map(blockOf);
}

export async function linesOf(rpc: RpcClient, blocks: readonly Block[]): Promise<BlockLine[]> {
  const hashes = blocks.flatMap(({ transactions }) => transactions);
  const calls = hashes.map((hash) => ({ method: 'eth_getRawTransactionByHash', params: [hash] }));
  const raws = (await rpc.batch(calls)).map(String);
  return blocks.map(({ number, time, hash, transactions }) => ({
    number,
    time,
    hash,
    transactions: raws.splice(0, transactions.length),
  }));
}

/**
 * Equal transactions, times and parent give equal blocks, which nodes know.
 * @param log a line per block that differs, because of a change in no block
 */
export async function replay(
  rpc: RpcClient,
  blocks: readonly BlockLine[],
  log: (line: string) => void,
): Promise<void> {
  for (const { number, time, hash, transactions } of blocks) {
    // An account's transactions have to arrive in order.
    for (const raw of transactions) await rpc.call('eth_sendRawTransaction', raw);
    await rpc.call('evm_setNextBlockTimestamp', time);
    await rpc.call('evm_mine');
    const made = await headOf(rpc);
    if (made.hash !== hash) log(`block ${number} has another hash than before: ${made.hash}, not ${hash}`);
  }
}

/** Compressed. @throws LocalChainError `STATE_BUSY` */
export async function dumpOf(rpc: RpcClient): Promise<{ head: Block; dump: Uint8Array }> {
  let head = await headOf(rpc);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const dump = Buffer.from(String(await rpc.call('anvil_dumpState')).slice('0x'.length), 'hex');
    const after = await headOf(rpc);
    if (after.hash === head.hash) return { head, dump };
    head = after;
  }
  throw new LocalChainError('STATE_BUSY', 'blocks come faster than the state can be dumped');
}

function blockOf({ number, timestamp, hash, parentHash, transactions }: Answer): Block {
  return { number: Number(number), time: Number(timestamp), hash, parentHash, transactions };
}
