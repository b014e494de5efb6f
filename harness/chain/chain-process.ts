/** The process of a cluster's chain: its options, its start, and what it says when it is ready. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { until } from '../base/wait.ts';
import { tail } from '../logs/logs.ts';
import { type ProcessId, processOf, type Spawned, spawnProgram } from '../machine/processes.ts';
import { programPath } from '../machine/programs.ts';
import type { ChainFacts, Contracts } from './contracts.ts';

/** A chain is ready in well under a second; a loaded machine gets time. */
const START_TIMEOUT_MS = 30_000;
const LOG_LINES_SHOWN = 15;

/** Options document of `chain/main.ts`; amounts are decimal strings. How it ends with its parent is added. */
export interface ChainOptions {
  readonly port: number;
  readonly chainId: number;
  readonly networkId: number;
  readonly blockTimeMs: number;
  /** No blocks on demand. */
  readonly steady: boolean;
  /** A door in front of its endpoint that can be made to fail. */
  readonly gate: boolean;
  readonly accounts: readonly {
    readonly address: string;
    readonly native: string;
    readonly tokens: string;
  }[];
  readonly batches: readonly {
    readonly owner: string;
    readonly amount: string;
    readonly depth: number;
    readonly immutable: boolean;
    readonly nonce: string;
  }[];
  readonly chequebooks: readonly { readonly issuer: string; readonly deposit: string }[];
}

interface ReadyLine {
  readonly ready: true;
  readonly rpc: string;
  readonly control: string;
  readonly gate?: string;
  readonly chainId: number;
  readonly contracts: Contracts;
  readonly startBlock: number;
  readonly batches: readonly { readonly id: string; readonly owner: string; readonly depth: number }[];
  readonly chequebooks: readonly { readonly issuer: string; readonly address: string }[];
  readonly anvilPid: number;
}

export interface StartChain {
  readonly options: ChainOptions;
  readonly optionsFile: string;
  readonly logFile: string;
  readonly stopWithParent: boolean;
  readonly compileCache: string;
  /** Told as soon as there is a process, before it is ready: an interruption must find it. */
  readonly onSpawned: (spawned: Spawned) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface StartedChain {
  readonly record: ChainFacts;
  readonly batches: ReadyLine['batches'];
  readonly chequebooks: ReadyLine['chequebooks'];
  /** Child of the chain's process; outlives it only when that is killed from outside. */
  readonly anvil: ProcessId | undefined;
}

/** @throws HarnessError `CHAIN_FAILED` with the last lines of its log, `WAIT_TIMEOUT`, `INTERRUPTED` */
export async function startChain(start: StartChain): Promise<StartedChain> {
  mkdirSync(dirname(start.optionsFile), { recursive: true });
  const document = { ...start.options, stopOnStdinEnd: start.stopWithParent };
  writeFileSync(start.optionsFile, `${JSON.stringify(document, null, 2)}\n`);
  const spawned = await spawnProgram({
    command: { file: process.execPath, args: [programPath('chain/main'), start.optionsFile], env: {} },
    logFile: start.logFile,
    stopWithParent: start.stopWithParent,
    compileCache: start.compileCache,
  });
  start.onSpawned(spawned);
  let ended: number | NodeJS.Signals | null | undefined;
  const noteEnd = async () => {
    const { code, signal } = await spawned.exited;
    ended = signal ?? code;
  };
  void noteEnd();
  const ready = await until<ReadyLine>(
    'the chain is not ready',
    () => {
      const lines = tail(start.logFile, Number.POSITIVE_INFINITY);
      const line = lines.find((text) => text.startsWith('{"ready":true'));
      if (line !== undefined) return Promise.resolve({ done: JSON.parse(line) as ReadyLine });
      if (ended !== undefined) {
        throw new HarnessError('CHAIN_FAILED', `the chain ended at its start (${ended})`, {
          hint: lines.slice(-LOG_LINES_SHOWN).join('\n'),
        });
      }
      return Promise.resolve({ missing: lines.at(-1) ?? 'it has said nothing' });
    },
    { timeoutMs: START_TIMEOUT_MS, signal: start.signal },
  );
  const { rpc, control, gate, chainId, contracts, startBlock, batches, chequebooks } = ready;
  const { networkId, blockTimeMs, steady } = start.options;
  const record = { rpc, control, chainId, networkId, contracts, startBlock, blockTimeMs, steady };
  return {
    record: gate === undefined ? record : { ...record, gate },
    batches,
    chequebooks,
    anvil: processOf(ready.anvilPid),
  };
}
