import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Response to a request for another protocol: the HTTP server has released its connection, which ends with
 * the answer, unless `leave` hands it to that protocol first.
 */
export function responseOn(
  request: IncomingMessage,
  socket: Duplex,
): { readonly response: ServerResponse; readonly leave: () => void } {
  const http = process.getBuiltinModule('node:http');
  const response = new http.ServerResponse(request);
  // The server passes sockets; its type only says that they are streams.
  const connection = socket as Parameters<ServerResponse['assignSocket']>[0];
  response.shouldKeepAlive = false;
  response.assignSocket(connection);
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
