/** Ids that link an answer, a log line and a client's own record of a request. */
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';
/** Ids of a client or proxy: as long as those in use, and without characters that a log must escape. */
const WELL_FORMED = /^[\w.~+/=:-]{1,128}$/;

/**
 * Gives every request its id: that of its header if well-formed, otherwise a counted one.
 * @param prefix distinguishes the ids of one node and start from others; not random, so that a simulation repeats
 */
export function createRequestIds(prefix: string): (request: IncomingMessage) => string {
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    if (typeof given === 'string' && WELL_FORMED.test(given)) return given;
    return `${prefix}-${(count++).toString(36)}`;
  };
}
