/**
 * Libp2p over WebSockets, `p2p-protocols.md` 1.1, in binary messages. The first byte tells it from plain TCP on the same
 * port. Pages of any origin may connect, as on the public network: encryption is above this.
 */
import { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns';
import { once } from 'node:events';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  createServer as createTlsServer,
  getCACertificates,
  type SecureContext,
} from 'node:tls';
import { WebSocket, WebSocketServer } from 'ws';
import type { Power } from '../env/power.ts';
import { type CarrierName, type DialTarget, dialTarget, withoutPeerId } from './address/underlay.ts';
import { HostError, StreamError } from './host.ts';
import {
  type Carrier,
  Connection,
  connected,
  connectionError,
  createTcp,
  listenOn,
  plainly,
  supply,
  type Tcp,
  type TcpEvents,
} from './tcp-host.ts';

/** Several times the largest message of noise. */
const MESSAGE_SIZE_MAX = 1 << 20;
/** Pieces of a message: each keeps all that was read with it, up to 64 KiB. */
const FRAGMENTS_MAX = 16;
/** Reads of a piece: each has a cost, whatever its size. */
const READS_MAX = 1024;
/** Time for the other end to close its side. */
const CLOSE_TIMEOUT_MS = 1000;
const REQUEST_SIZE_MAX = 8192;
/** Length of the first line said over plain TCP. */
const MULTISTREAM_START = 0x13;

const WEB_SOCKET_OPTIONS = {
  maxPayload: MESSAGE_SIZE_MAX,
  maxFragments: FRAGMENTS_MAX,
  maxBufferedChunks: READS_MAX,
  closeTimeout: CLOSE_TIMEOUT_MS,
  // By hand: the library would queue answers that nobody reads.
  autoPong: false,
  perMessageDeflate: false,
} as const;

/** Certificate with its chain, and its key: PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

export interface SocketOptions {
  /** Dialled, and taken by listeners. */
  readonly carriers: readonly CarrierName[];
  readonly secure?: Certificate | undefined;
  /** Trusted besides those of Node.js: PEM. */
  readonly authority?: string | undefined;
}

/** A listener at `/…/tcp/PORT` takes plain TCP, WebSockets, or both; one at `/…/tcp/PORT/tls/ws` WebSockets over TLS. */
export function createSockets(options: SocketOptions, power?: Power, resolve: LookupFunction = lookup): Tcp {
  const plain = createTcp(power, resolve);
  const { carriers, authority } = options;
  let trust: SecureContext | undefined;
  return {
    async dial(underlay, signal) {
      const target = dialTarget(underlay);
      if (target?.carrier === 'tcp' && carriers.includes('tcp')) return plain.dial(underlay, signal);
      const socket = await connected(underlay, signal, { carriers, power, resolve });
      const found = { underlay, target: target as DialTarget };
      return dialWebSocket(socket, found, { signal, trust: () => (trust ??= trusting(authority)), power });
    },
    async listen(address, events) {
      if (address.endsWith('/ws')) return listenSecurely(address, events, options, power);
      if (!carriers.includes('ws')) return plain.listen(address, events);
      const upgrade = upgrades('/ws');
      const listener = await listenOn(
        address,
        {
          accepted(connection, socket) {
            events.accepted(connection);
            discern(socket, connection, { takesPlain: carriers.includes('tcp'), upgrade });
          },
          failed: (error) => events.failed(error),
        },
        power,
      );
      return {
        addresses: (advertised) =>
          listener
            .addresses(advertised)
            .flatMap((own) => (carriers.includes('tcp') ? [own, `${own}/ws`] : [`${own}/ws`])),
        close: () => listener.close(),
      };
    },
  };
}

async function dialWebSocket(
  bare: Socket,
  { underlay, target }: { readonly underlay: string; readonly target: DialTarget },
  how: { signal: AbortSignal; trust: () => SecureContext; power: Power | undefined },
): Promise<Connection> {
  const { signal, power } = how;
  const { carrier, host, port, serverName = host } = target;
  let socket = bare;
  try {
    if (carrier === 'wss') socket = await secured(bare, target, how);
    const connection = new Connection(socket, withoutPeerId(underlay), power);
    // A server in front of several nodes goes by this name.
    const name = serverName.includes(':') ? `[${serverName}]` : serverName;
    const webSocket = new WebSocket(`ws://${name}:${port}/`, {
      ...WEB_SOCKET_OPTIONS,
      createConnection: () => socket,
    });
    connection.carry(inMessages(webSocket, connection));
    await once(webSocket, 'open', { signal });
    return connection;
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    throw connectionError({ host, port }, cause);
  }
}

/** @throws Error naming what is wrong with the certificate */
async function secured(
  bare: Socket,
  { host, serverName: name = host }: DialTarget,
  { signal, trust, power }: { signal: AbortSignal; trust: () => SecureContext; power: Power | undefined },
): Promise<Socket> {
  const socket = connectTls({
    socket: bare,
    host: name,
    // An address is no server name (RFC 6066, 3).
    ...(isIP(name) === 0 ? { servername: name } : {}),
    secureContext: trust(),
  });
  if (power !== undefined) supply(socket, power);
  try {
    await once(socket, 'secureConnect', { signal });
    return socket;
  } catch (cause) {
    socket.destroy();
    throw new Error(`TLS with ${name}: ${(cause as Error).message}`, { cause });
  }
}

