/** Compared with what was uploaded. */
import { sha256 } from 'k6/crypto';
import exec from 'k6/execution';
import { config, inTurn, nodes, objects } from './config.js';
import { contentOf, drawsOf } from './content.js';
import { iterationStart, OperationError, operation } from './operations.js';
import { chooser } from './reads.js';
import { ask, named } from './requests.js';
import { uniqueIndex } from './uploads.js';

/** @import { StoredObject, TargetNode } from '../../../harness/run/load/k6/config.ts' */
/** @import { Done } from './operations.js' */

const choose = objects.length === 0 ? undefined : chooser(config.reads, objects.length);

/**
 * Downloads one of the things uploaded before the load, from another node than it was uploaded to. Its hash
 * is compared, and for some of them every byte.
 * @param {{ node?: TargetNode }} [options]
 * @returns {Promise<Done | undefined>}
 */
export async function download({ node } = {}) {
  iterationStart();
  const [which = 0, thorough = 0] = await drawsOf(config, uniqueIndex('read'));
  const stored = choose === undefined ? undefined : objects[choose(which)];
  if (stored === undefined) throw new Error('nothing to download: the load was started with --objects 0');
  const reader = node ?? readerOf(stored);
  const isCompared = thorough < config.compareShare;
  return operation('download', reader.name, async () => {
    const headers = config.reads.kind === 'cold' ? named(reader, { cache: 'false' }) : {};
    const { response, ms } = fetched(reader, stored, headers);
    const body = response.body;
    const wrong = sha256(body, 'hex') !== stored.sha256 || (isCompared && !(await isSame(body, stored)));
    if (wrong) {
      const message = `${reader.name} served ${body.byteLength} bytes for ${stored.reference} that are not the ${stored.size} uploaded`;
      throw new OperationError({ class: 'data.mismatch', message });
    }
    return { bytes: body.byteLength, ms, subject: stored.reference };
  });
}

/**
 * @param {TargetNode} reader
 * @param {StoredObject} stored
 * @param {Record<string, string>} headers
 */
function fetched(reader, { reference }, headers) {
  try {
    return ask(reader, { method: 'GET', path: `/bytes/${reference}`, headers }, 'binary');
  } catch (error) {
    if (!(error instanceof OperationError) || error.failure.status !== 404) throw error;
    const message = `${reader.name} does not find ${reference}, which was uploaded: ${error.message}`;
    throw new OperationError({ class: 'data.missing', message });
  }
}

/**
 * @param {ArrayBuffer} body
 * @param {StoredObject} stored
 */
async function isSame(body, { index, size }) {
  const [seen, expected] = [new Uint8Array(body), await contentOf(config, index, size)];
  return seen.length === expected.length && seen.every((byte, i) => byte === expected[i]);
}

/** @param {StoredObject} stored */
function readerOf({ node }) {
  const others = nodes.filter(({ name }) => name !== node);
  return inTurn(others.length === 0 ? nodes : others, exec.scenario.iterationInTest);
}
