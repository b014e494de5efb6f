/** `open` of a bundled script. k6 looks beside the bundle; the files are beside the script. */

/** Replaced in the bundle. */
const besideScript = __ENV['SVCNET_SCRIPT_FOLDER'];

/**
 * @param {string} path
 * @param {'b'} [mode]
 * @returns {string | ArrayBuffer}
 */
export function open(path, mode) {
  const whole = /^(\/|[a-z]+:)/i.test(path) ? path : `${besideScript}/${path}`;
  return mode === undefined ? globalThis.open(whole) : globalThis.open(whole, mode);
}
