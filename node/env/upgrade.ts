import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Response to a request for another protocol, whose connection the HTTP server has released: it ends with the answer, unless
 * `leave` hands it over.
 * @returns undefined when another answer is to be sent: the server itself refuses some requests
 */
export function responseOn(
  request: IncomingMessage,
  socket: Duplex,
): { readonly response: ServerResponse; readonly leave: () => void } | undefined {
  const http = process.getBuiltinModule('node:http');
  const response = new http.ServerResponse(request);
  // Typed as a stream, but always a socket.
  const connection = socket as Parameters<ServerResponse['assignSocket']>[0];
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(connection);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_HTTP_SOCKET_ASSIGNED') throw error;
    return undefined;
  }
  // The client may keep its side open for ever.
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
