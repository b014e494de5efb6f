/** Ids by which an answer, a line of the log and a client's own record of a request are found together. */
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';
/** Of a client or a proxy: as long as those in use, and nothing that a log would have to escape. */
const WELL_FORMED = /^[\w.~+/=:-]{1,128}$/;

/**
 * Gives every request its own: that of its header when it is well-formed, else a counted one.
 * @param prefix tells the ids of one node and start from others; nothing random, so that a simulation repeats
 */
export function createRequestIds(prefix: string): (request: IncomingMessage) => string {
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    if (typeof given === 'string' && WELL_FORMED.test(given)) return given;
    return `${prefix}-${(count++).toString(36)}`;
  };
}
