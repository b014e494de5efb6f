/** In each node's dialect, with failures. */
import http from 'k6/http';
import { authorization, config } from './config.js';
import { OperationError } from './operations.js';

/** @import { TargetNode } from '../../../harness/run/load/k6/config.ts' */
/** @import { RefinedResponse, RequestBody, ResponseType } from 'k6/http' */

const TIMEOUT = '60s';
const MESSAGE_MAX = 300;

/**
 * @typedef {object} Request
 * @property {'GET' | 'POST'} method
 * @property {string} path
 * @property {RequestBody | null} [body]
 * @property {Record<string, string>} [headers]
 */

/**
 * @template {ResponseType} T
 * @param {TargetNode} node
 * @param {Request} request
 * @param {T} responseType
 * @returns {{ response: RefinedResponse<T>, ms: number }}
 * @throws {OperationError} for every answer of 400 and above, and when there is none
 */
export function ask(node, { method, path, body = null, headers = {} }, responseType) {
  // k6 keeps a series for each name: not for each reference.
  const tags = { name: `${method} ${path.split('?')[0]?.replace(/[0-9a-f]{40,}/g, 'HEX') ?? ''}` };
  const response = http.request(method, `${node.api}${path}`, body, {
    headers: { ...authorization(node), ...headers },
    responseType,
    tags,
    timeout: TIMEOUT,
    redirects: 0,
  });
  const { status, error, error_code: code, timings } = response;
  if (status === 0)
    throw new OperationError({ status, code, message: `${node.name}: ${method} ${path}: ${error}` });
  if (status >= 400) throw new OperationError({ status, message: messageOf(response.body) });
  return { response, ms: timings.blocked + timings.connecting + timings.tls_handshaking + timings.duration };
}

/** @param {unknown} body of an error @returns {string} */
function messageOf(body) {
  let text = '';
  if (typeof body === 'string') text = body;
  else if (body instanceof ArrayBuffer) {
    for (const byte of new Uint8Array(body).subarray(0, MESSAGE_MAX)) text += String.fromCharCode(byte);
  }
  const [, message] = /"message":\s*"([^"]*)"/.exec(text) ?? [];
  return (message ?? text).slice(0, MESSAGE_MAX);
}

/**
 * Headers of an upload from the options of the load, in the node's dialect.
 * @param {TargetNode} node
 * @param {Record<string, string>} [more] without prefix
 * @returns {Record<string, string>}
 */
export function uploadHeaders(node, more = {}) {
  const values = {
    'postage-batch-id': node.batch,
    'deferred-upload': String(config.mode === 'deferred'),
    ...(config.encrypt ? { encrypt: 'true' } : {}),
    'redundancy-level': String(config.redundancyLevel),
    ...more,
  };
  return named(node, values);
}

/**
 * @param {TargetNode} node
 * @param {Record<string, string>} values by name without prefix
 * @returns {Record<string, string>}
 */
export function named({ headerPrefix }, values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${headerPrefix}${name}`, value]));
}

/**
 * @param {TargetNode} node
 * @param {Record<string, string>} headers of an answer, in k6's spelling
 * @param {string} name without prefix
 * @returns {string | undefined}
 */
export function answered({ headerPrefix }, headers, name) {
  const wanted = `${headerPrefix}${name}`;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === wanted);
  return found?.[1];
}
