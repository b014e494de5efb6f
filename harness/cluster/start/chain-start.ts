import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../../formats/clock.ts';
import { endHint, HarnessError } from '../../base/errors.ts';
import type { PartLog } from '../../base/logs/file-log.ts';
import { makeFolder } from '../../base/own-folder.ts';
import { until } from '../../base/wait.ts';
import type { Contracts } from '../../chain/contracts.ts';
import type { ChainOptions, ChainRecord } from '../../chain/record.ts';
import {
  type ChainPart,
  type ChainUrls,
  type Driver,
  type Exit,
  exitText,
  type Started,
} from '../../places/driver.ts';

/** A loaded machine needs more than the usual second. */
const START_TIMEOUT_MS = 30_000;
const LOG_LINES_SHOWN = 15;

interface ReadyLine extends ChainUrls {
  readonly ready: true;
  readonly chainId: number;
  readonly contracts: Contracts;
  readonly startBlock: number;
}

export interface StartChain {
  readonly clock: Clock;
  readonly driver: Driver;
  readonly options: ChainOptions;
  readonly token: string;
  readonly optionsFile: string;
  readonly log: string;
  readonly stopWithParent: boolean;
  readonly isAgain?: boolean;
  /** Called as soon as the chain runs, so that an interruption finds it. */
  readonly onStarted: (started: Started) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface StartedChain {
  readonly record: ChainRecord & { readonly contracts: Contracts };
  readonly nodesUrls: ChainUrls;
  readonly whyEnded: () => Promise<HarnessError | undefined>;
}

/** @throws HarnessError `CHAIN_FAILED` with its last log lines, `WAIT_TIMEOUT`, `INTERRUPTED` */
export async function startChain(start: StartChain): Promise<StartedChain> {
  const { driver, options, optionsFile, log, token } = start;
  const folder = dirname(optionsFile);
  makeFolder(folder, 0o700);
  const document = { ...options, token, stopOnStdinEnd: start.stopWithParent };
  writeFileSync(optionsFile, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 });
  const part: ChainPart = {
    kind: 'chain',
    name: 'chain',
    options: document,
    optionsFile,
    log,
  };
  const chainLog = driver.logs(part);
  const since = start.isAgain === true ? await chainLog.end() : undefined;
  const started = await driver.start(part);
  start.onStarted(started);
  const ready = await until<ReadyLine>(
    'the chain is not ready',
    async () => {
      // Observed first: an ended process has printed everything.
      const { state, exit } = await driver.observe(started.handle);
      const lines = await chainLog.since(since);
      const line = lines.find((text) => text.startsWith('{"ready":true'));
      if (line !== undefined) return { done: JSON.parse(line) as ReadyLine };
      if (state === 'gone') throw await endOf(chainLog, 'the chain ended at its start', exit);
      return { missing: lines.at(-1) ?? 'it has printed nothing' };
    },
    { clock: start.clock, timeoutMs: START_TIMEOUT_MS, signal: start.signal },
  );
  const { chainId, contracts, startBlock } = ready;
  const { here, nodes } = await driver.placeChain(ready);
  const { rpc, control, gate } = here;
  const { networkId, blockTimeMs, steady } = options;
  const record = { rpc, control, token, chainId, networkId, contracts, startBlock, blockTimeMs, steady };
  return {
    record: gate === undefined ? record : { ...record, gate },
    nodesUrls: nodes,
    async whyEnded() {
      const { state, exit } = await driver.observe(started.handle);
      return state === 'gone' ? endOf(chainLog, 'the chain has ended', exit) : undefined;
    },
  };
}

async function endOf(log: PartLog, what: string, exit: Exit | undefined): Promise<HarnessError> {
  const unwritten = log.failure();
  if (unwritten !== undefined) return unwritten;
  const how = exit === undefined ? '' : ` (${exitText(exit)})`;
  const lines = await log.tail(LOG_LINES_SHOWN);
  const why = endHint([how, ...lines]);
  const told = why === undefined ? lines : [...lines, why];
  return new HarnessError('CHAIN_FAILED', `${what}${how}`, {
    hint: told.length === 0 ? undefined : told.join('\n'),
  });
}
