/**
 * Reads the postage contract's logs page by page, from blocks that are old enough. Ends with a fatal error or when stopped.
 * `node-behaviour.md` 3.1, `contracts.md` 11.3.
 */

import type { Clock } from '../../formats/clock.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import type { Logger } from '../env/logger.ts';
import {
  decodePostageEvent,
  POSTAGE_TOPICS,
  type PostageEvent,
  postagePaused,
  postageToken,
} from '../onchain/contracts.ts';
import { FIRST_CONTACT_MS } from '../onchain/first-contact.ts';
import { isEmptyAfter } from '../onchain/head.ts';
import { type BlockHeader, type Chain } from '../onchain/ports.ts';
import type { Anchor } from './batch-store.ts';
import { PostageSyncError } from './errors.ts';
import type { Pace } from './pace.ts';

/** Public endpoints answer as many without complaint. */
export const PAGE_BLOCKS = 5000;
/** Without a new block the node must stop: it would accept stamps of expired batches. */
const STALL_MS = 10 * 60_000;
/** A lagging endpoint's head is asked again before the start fails. */
const RESET_PROBES = 3;
/** An empty contract may be a truncated answer. */
const CONTRACT_PROBES = 3;
const CONTRACT_PAUSE_MS = 250;

export interface ListenerOptions {
  /** `0x` and 40 lower-case hex, like `token`. */
  readonly contract: string;
  readonly token: string;
  readonly startBlock: number;
  /** Blocks not read yet, against reorganisations. */
  readonly tailBlocks: number;
  /** A page's end is rounded down to a multiple. */
  readonly batchFactor: number;
  readonly pollIntervalMs: number;
  /** Blocks per request for logs. Default: as many as public endpoints answer. */
  readonly logBlocks?: number | undefined;
}

export type FollowedEvent = Exclude<PostageEvent, { readonly kind: 'Paused' }>;

export interface PlacedEvent {
  readonly block: number;
  readonly event: FollowedEvent;
}

export interface ListenerDeps {
  readonly chain: Pick<Chain, 'header' | 'logs' | 'call'>;
  readonly clock: Clock;
  readonly pace: Pick<Pace, 'found' | 'nothing' | 'pause'>;
  readonly log: Logger;
  readonly lastBlock: () => number;
  /** The first of `anchors`. */
  readonly applied: () => Anchor | undefined;
  /** Newest first, of the current and restorable states; undefined before the first page. */
  readonly anchors: () => readonly (Anchor | undefined)[];
  /** Durably, the end included; `full`: more pages wait. An error is fatal. */
  readonly apply: (events: readonly PlacedEvent[], end: Anchor & { readonly full: boolean }) => Promise<void>;
  /** All when undefined: the chain has replaced their blocks. An error is fatal. */
  readonly revert: (pages: number | undefined) => Promise<void>;
  /** What is old enough is applied. */
  readonly caughtUp: () => void;
  readonly counted: (outcome: 'answered' | 'failed') => void;
}

/** @returns never: rejects with the fatal error or the signal's reason */
export async function followPostage(
  options: ListenerOptions,
  deps: ListenerDeps,
  signal: AbortSignal,
): Promise<never> {
  const { clock, pace } = deps;
  const poll = poller(options, deps, signal);
  let progressAt = clock.monotonic();
  let wentBack = false;
  for (;;) {
    const polled = await poll();
    if (polled.kind === 'page') {
      await deps.apply(polled.events, polled.end);
      progressAt = clock.monotonic();
      wentBack = false;
      if (polled.end.full) continue;
      pace.found({ empty: polled.empty });
    } else pace.nothing();
    if (polled.kind === 'reorganised') {
      await deps.revert(polled.pages);
      // At once, but not in a loop for an unsteady endpoint.
      const again = wentBack;
      wentBack = true;
      if (!again) continue;
    } else if (polled.kind !== 'wait') deps.caughtUp();
    if (clock.monotonic() - progressAt >= STALL_MS) {
      throw new PostageSyncError('SYNC_STALLED', 'postage syncing stalled');
    }
    await pace.pause(signal);
  }
}

