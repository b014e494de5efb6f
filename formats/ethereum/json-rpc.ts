/** Requests out, answers checked. Any answer, however broken, ends as a value or a ChainError. */

import { SharedResults } from '../shared-results.ts';
import { ChainError } from './chain-error.ts';
import { malformed } from './hex.ts';
import { decodeRevert } from './revert.ts';

const REVERT_CODE = 3;
/** Rate limits: -32005 (EIP-1474), -32016 (clients of the Parity family), the HTTP status. */
const BUSY_CODES: readonly unknown[] = [-32_005, -32_016, 429];
const HEX_DATA = /^0x(?:[0-9a-fA-F]{2})*$/;
/** Characters from which on it pays to look whether another node has read the answer. */
const LONG = 500;
const MESSAGE_LIMIT = 300;

export type JsonObject = Readonly<Record<string, unknown>>;

export type Send = (method: string, params: readonly unknown[], signal?: AbortSignal) => Promise<unknown>;

export function encodeRequest(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/**
 * @param text body of the HTTP answer @param request its id, and its method for the error texts
 * @returns the `result`; null is a result
 * @throws ChainError `REVERTED` with the contract's reason, else `RPC_ERROR`
 */
export function decodeAnswer(
  text: string,
  { id, method }: { readonly id: number; readonly method: string },
): unknown {
  const answer = parsed(text, { id, method });
  const { id: of = null, error = null } = answer;
  // Results of all calls look alike: nothing else tells whose one is. An error has no id if it is about no request.
  if (of !== id && (of !== null || error === null)) throw malformed(`${method}: answer to another request`);
  if (error !== null) throw errorOf(error, method);
  if (!Object.hasOwn(answer, 'result')) throw malformed(`${method}: neither result nor error`);
  return answer['result'];
}

/** The nodes of one process read the same heads, so a long answer is parsed once, apart from the id of each request. */
function parsed(text: string, { id, method }: { readonly id: number; readonly method: string }): JsonObject {
  const shared = text.length < LONG ? undefined : SharedResults.current();
  const ownPart = `{"jsonrpc":"2.0","id":${id},`;
  if (shared === undefined || !text.startsWith(ownPart)) return parseObject(text, method);
  const read = (rest: string) => parseObject(`{${rest}`, method);
  return { id, ...shared.meaningOf(`answer to ${method}`, text.slice(ownPart.length), read) };
}

function parseObject(text: string, method: string): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw new ChainError('RPC_ERROR', `malformed answer: ${method}: not JSON`, { cause });
  }
  if (!isObject(answer)) throw malformed(`${method}: not an object`);
  return answer;
}

function errorOf(error: unknown, method: string): ChainError {
  if (!isObject(error)) return malformed(`${method}: error is not an object`);
  const text = typeof error['message'] === 'string' ? error['message'].slice(0, MESSAGE_LIMIT) : 'no message';
  const data = revertData(error['data']);
  if (error['code'] === REVERT_CODE || /^(?:vm exception|execution reverted)/i.test(text)) {
    const revert = decodeRevert(data ?? '0x', text);
    return new ChainError('REVERTED', `execution reverted: ${revert.reason}`, { revert });
  }
  const busy = BUSY_CODES.includes(error['code']) || /too many requests|rate limit/i.test(text);
  return new ChainError('RPC_ERROR', `${method}: ${text}`, { busy });
}

/** Some endpoints wrap the bytes once more: `{ data: { data: '0x…' } }`. */
function revertData(data: unknown): string | undefined {
  const bytes = isObject(data) ? data['data'] : data;
  return typeof bytes === 'string' && HEX_DATA.test(bytes) ? bytes : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
