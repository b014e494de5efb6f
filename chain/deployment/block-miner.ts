import { decodeRevert } from '../../formats/ethereum/revert.ts';
import { GENESIS_TIMESTAMP_S } from '../engine/engine.ts';
import { LocalChainError } from '../errors.ts';
import { type RpcClient, RpcError } from '../rpc.ts';

const SETUP_BLOCKS_MAX = 1_000;

export interface Step {
  label: string;
  raw: string;
  data: string;
  to?: string;
}

export class BlockMiner {
  readonly #rpc: RpcClient;
  readonly #deployer: string;
  #timestamp = GENESIS_TIMESTAMP_S;
  #mined = 0;

  constructor(rpc: RpcClient, deployer: string) {
    this.#rpc = rpc;
    this.#deployer = deployer;
  }

  async mine(steps: readonly Step[]): Promise<void> {
    const hashes = await this.#rpc.batch(
      steps.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
    );
    this.#mined += steps.length;
    for (let blocks = 0; blocks < SETUP_BLOCKS_MAX; blocks++) {
      await this.#rpc.call('evm_setNextBlockTimestamp', ++this.#timestamp);
      await this.#rpc.call('evm_mine');
      if (Number(await this.#rpc.call('eth_getTransactionCount', this.#deployer, 'latest')) === this.#mined) {
        return await this.#verify(steps, hashes);
      }
    }
    throw new LocalChainError('DEPLOYMENT_FAILED', `${steps[0]?.label}: not mined`);
  }

  async #verify(steps: readonly Step[], hashes: readonly unknown[]): Promise<void> {
    const receipts = await this.#rpc.batch(
      hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
    );
    const failed = steps.find((_, i) => !succeeded(receipts[i]));
    if (failed === undefined) return;
    const reason = await reasonOf(this.#rpc, { from: this.#deployer, ...failed });
    throw new LocalChainError('DEPLOYMENT_FAILED', `${failed.label} failed: ${reason}`);
  }
}

export async function reasonOf(
  rpc: RpcClient,
  { from, to, data }: { from: string; to?: string; data: string },
): Promise<string> {
  try {
    await rpc.call('eth_call', { from, to, data }, 'latest');
    return 'out of gas, or a state that has passed';
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return typeof error.data === 'string' ? decodeRevert(error.data, error.message).reason : error.message;
  }
}

export function succeeded(receipt: unknown): boolean {
  return typeof receipt === 'object' && receipt !== null && 'status' in receipt && receipt.status === '0x1';
}