type NextPage =
  /** `full`: more pages wait. */
  | { readonly kind: 'page'; readonly from: number; readonly to: number; readonly full: boolean }
  | { readonly kind: 'nothing-new' }
  /** Too short, or shorter than what was read. */
  | { readonly kind: 'wait' };

export function nextPage(
  {
    startBlock,
    tailBlocks,
    batchFactor,
    logBlocks = PAGE_BLOCKS,
  }: Pick<ListenerOptions, 'startBlock' | 'tailBlocks' | 'batchFactor' | 'logBlocks'>,
  lastBlock: number,
  head: number,
): NextPage {
  const from = Math.max(startBlock, lastBlock) + 1;
  const latest = head - tailBlocks;
  const to = latest - (latest % batchFactor);
  if (head < tailBlocks || to < from) {
    return { kind: lastBlock > startBlock && head >= lastBlock ? 'nothing-new' : 'wait' };
  }
  const full = to - from >= logBlocks;
  return { kind: 'page', from, to: full ? from + logBlocks - 1 : to, full };
}

type PollResult =
  | {
      readonly kind: 'page';
      readonly events: readonly PlacedEvent[];
      readonly end: Anchor & { readonly full: boolean };
      readonly empty: boolean;
    }
  /** `pages` as for `goBack`. */
  | { readonly kind: 'reorganised'; readonly pages: number | undefined }
  | { readonly kind: 'nothing-new' }
  | { readonly kind: 'wait' };

/** @returns polls once per call; a failed poll finds nothing */
function poller(
  options: ListenerOptions,
  deps: ListenerDeps,
  signal: AbortSignal,
): () => Promise<PollResult> {
  const { clock, log, counted } = deps;
  const firstContactUntil = clock.monotonic() + FIRST_CONTACT_MS;
  let checked = false;
  let away = false;
  let quietHead: string | undefined;
  return async () => {
    try {
      if (!checked) await checkStart(options, deps, signal);
      checked = true;
      const head = await latest(deps.chain, signal);
      const result: PollResult =
        head.hash === quietHead ? { kind: 'nothing-new' } : await readNext(options, deps, head, signal);
      quietHead = result.kind === 'nothing-new' ? head.hash : undefined;
      counted('answered');
      if (away) log.info('postage events can be read again');
      away = false;
      return result;
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      counted('failed');
      if (!checked && clock.monotonic() >= firstContactUntil) throw error;
      // Once per outage.
      if (!away) log.warn({ err: error }, 'postage events cannot be read, trying again');
      away = true;
      return { kind: 'wait' };
    }
  };
}

/**
 * An empty block right after the last applied one needs no logs, as most of a test chain. Logs do not name their branch, so
 * a page counts only if afterwards the chain still has its last block and the last applied one.
 */
async function readNext(
  options: ListenerOptions,
  deps: ListenerDeps,
  head: BlockHeader,
  signal: AbortSignal,
): Promise<PollResult> {
  const { chain } = deps;
  const page = nextPage(options, deps.lastBlock(), head.number);
  const applied = deps.applied();
  if (page.kind !== 'page') {
    // It is the one just seen.
    if (applied?.hash === head.hash) return page;
    const stale = await stalePages(deps, head.number, signal);
    return stale === 0 ? page : reorganised(stale, deps);
  }
  if (applied?.block === head.number - 1 && page.to === head.number && isEmptyAfter(head, applied)) {
    return { kind: 'page', events: [], end: { block: page.to, hash: head.hash, full: false }, empty: true };
  }
  const end = page.to === head.number ? head : await chain.header(page.to, signal);
  const events = await readEvents(options, deps, page, signal);
  const stale = await stalePages(deps, head.number, signal);
  if (stale !== 0) return reorganised(stale, deps);
  const still = await chain.header(page.to, signal);
  if (end === undefined || still?.hash !== end.hash) return { kind: 'wait' };
  return { kind: 'page', events, end: { block: page.to, hash: end.hash, full: page.full }, empty: false };
}

