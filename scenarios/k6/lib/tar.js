/** Tar archives of directories. Runs in k6 and in Node.js. */

const BLOCK = 512;

/** @typedef {{ readonly path: string, readonly data: Uint8Array }} File */

/**
 * @param {readonly File[]} files with short paths
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function tarOf(files) {
  const padded = (/** @type {number} */ size) => Math.ceil(size / BLOCK) * BLOCK;
  const total = files.reduce((sum, { data }) => sum + BLOCK + padded(data.length), 2 * BLOCK);
  const archive = new Uint8Array(total);
  let at = 0;
  for (const { path, data } of files) {
    writeHeader(archive.subarray(at, at + BLOCK), path, data.length);
    archive.set(data, at + BLOCK);
    at += BLOCK + padded(data.length);
  }
  return archive;
}

/**
 * The header of a regular file (POSIX ustar).
 * @param {Uint8Array} header zeros
 * @param {string} path
 * @param {number} size
 */
function writeHeader(header, path, size) {
  const write = (/** @type {number} */ at, /** @type {string} */ text) => {
    for (let i = 0; i < text.length; i++) header[at + i] = text.charCodeAt(i);
  };
  const octal = (/** @type {number} */ value, /** @type {number} */ digits) =>
    value.toString(8).padStart(digits, '0');
  write(0, path);
  write(100, `${octal(0o644, 7)}\u0000`);
  write(108, `${octal(0, 7)}\u0000`);
  write(116, `${octal(0, 7)}\u0000`);
  write(124, `${octal(size, 11)}\u0000`);
  write(136, `${octal(0, 11)}\u0000`);
  write(148, ' '.repeat(8));
  write(156, '0');
  write(257, 'ustar\u000000');
  const sum = header.reduce((total, byte) => total + byte, 0);
  write(148, `${octal(sum, 6)}\u0000 `);
}
