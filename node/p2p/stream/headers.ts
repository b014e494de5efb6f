/** First message in each direction on every stream except the handshake's. `p2p-protocols.md` 2.2. */

import type { MessageOf } from '../codec/message.ts';
import type { Headers } from '../host.ts';

const Header = {
  key: [1, 'string'],
  value: [2, 'bytes'],
} as const;

export const HeadersMessage = {
  headers: [1, ['repeated', Header]],
} as const;

export const NO_HEADERS: Headers = new Map();
const NO_HEADERS_MESSAGE: MessageOf<typeof HeadersMessage> = { headers: [] };

/** The last value of a key counts. */
export function headersOf(message: MessageOf<typeof HeadersMessage>): Headers {
  return message.headers.length === 0
    ? NO_HEADERS
    : new Map(message.headers.map(({ key, value }) => [key, value]));
}

export function headersMessage(headers: Headers): MessageOf<typeof HeadersMessage> {
  if (headers.size === 0) return NO_HEADERS_MESSAGE;
  return { headers: Array.from(headers, ([key, value]) => ({ key, value })) };
}
