/** Starting a cluster's chain: its options, its place, and what it says when it is ready. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { HarnessError, logFailure } from '../base/errors.ts';
import { until } from '../base/wait.ts';
import type { Contracts } from '../chain/contracts.ts';
import type { ChainOptions, ChainRecord } from '../chain/record.ts';
import { programPath } from '../machine/programs.ts';
import type { ChainPart, Driver, Exit, Started } from '../places/driver.ts';

/** A chain is ready in well under a second; a loaded machine gets time. */
const START_TIMEOUT_MS = 30_000;
const LOG_LINES_SHOWN = 15;

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
}

export interface StartChain {
  readonly driver: Driver;
  readonly options: ChainOptions;
  readonly optionsFile: string;
  readonly log: string;
  readonly stopWithParent: boolean;
  /** Told as soon as it runs, before it is ready: an interruption must find it. */
  readonly onStarted: (started: Started) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface StartedChain {
  readonly record: ChainRecord & { readonly contracts: Contracts };
  readonly batches: ReadyLine['batches'];
  readonly chequebooks: ReadyLine['chequebooks'];
}

/** @throws HarnessError `CHAIN_FAILED` with the last lines of its log, `WAIT_TIMEOUT`, `INTERRUPTED` */
export async function startChain(start: StartChain): Promise<StartedChain> {
  const { driver, options, optionsFile, log } = start;
  const folder = dirname(optionsFile);
  mkdirSync(folder, { recursive: true });
  const document = { ...options, stopOnStdinEnd: start.stopWithParent };
  writeFileSync(optionsFile, `${JSON.stringify(document, null, 2)}\n`);
  const part: ChainPart = {
    kind: 'chain',
    name: 'chain',
    // What Anvil writes aside goes with the cluster's folder.
    command: {
      file: process.execPath,
      args: [programPath('chain/main'), optionsFile],
      env: { TMPDIR: folder },
    },
    log,
  };
  const started = await driver.start(part);
  start.onStarted(started);
  let exit: Exit | undefined;
  const noteExit = async () => {
    exit = await started.exited;
  };
  void noteExit();
  const ready = await until<ReadyLine>(
    'the chain is not ready',
    () => {
      const lines = driver.logs(part).tail(Number.POSITIVE_INFINITY);
      const line = lines.find((text) => text.startsWith('{"ready":true'));
      if (line !== undefined) return Promise.resolve({ done: JSON.parse(line) as ReadyLine });
      if (exit !== undefined) {
        const unwritten = logFailure(log);
        if (unwritten !== undefined) throw unwritten;
        throw new HarnessError('CHAIN_FAILED', `the chain ended at its start (${exit.signal ?? exit.code})`, {
          hint: lines.slice(-LOG_LINES_SHOWN).join('\n'),
        });
      }
      return Promise.resolve({ missing: lines.at(-1) ?? 'it has said nothing' });
    },
    { timeoutMs: START_TIMEOUT_MS, signal: start.signal },
  );
  const { rpc, control, gate, chainId, contracts, startBlock, batches, chequebooks } = ready;
  const { networkId, blockTimeMs, steady } = options;
  const record = { rpc, control, chainId, networkId, contracts, startBlock, blockTimeMs, steady };
  return { record: gate === undefined ? record : { ...record, gate }, batches, chequebooks };
}
