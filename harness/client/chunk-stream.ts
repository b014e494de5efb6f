/** Chunks over a WebSocket, one acknowledgement each (http-api-completion.md 6.1). */
import type { Agent, IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { expectBytes } from '../base/arguments.ts';
import { readBeginning, textOf } from '../base/read-limited.ts';
import { ClientError, type ClientErrorFields, classOfAnswer, classOfFailure } from './errors.ts';
import { errorBody } from './http.ts';

/** Keeps both directions busy. */
const AHEAD_MAX = 64;
const PATH = '/chunks/stream';
const NORMAL = 1000;
const MESSAGE_MAX = 65_536;

export interface ChunkStreamRequest {
  /** URL of the API. */
  readonly base: string;
  readonly node: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/**
 * Waits for all acknowledgements.
 * @param chunks span and payload @returns acknowledgements, as many as chunks
 * @throws ClientError when the stream is refused, or ends before its last acknowledgement
 */
export async function streamChunks(
  { base, node, headers, agent, signal }: ChunkStreamRequest,
  chunks: Iterable<Uint8Array>,
): Promise<number> {
  let failure: ClientError | undefined;
  let acknowledged = 0;
  let wake: (() => void) | undefined;
  /** Ends every wait. */
  const fail = (
    detail: string,
    fields: Pick<ClientErrorFields, 'class' | 'status' | 'reasons' | 'cause'>,
  ) => {
    failure ??= new ClientError(detail, { node, method: 'GET', path: PATH, ...fields });
    wake?.();
  };
  const failBy = (cause: unknown) => {
    const detail = cause instanceof Error ? cause.message : String(cause);
    fail(detail, { class: classOfFailure(cause, false), cause });
  };
  const until = async (isReached: () => boolean) => {
    while (!isReached()) {
      if (failure !== undefined) throw failure;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const onAbort = () => failBy(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const socket = new WebSocket(`${base.replace(/^http/, 'ws')}${PATH}`, {
    headers: { ...headers },
    agent,
    // Empty or one byte.
    maxPayload: MESSAGE_MAX,
  });
  socket.on('open', () => wake?.());
  socket.on('message', () => {
    acknowledged += 1;
    wake?.();
  });
  const refused = async (response: IncomingMessage) => {
    try {
      const { message, reasons } = errorBody(textOf(await readBeginning(response, MESSAGE_MAX)));
      const status = response.statusCode ?? 0;
      fail(message, { class: classOfAnswer(status, message), status, reasons });
    } catch (error) {
      failBy(error);
    }
  };
  socket.once('unexpected-response', (_request, response) => void refused(response));
  socket.on('error', failBy);
  socket.once('close', (code, reason) =>
    fail(`closed with ${code} ${String(reason)}`, { class: 'client.reset' }),
  );
  try {
    await until(() => socket.readyState === WebSocket.OPEN);
    let sent = 0;
    for (const chunk of chunks) {
      expectBytes('chunks.stream', chunk);
      await until(() => sent - acknowledged < AHEAD_MAX);
      socket.send(chunk);
      sent += 1;
    }
    await until(() => acknowledged === sent);
    socket.close(NORMAL);
    return acknowledged;
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
