/** Ids shared by answer, log and client. */
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';
/** A client's id: of usual length, without characters to escape. */
const WELL_FORMED = /^[\w.~+/=:-]{1,128}$/;

/**
 * A well-formed header's id, else a counted one.
 * @param prefix tells nodes and starts apart; not random, for simulations
 */
export function createRequestIds(prefix: string): (request: IncomingMessage) => string {
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    if (typeof given === 'string' && WELL_FORMED.test(given)) return given;
    return `${prefix}-${(count++).toString(36)}`;
  };
}
