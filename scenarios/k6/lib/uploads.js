/** The harness recreates and verifies the content, and looks for every chunk. */
import exec from 'k6/execution';
import { filesOf, sizeOf } from '../../../harness/run/load/k6/pieces.ts';
import { config, inTurn, uploaders } from './config.js';
import { contentOf, drawsOf } from './content.js';
import { iterationStart, operation } from './operations.js';
import { answered, ask, uploadHeaders } from './requests.js';
import { tarOf } from './tar.js';

/** @import { TargetNode } from '../../../harness/run/load/k6/config.ts' */
/** @import { Done } from './operations.js' */

/**
 * Text unique to the iteration.
 * @param {string} kind
 */
export function uniqueIndex(kind) {
  const { name, iterationInTest } = exec.scenario;
  return `${kind} ${name} ${iterationInTest}`;
}

/**
 * Content never uploaded before, of a size from the load's distribution.
 * @param {string} kind distinguishes contents of one iteration
 * @param {number} [size] bytes
 */
export async function uniqueContent(kind, size) {
  iterationStart();
  const index = uniqueIndex(kind);
  const bytes = size ?? sizeOf(config.sizes, await drawsOf(config, index));
  return { index, data: await contentOf(config, index, bytes) };
}

/** The node whose turn it is for an upload. */
export function nextUploader() {
  return inTurn(uploaders, exec.scenario.iterationInTest);
}

/**
 * Uploads new bytes, with the options of the load.
 * @param {{ node?: TargetNode, size?: number }} [options] default: the nodes in turn, sizes of the load
 * @returns {Promise<Done | undefined>}
 */
export async function upload({ node = nextUploader(), size } = {}) {
  const { index, data } = await uniqueContent('bytes', size);
  return operation('upload', node.name, () =>
    send(
      node,
      { kind: 'bytes', index, size: data.length },
      {
        path: '/bytes',
        body: data.buffer,
        headers: { 'content-type': 'application/octet-stream', ...uploadHeaders(node) },
      },
    ),
  );
}

/**
 * Uploads a new directory as an archive.
 * @param {{ node?: TargetNode, size?: number }} [options] size: of all files together
 * @returns {Promise<Done | undefined>}
 */
export async function uploadDirectory({ node = nextUploader(), size } = {}) {
  const { index, data } = await uniqueContent('directory', size);
  const body = tarOf(filesOf(data, config.files)).buffer;
  return operation('directory', node.name, () =>
    send(
      node,
      { kind: 'directory', index, size: data.length },
      {
        path: node.files,
        body,
        headers: { 'content-type': 'application/x-tar', ...uploadHeaders(node, { collection: 'true' }) },
      },
    ),
  );
}

/**
 * @param {TargetNode} node
 * @param {{ kind: 'bytes' | 'directory' | 'feed', index: string, size: number }} what
 * @param {{ path: string, body: ArrayBuffer, headers: Record<string, string> }} request
 * @returns {Done}
 */
export function send(node, { kind, index, size }, { path, body, headers }) {
  const requestedAtMs = Date.now();
  const { response, ms } = ask(node, { method: 'POST', path, body, headers }, 'text');
  const reference = /** @type {string} */ (response.json('reference'));
  const tag = answered(node, response.headers, 'tag');
  return {
    bytes: size,
    ms,
    subject: reference,
    upload: {
      kind,
      batch: node.batch,
      reference,
      size,
      index,
      requestedAtMs,
      ...(tag === undefined ? {} : { tag: Number(tag) }),
    },
  };
}
