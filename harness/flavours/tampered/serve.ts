/** Listens on loopback: `POST /reload` rereads faults, `POST /flush` writes counts. */
import { randomUUID } from 'node:crypto';
import { endServer, LOOPBACK, listening, PATIENT } from '../../base/calls.ts';
import { type Controlled, writeControl } from './settings.ts';

export async function serveControl(dataDir: string, controlled: Controlled): Promise<AsyncDisposable> {
  const token = randomUUID();
  const server = process.getBuiltinModule('node:http').createServer(PATIENT, (request, response) => {
    request.resume();
    if (request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end();
      return;
    }
    if (request.method === 'POST' && request.url === '/reload') controlled.reload();
    else if (request.method === 'POST' && request.url === '/flush') controlled.flush();
    else {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(204).end();
  });
  const port = await listening(server, LOOPBACK);
  server.unref();
  writeControl(dataDir, { port, token, pid: process.pid });
  return { [Symbol.asyncDispose]: () => endServer(server) };
}