/** Reading the certificates takes milliseconds. @param authority PEM */
function trusting(authority: string | undefined): SecureContext {
  return createSecureContext(
    authority === undefined ? {} : { ca: [...getCACertificates('default'), authority] },
  );
}

async function listenSecurely(
  address: string,
  events: TcpEvents,
  { secure }: SocketOptions,
  power: Power | undefined,
): ReturnType<Tcp['listen']> {
  if (secure === undefined) throw new HostError('LISTEN_FAILED', `${address}: no certificate is given`);
  const { certificate: cert, key } = secure;
  const upgrade = upgrades('/tls/ws');
  const waiting = new Map<string, Connection>();
  const idOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket) =>
    `${remotePort} ${remoteAddress} ${localPort} ${localAddress}`;
  // The transport limits the time, as for all that it accepts.
  const tls = createTlsServer({ cert, key }, (socket) => {
    const connection = waiting.get(idOf(socket));
    if (connection === undefined) return void socket.destroy();
    if (power !== undefined) supply(socket, power);
    upgrade(socket, connection);
  }).on('tlsClientError', (error, socket) => waiting.get(idOf(socket))?.abort(error));
  const listener = await listenOn(
    address,
    {
      accepted(connection, socket) {
        const id = idOf(socket);
        waiting.set(id, connection);
        socket.once('close', () => {
          if (waiting.get(id) === connection) waiting.delete(id);
        });
        events.accepted(connection);
        tls.emit('connection', socket);
      },
      failed: (error) => events.failed(error),
    },
    power,
  );
  const name = nameIn(cert);
  return {
    addresses: (advertised) => listener.addresses(advertised).map((own) => secureAddress(own, name)),
    close: () => listener.close(),
  };
}

/** Decides by the first byte. */
function discern(
  socket: Socket,
  connection: Connection,
  { takesPlain, upgrade }: { readonly takesPlain: boolean; readonly upgrade: Upgrade },
): void {
  socket.once('data', (bytes: Buffer) => {
    socket.pause();
    socket.unshift(bytes);
    if (bytes[0] !== MULTISTREAM_START) upgrade(socket, connection);
    else if (takesPlain) connection.carry(plainly(socket));
    else
      connection.abort(new HostError('UNDERLAY_INVALID', 'plain TCP is off here, and this is no WebSocket'));
    socket.resume();
  });
}

type Upgrade = (socket: Socket, connection: Connection) => void;

/** Answers other requests with a status, and ends them. */
function upgrades(suffix: string): Upgrade {
  const waiting = new WeakMap<object, Connection>();
  const webSockets = new WebSocketServer({ ...WEB_SOCKET_OPTIONS, noServer: true, clientTracking: false });
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer({ maxHeaderSize: REQUEST_SIZE_MAX }, (_request, response) => {
    const headers = { connection: 'close', upgrade: 'websocket', 'content-type': 'text/plain' };
    response
      .writeHead(426, headers)
      .end('expected a WebSocket: a node of the storage network listens here\n');
  });
  server.on('upgrade', (request, socket, head) => {
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = waiting.get(socket);
      connection?.carry(inMessages(webSocket, connection), { suffix, socket: request.socket });
    });
  });
  return (socket, connection) => {
    waiting.set(socket, connection);
    server.emit('connection', socket);
  };
}

/** Boundaries of messages carry no meaning. */
function inMessages(webSocket: WebSocket, connection: Pick<Connection, 'abort' | 'isFull'>): Carrier {
  webSocket
    .on('error', (error) => connection.abort(error))
    .on('ping', (data) => {
      if (!connection.isFull()) webSocket.pong(data);
    });
  return {
    onBytes(listener) {
      webSocket.on('message', (data, isBinary) => {
        if (isBinary) listener(data as Buffer);
        else connection.abort(new HostError('UNDERLAY_INVALID', 'got a text message, expected binary ones'));
      });
    },
    write(bytes) {
      if (webSocket.readyState !== WebSocket.OPEN) {
        throw new StreamError('STREAM_RESET', 'the connection is closed');
      }
      webSocket.send(bytes);
    },
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    end: () => webSocket.close(),
  };
}

/** Undefined: it is for addresses. */
function nameIn(certificate: string): string | undefined {
  return /(?:^|, )DNS:([^,]+)/.exec(new X509Certificate(certificate).subjectAltName ?? '')?.[1];
}

/** The address with dashes replaces a `*` in the certificate's name, as on the public network. */
function secureAddress(address: string, name: string | undefined): string {
  if (name === undefined) return `${address}/tls/ws`;
  const [, , host = ''] = address.split('/');
  return `${address}/tls/sni/${name.replace('*', host.replace(/[.:]/g, '-'))}/ws`;
}
