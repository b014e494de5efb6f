/**
 * Bytes of a seed, a label and an index: AES in counter mode, keyed by their hash, as the harness's `seededRandom`. Three
 * texts recreate what k6 uploads. Runs in k6 and in Node.js.
 */

/** @param {string} text ASCII */
function bytesOf(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/**
 * @param {readonly string[]} parts ASCII
 * @returns {Promise<ArrayBuffer>} 32 bytes
 */
function hashOf(parts) {
  return crypto.subtle.digest('SHA-256', bytesOf(parts.join('\u0000')));
}

/**
 * @param {{ seed: string, label: string }} source
 * @param {string} index which content of this source
 * @param {number} size bytes
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function contentOf({ seed, label }, index, size) {
  const raw = await hashOf([seed, label, index]);
  const key = await crypto.subtle.importKey('raw', raw, { name: 'AES-CTR' }, false, ['encrypt']);
  const start = { name: 'AES-CTR', counter: new Uint8Array(16), length: 64 };
  return new Uint8Array(await crypto.subtle.encrypt(start, key, new Uint8Array(size)));
}

/**
 * Numbers from 0 to 1, independent of the content of the same index.
 * @param {{ seed: string, label: string }} source
 * @param {string} index
 * @returns {Promise<number[]>} four
 */
export async function drawsOf({ seed, label }, index) {
  const hash = new DataView(await hashOf([seed, label, index, 'draws']));
  return [0, 8, 16, 24].map((at) => hash.getUint32(at) / 2 ** 32 + (hash.getUint32(at + 4) >>> 11) / 2 ** 53);
}
