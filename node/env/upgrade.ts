import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Response to a request for another protocol: the HTTP server has released its connection, which ends with the
 * answer, unless `leave` hands it to that protocol first.
 * @returns undefined when the connection still has another answer to send: the server itself refuses some requests,
 * and says so to nobody
 */
export function responseOn(
  request: IncomingMessage,
  socket: Duplex,
): { readonly response: ServerResponse; readonly leave: () => void } | undefined {
  const http = process.getBuiltinModule('node:http');
  const response = new http.ServerResponse(request);
  // The server passes sockets; its type only says that they are streams.
  const connection = socket as Parameters<ServerResponse['assignSocket']>[0];
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(connection);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_HTTP_SOCKET_ASSIGNED') throw error;
    return undefined;
  }
  // Its client may keep its own side open for ever. The response closes with the connection.
  const onFinish = () => connection.end(() => connection.destroy());
  response.once('finish', onFinish);
  return {
    response,
    leave() {
      response.off('finish', onFinish);
      response.detachSocket(connection);
    },
  };
}