/** @returns how many pages the chain has replaced; more than there are: all states */
async function stalePages(
  { chain, anchors }: ListenerDeps,
  height: number,
  signal: AbortSignal,
): Promise<number> {
  let replaced = false;
  for (const [pages, anchor] of anchors().entries()) {
    if (anchor === undefined) return replaced ? pages : 0;
    // A shortened chain says nothing about missing blocks.
    if (anchor.block > height) continue;
    const header = await chain.header(anchor.block, signal);
    if (header === undefined)
      throw new ChainError('RPC_ERROR', `there is no block ${anchor.block} of ${height}`);
    if (header.hash === anchor.hash) return replaced ? pages : 0;
    replaced = true;
  }
  return replaced ? anchors().length : 0;
}

function reorganised(stale: number, { anchors }: ListenerDeps): PollResult {
  return { kind: 'reorganised', pages: stale < anchors().length ? stale : undefined };
}

async function latest(chain: Pick<Chain, 'header'>, signal: AbortSignal): Promise<BlockHeader> {
  const head = await chain.header('latest', signal);
  if (head === undefined) throw new ChainError('RPC_ERROR', 'the chain has no block');
  return head;
}

/** @throws PostageSyncError CONTRACT_MISSING, CONTRACT_PAUSED; CHAIN_RESET when the chain is shorter than the state */
async function checkStart(
  { contract, token, pollIntervalMs }: ListenerOptions,
  { chain, clock, lastBlock, anchors }: ListenerDeps,
  signal: AbortSignal,
): Promise<void> {
  let accepted = await postageToken(chain, contract, signal);
  for (let probe = 1; accepted !== token; probe++) {
    if (probe === CONTRACT_PROBES) throw contractMissing(contract, token, accepted);
    await clock.sleep(CONTRACT_PAUSE_MS, signal);
    accepted = await postageToken(chain, contract, signal);
  }
  if (await postagePaused(chain, contract, signal)) throw paused();
  for (let probe = 1; ; probe++) {
    const head = (await latest(chain, signal)).number;
    // A poll deals with a shorter chain if it can compare a block.
    if (head >= lastBlock() || anchors().some((anchor) => anchor !== undefined && anchor.block <= head))
      return;
    if (probe === RESET_PROBES) {
      throw new PostageSyncError(
        'CHAIN_RESET',
        `postage events are stored up to block ${lastBlock()}, but the chain ends at block ${head}: start with an empty data directory`,
      );
    }
    await clock.sleep(pollIntervalMs, signal);
  }
}

/** Events in chain order. @throws PostageSyncError CONTRACT_PAUSED */
async function readEvents(
  { contract }: ListenerOptions,
  { chain }: ListenerDeps,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<PlacedEvent[]> {
  const filter = { address: contract, topics: [POSTAGE_TOPICS], fromBlock: from, toBlock: to };
  const events: PlacedEvent[] = [];
  for (const entry of await chain.logs(filter, signal)) {
    const event = decodePostageEvent(entry);
    if (event === undefined) continue;
    if (event.kind === 'Paused') throw paused();
    events.push({ block: entry.blockNumber, event });
  }
  return events;
}

function contractMissing(contract: string, token: string, accepted: string | undefined): PostageSyncError {
  const found = accepted === undefined ? 'there is none' : `the one there takes the token ${accepted}`;
  return new PostageSyncError(
    'CONTRACT_MISSING',
    `expected a postage stamp contract for the token ${token} at ${contract}, but ${found}`,
  );
}

function paused(): PostageSyncError {
  return new PostageSyncError('CONTRACT_PAUSED', 'postage contract is paused');
}
