/** Anvil does anything: spends any account, moves time, rewrites state, fetches URLs. */
import { BLOCK_GAS } from '../engine/engine.ts';

export interface Call {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly method: string;
  readonly params?: unknown;
}

/** Methods for everyone: reads, and signed transactions. */
const OPEN: ReadonlySet<string> = new Set([
  'eth_accounts',
  'eth_blobBaseFee',
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_coinbase',
  'eth_config',
  'eth_createAccessList',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getAccount',
  'eth_getAccountInfo',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getBlockTransactionCountByHash',
  'eth_getBlockTransactionCountByNumber',
  'eth_getCode',
  'eth_getFilterChanges',
  'eth_getFilterLogs',
  'eth_getLogs',
  'eth_getProof',
  'eth_getRawTransactionByBlockHashAndIndex',
  'eth_getRawTransactionByBlockNumberAndIndex',
  'eth_getRawTransactionByHash',
  'eth_getStorageAt',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByBlockNumberAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionBySenderAndNonce',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getUncleByBlockNumberAndIndex',
  'eth_getUncleCountByBlockHash',
  'eth_getUncleCountByBlockNumber',
  'eth_hashrate',
  'eth_maxPriorityFeePerGas',
  'eth_mining',
  'eth_networkId',
  'eth_newBlockFilter',
  'eth_newFilter',
  'eth_newPendingTransactionFilter',
  'eth_protocolVersion',
  'eth_requestAccounts',
  'eth_sendRawTransaction',
  'eth_sendRawTransactionSync',
  'eth_simulateV1',
  'eth_syncing',
  'eth_uninstallFilter',
  'net_listening',
  'net_peerCount',
  'net_version',
  'web3_clientVersion',
  'web3_sha3',
]);

const NEVER: readonly { readonly method: RegExp; readonly with?: RegExp; readonly why: string }[] = [
  { method: /_setrpcurl$/i, why: 'this chain forks no other one' },
  {
    method: /_reset$/i,
    with: /[^\s[\]{}]/,
    why: 'this chain forks no other one: call it without parameters',
  },
  { method: /^eth_(un)?subscribe$/i, why: 'there are no subscriptions over HTTP: use filters, or poll' },
];

const SIMULATE = 'eth_simulateV1';
/** Run code that is in no transaction, so no fee bounds it. */
const COMPUTING: ReadonlySet<string> = new Set([
  'eth_call',
  'eth_createAccessList',
  'eth_estimateGas',
  SIMULATE,
]);
/** As in go-ethereum; per request, simulated calls included. */
const CALLS_MAX = 1000;
/** Each may answer with all events: without a limit, a small request has an answer of gigabytes. */
const LARGE: ReadonlySet<string> = new Set([
  'eth_getBlockReceipts',
  'eth_getFilterChanges',
  'eth_getFilterLogs',
  'eth_getLogs',
  SIMULATE,
]);
/** So may each block with its transactions, not their hashes. */
const BLOCKS: ReadonlySet<string> = new Set(['eth_getBlockByHash', 'eth_getBlockByNumber']);
/** As many as ethers puts into one request. */
const LARGE_MAX = 100;

export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_AVAILABLE = -32_601;

export function whyNot({ method, params }: Call, withToken: boolean): string | undefined {
  if (OPEN.has(method)) return undefined;
  const given = JSON.stringify(params ?? []).replaceAll('null', '');
  const never = NEVER.find((row) => row.method.test(method) && (row.with?.test(given) ?? true));
  if (never !== undefined) return `${method} is not available: ${never.why}`;
  if (withToken) return undefined;
  return `${method} is not available without the chain's token: sign transactions with a key of your own, or send Authorization: Bearer TOKEN (svcnet keys shows it)`;
}

/**
 * At most a block's gas, wherever its parameters name some: more would stop the chain, whose engine does one thing at a
 * time. Simulated calls share it, as in go-ethereum: what they return is in one answer. Holders of the token may use more.
 */
