import type { Conversation, HttpAnswer, HttpRequest, Transcript } from './messages.ts';

const BODY_MAX = 2000;

export function requestText({
  place = 'main',
  method = 'GET',
  path,
  headers = {},
  body,
}: HttpRequest): string {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return whole(`${method} ${path}${placeText(place)}`, headers, bytes);
}

export function answerText({ status, headers, body }: HttpAnswer): string {
  return whole(String(status), headers, body);
}

export function conversationText({
  place = 'main',
  path,
  headers = {},
  messages = [],
}: Conversation): string {
  const sent = messages.map((message) =>
    typeof message === 'string' ? `text message ${message}` : `message of ${message.length} bytes`,
  );
  return whole(`WebSocket ${path}${placeText(place)}`, headers, Buffer.from(sent.join('\n')));
}

export function transcriptText({ refused, received, closed, closedReason = '' }: Transcript): string {
  if (refused !== undefined) return answerText(refused);
  return [
    ...received.map(
      (message) =>
        `message of ${message.length} bytes: ${Buffer.from(message).toString('hex').slice(0, 200)}`,
    ),
    ...(closed === undefined ? [] : [`closed with ${closed} ${closedReason}`]),
  ].join('\n');
}

function placeText(place: string): string {
  return place === 'main' ? '' : ` (${place})`;
}

function whole(
  start: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | undefined,
): string {
  const lines = Object.entries(headers)
    .filter(([name]) => name.toLowerCase() !== 'authorization')
    .map(([name, value]) => `${name}: ${value}`);
  const text = body === undefined || body.length === 0 ? [] : ['', bodyText(body)];
  return [start, ...lines, ...text].join('\n');
}

function bodyText(body: Uint8Array): string {
  const head = Buffer.from(body.subarray(0, BODY_MAX));
  const isText = !head.some((byte) => byte < 9 || (byte > 13 && byte < 32) || byte > 126);
  const rest = body.length > BODY_MAX ? `… (${body.length} bytes in all)` : '';
  return isText
    ? `${head.toString('utf8')}${rest}`
    : `${body.length} bytes: ${head.subarray(0, 64).toString('hex')}…`;
}
