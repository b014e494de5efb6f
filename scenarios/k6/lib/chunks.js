/** Over a stream, one acknowledgement each. */
import { payloadsOf } from '../../../harness/run/load/k6/pieces.ts';
import { config } from './config.js';
import { operation } from './operations.js';
import { ask, named } from './requests.js';
import { Socket } from './socket.js';
import { nextUploader, uniqueContent } from './uploads.js';

/** @import { TargetNode } from '../../../harness/run/load/k6/config.ts' */

const SPAN_SIZE = 8;
/** Both directions are busy. */
const AHEAD_MAX = 64;

/**
 * Span and payload.
 * @param {Uint8Array} payload
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function chunkOf(payload) {
  const chunk = new Uint8Array(SPAN_SIZE + payload.length);
  new DataView(chunk.buffer).setUint32(0, payload.length, true);
  chunk.set(payload, SPAN_SIZE);
  return chunk;
}

/**
 * Uploads new chunks over one stream, as many as the size of the load gives.
 * @param {{ node?: TargetNode, size?: number }} [options]
 */
export async function streamChunks({ node = nextUploader(), size } = {}) {
  const { index, data } = await uniqueContent('chunks', size);
  const chunks = payloadsOf(data).map((payload) => chunkOf(payload).buffer);
  return operation('chunks', node.name, async () => {
    const requestedAtMs = Date.now();
    const tag = config.mode === 'deferred' ? newTag(node) : undefined;
    await sendAll(node, chunks, tag);
    const upload = {
      kind: /** @type {const} */ ('chunks'),
      batch: node.batch,
      reference: '',
      size: data.length,
      index,
      requestedAtMs,
      ...(tag === undefined ? {} : { tag }),
    };
    return { bytes: data.length, subject: index, upload };
  });
}

/**
 * @param {TargetNode} node
 * @returns {number}
 */
function newTag(node) {
  const { response } = ask(node, { method: 'POST', path: '/tags' }, 'text');
  return /** @type {number} */ (response.json('uid'));
}

/**
 * Returns when every chunk is acknowledged.
 * @param {TargetNode} node
 * @param {readonly ArrayBuffer[]} chunks
 * @param {number | undefined} tag
 */
async function sendAll(node, chunks, tag) {
  const values = { 'postage-batch-id': node.batch, ...(tag === undefined ? {} : { tag: String(tag) }) };
  const socket = await Socket.open(node, { path: '/chunks/stream', headers: named(node, values) });
  try {
    for (const [sent, chunk] of chunks.entries()) {
      if (sent >= AHEAD_MAX) await socket.next();
      socket.send(chunk);
    }
    for (let left = Math.min(AHEAD_MAX, chunks.length); left > 0; left--) await socket.next();
  } finally {
    socket.close();
  }
}