export function withBoundedGas(call: Call): Call {
  if (!COMPUTING.has(call.method)) return call;
  const params = bounded(call.params);
  return { ...call, params: call.method === SIMULATE ? sharingGas(params) : params };
}

function bounded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bounded);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      (key === 'gas' || key === 'gasLimit') && isAbove(part, BLOCK_GAS) ? hex(BLOCK_GAS) : bounded(part),
    ]),
  );
}

function sharingGas(params: unknown): unknown {
  const blocks = simulatedBlocks(params);
  if (blocks.length === 0) return params;
  const share = BLOCK_GAS / BigInt(simulated(params));
  const sharing = (call: unknown) => {
    if (!isObject(call)) return call;
    const isWithin = call['gas'] !== undefined && !isAbove(call['gas'], share);
    return isWithin ? call : { ...call, gas: hex(share) };
  };
  const blockStateCalls = blocks.map((block) =>
    isObject(block) && Array.isArray(block['calls'])
      ? { ...block, calls: block['calls'].map(sharing) }
      : block,
  );
  const [options, ...others] = params as [object, ...unknown[]];
  return [{ ...options, blockStateCalls }, ...others];
}

function hex(amount: bigint): string {
  return `0x${amount.toString(16)}`;
}

function isAbove(value: unknown, max: bigint): boolean {
  if (typeof value === 'number') return value > max;
  return typeof value === 'string' && /^(0x[\da-f]+|\d+)$/i.test(value) && BigInt(value) > max;
}

export function whyTooMany(calls: readonly Call[]): string | undefined {
  const count = calls.reduce((sum, call) => sum + Math.max(1, simulatedBy(call)), 0);
  if (count > CALLS_MAX) return `a request of ${count} calls, expected at most ${CALLS_MAX}`;
  const large = calls.filter(isLarge);
  const largeCount = large.reduce((sum, call) => sum + Math.max(1, simulatedBy(call)), 0);
  return largeCount > LARGE_MAX
    ? `a request of ${largeCount} calls of ${[...new Set(large.map(({ method }) => method))].join(', ')}, expected at most ${LARGE_MAX}`
    : undefined;
}

function isLarge({ method, params }: Call): boolean {
  return LARGE.has(method) || (BLOCKS.has(method) && Array.isArray(params) && Boolean(params[1]));
}

function simulatedBy({ method, params }: Call): number {
  return method === SIMULATE ? simulated(params) : 0;
}

/** A block without calls counts, too. */
function simulated(params: unknown): number {
  const counts = simulatedBlocks(params).map((block) =>
    isObject(block) && Array.isArray(block['calls']) ? block['calls'].length : 1,
  );
  return counts.reduce((sum, count) => sum + Math.max(1, count), 0);
}

function simulatedBlocks(params: unknown): readonly unknown[] {
  const options: unknown = Array.isArray(params) ? params[0] : undefined;
  const blocks = isObject(options) ? options['blockStateCalls'] : undefined;
  return Array.isArray(blocks) ? blocks : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What Anvil's own methods set is in no block. */
export function mayRewrite({ method }: Call): boolean {
  return !OPEN.has(method);
}

export function callsOf(asked: unknown): readonly Call[] | undefined {
  const calls: readonly unknown[] = Array.isArray(asked) ? asked : [asked];
  return calls.length > 0 && calls.every(isCall) ? calls : undefined;
}

/** A call without an id asks for no answer, so nobody could wait for it; a number that is infinite cannot be answered. */
function isCall(value: unknown): value is Call {
  if (typeof value !== 'object' || value === null) return false;
  const { jsonrpc, id, method } = value as Record<string, unknown>;
  const hasId = typeof id === 'string' || Number.isFinite(id) || id === null;
  return jsonrpc === '2.0' && hasId && typeof method === 'string';
}
