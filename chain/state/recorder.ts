/**
 * Keeps a running chain on disk. Blocks are recorded when mined; a dump (20 ms at 400 blocks, 80 ms at 5,000) follows many
 * blocks, or changes in no block. A transaction is on disk 1 to 2 ms after its block shows.
 */
import { statSync } from 'node:fs';
import { makeFolder } from '../../node/env/folder.ts';
import type { Deployment } from '../deployment/deploy.ts';
import type { RpcClient } from '../rpc.ts';
import { type Block, blocksBetween, dumpOf, headOf, linesOf } from './blocks.ts';
import type { ChainIdentity } from './identity.ts';
import { type BlockFile, writeState } from './state-folder.ts';

/** Since a dump: rebuilding takes about a millisecond each. */
const BLOCKS_MAX = 250;
/** Characters since the dump: about the size of a dump. */
const TRANSACTIONS_MAX = 500_000;

interface RecorderDeps {
  readonly rpc: RpcClient;
  readonly folder: string;
  readonly identity: ChainIdentity;
  readonly deployment: Deployment;
}

interface Recorded {
  readonly file: BlockFile;
  readonly head: Block;
  readonly blocks: number;
  readonly transactionSize: number;
}

/** Methods must not overlap each other or our mining. */
export class StateRecorder {
  readonly #deps: RecorderDeps;
  #recorded: Recorded | undefined;

  /** A change in no block is coming: only a dump can follow. */
  #isRewritten = false;

  /** Of the folder. */
  readonly #place: string | undefined;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    makeFolder(deps.folder);
    this.#place = placeOf(deps.folder);
  }

  /** Call it before the chain does more than mine. */
  expectRewrite(): void {
    this.#isRewritten = true;
  }

  async record(): Promise<void> {
    const { rpc } = this.#deps;
    const head = await headOf(rpc);
    const before = this.#recorded;
    const count = before === undefined ? 0 : head.number - before.head.number;
    if (this.#isRewritten || before === undefined || count < 1 || before.blocks + count > BLOCKS_MAX) {
      await this.dump();
      return;
    }
    const blocks = count === 1 ? [head] : await blocksBetween(rpc, before.head.number + 1, head.number);
    if (blocks[0]?.parentHash !== before.head.hash) {
      await this.dump();
      return;
    }
    const lines = await linesOf(rpc, blocks);
    // After a failure all is written anew: half a line corrupts later ones.
    this.#recorded = undefined;
    try {
      before.file.append(lines);
    } catch (error) {
      before.file.close();
      throw error;
    }
    const size = lines.reduce((sum, { transactions }) => sum + transactions.join('').length, 0);
    const transactionSize = before.transactionSize + size;
    this.#recorded = { file: before.file, head, blocks: before.blocks + count, transactionSize };
    if (transactionSize > TRANSACTIONS_MAX) await this.dump();
  }

  async dump(): Promise<void> {
    const { rpc, folder, identity, deployment } = this.#deps;
    if (placeOf(folder) !== this.#place) {
      throw new Error(`the state cannot be saved: its folder was moved or removed, ${folder}`);
    }
    this.#isRewritten = false;
    const { head, dump } = await dumpOf(rpc);
    this.close();
    const file = writeState(folder, { identity, deployment, dump });
    this.#recorded = { file, head, blocks: 0, transactionSize: 0 };
  }

  close(): void {
    this.#recorded?.file.close();
    this.#recorded = undefined;
  }
}

function placeOf(folder: string): string | undefined {
  const info = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return info && `${info.dev} ${info.ino} ${info.birthtimeNs}`;
}
