import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * What answers a request that asked for another protocol: the HTTP server has let go of its connection, which ends with
 * the answer, unless `leave` hands it to that protocol before.
 */
export function responseOn(
  request: IncomingMessage,
  socket: Duplex,
): { readonly response: ServerResponse; readonly leave: () => void } {
  const http = process.getBuiltinModule('node:http');
  const response = new http.ServerResponse(request);
  // The server gives sockets; its type says only that they are streams.
  const connection = socket as Parameters<ServerResponse['assignSocket']>[0];
  response.shouldKeepAlive = false;
  response.assignSocket(connection);
  const onFinish = () => {
    response.detachSocket(connection);
    connection.end();
  };
  response.once('finish', onFinish);
  return {
    response,
    leave() {
      response.off('finish', onFinish);
      response.detachSocket(connection);
    },
  };
}
