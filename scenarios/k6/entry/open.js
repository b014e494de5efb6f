/**
 * `open` of a bundled script. k6 looks beside the file that it runs, which is the bundle; the files of a script
 * are beside the script.
 */

/** Replaced by a text when the script is bundled. */
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
