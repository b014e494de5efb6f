/** A request at a time, answers end with a new line. A fifth of HTTP's cost, and out of browsers' reach. */
import { closeSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname, join, relative } from 'node:path';
import { Slots } from '../../node/env/turns/slots.ts';
import { LocalChainError } from '../errors.ts';

/** Each has at most one request under way. */
const CONNECTIONS_MAX = 64;
const WAITING_MAX = 4096;
const SOCKET_PATH_BYTES_MAX = 103;
const NEW_LINE = 0x0a;

export interface Upstream {
  /** @throws Error when no answer can come; the signal's reason */
  ask(request: string, signal: AbortSignal): Promise<string>;
  /** The answer to a call, without its id, that needs no computing and no waiting. Absent: the chain is elsewhere. */
  known?(call: { readonly method: string; readonly params?: unknown }): string | undefined;
  close(): void;
}

/** @param path of the socket; its folder exists */
export function openIpc(path: string): Upstream {
  const { address, close: closeAddress } = connectable(path);
  const slots = new Slots(CONNECTIONS_MAX);
  const idle: Connection[] = [];
  const all = new Set<Connection>();

  async function ask(request: string, signal: AbortSignal): Promise<string> {
    if (slots.waiting >= WAITING_MAX) throw new Error('too many requests wait for the chain');
    await slots.acquire(signal);
    try {
      const connection = idle.pop() ?? opened();
      const answer = await connection.ask(request, signal);
      idle.push(connection);
      return answer;
    } finally {
      slots.release();
    }
  }

  function opened(): Connection {
    const connection = new Connection(connect(address), () => {
      all.delete(connection);
      const place = idle.indexOf(connection);
      if (place !== -1) idle.splice(place, 1);
    });
    all.add(connection);
    return connection;
  }

  return {
    ask,
    close() {
      for (const connection of all) connection.end();
      closeAddress();
    },
  };
}

class Connection {
  readonly #socket: Socket;
  #parts: Buffer[] = [];
  #asked: PromiseWithResolvers<string> | undefined;
  #failure: Error | undefined;

  constructor(socket: Socket, onClosed: () => void) {
    this.#socket = socket;
    socket.on('data', (part) => this.#read(part));
    socket.on('error', (error) => {
      this.#failure = error;
    });
    socket.on('close', () => {
      onClosed();
      this.#asked?.reject(this.#failure ?? new Error('the chain has closed the connection'));
    });
  }

  /** After an abort the connection is closed: its next answer would be this one's. @throws the signal's reason */
  async ask(request: string, signal: AbortSignal): Promise<string> {
    const asked = Promise.withResolvers<string>();
    this.#asked = asked;
    const abort = (): void => {
      asked.reject(signal.reason);
      this.end();
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      this.#socket.write(`${request}\n`);
      return await asked.promise;
    } finally {
      this.#asked = undefined;
      signal.removeEventListener('abort', abort);
    }
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(part: Buffer): void {
    this.#parts.push(part);
    if (part.at(-1) !== NEW_LINE) return;
    const text = Buffer.concat(this.#parts).toString('utf8').trimEnd();
    this.#parts = [];
    this.#asked?.resolve(text);
  }
}

/** The path, a relative one, or on Linux one through its open folder. @throws LocalChainError ANVIL_START_FAILED */
function connectable(path: string): { readonly address: string; readonly close: () => void } {
  const short = [path, relative('.', path)].find(isShort);
  if (short !== undefined) return { address: short, close: () => undefined };
  if (process.platform !== 'linux') {
    throw new LocalChainError(
      'ANVIL_START_FAILED',
      `the path of Anvil's socket is too long: ${path} has more than ${SOCKET_PATH_BYTES_MAX} bytes; set TMPDIR to a shorter one`,
    );
  }
  const folder = openSync(dirname(path), 'r');
  return { address: join(`/proc/self/fd/${folder}`, basename(path)), close: () => closeSync(folder) };
}

function isShort(path: string): boolean {
  return Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX;
}
