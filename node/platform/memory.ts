/**
 * A node among others in one process. Its owner provides clock, randomness, keys, log and disk; peers are on a network in
 * memory, and only API and chain queries use sockets.
 *
 * The owner can control the running node without its help:
 *
 * - `cut` is a power cut, or `kill -9`. From the call on no timer fires, no message passes, and nothing reaches disk or log.
 *   Links break without a goodbye, ports are freed. What the store had acknowledged stays for a new node. The promise of
 *   `startNode`, or of `stop`, may never settle.
 * - `freeze` and `thaw` are SIGSTOP and SIGCONT. Requests, bytes, answers, timers and writes wait, and continue in order.
 *   Unlike in a process, running code continues until it waits; the other side never gives up a silent connection in memory;
 *   and Node.js drops a connection whose request head does not come within seconds.
 * - An uncaught error is the node's crash: it is cut, and `onCrash` is called. Errors of unhandled promises count after
 *   `containCrashes`.
 *
 * One platform serves one start.
 */
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { type Clock, systemClock } from '../../formats/clock.ts';
import { type Random, systemRandom } from '../../formats/random.ts';
import { SharedResults } from '../../formats/shared-results.ts';
import { type Listener, type Listening, listen } from '../api/listen.ts';
import { createLogger } from '../env/logger.ts';
import { Power, poweredClock } from '../env/power.ts';
import type { ChainEndpoint } from '../onchain/rpc.ts';
import { createMemoryHost, MemoryNetwork, type MemoryNetworkOptions } from '../p2p/memory-host.ts';
import { createMemoryStore, type MemoryDisk } from '../store/memory-store.ts';
import type { Limits, NodeKeys, Platform } from './platform.ts';

export interface MemoryOptions {
  readonly keys: NodeKeys;
  /** `tcp`: not all peers are in this process. */
  readonly host: MemoryNetwork | 'tcp';
  /** With a folder, LMDB stores it. */
  readonly store: MemoryDisk | { readonly folder: string };
  /** Results shared with other nodes of this process. Default: none. */
  readonly shared?: SharedResults | undefined;
  /** With the error that ended the node. Default: no one is told. */
  readonly onCrash?: (error: unknown) => void;
  /** Lines of the log, with line ends. Default: discarded. */
  readonly log?: (line: string) => void;
  /** Default: the system's, whose timers keep no process alive. */
  readonly clock?: Clock;
  /** Default: the system's. */
  readonly random?: Random;
  readonly limits?: Limits;
  /** Default: JSON-RPC over HTTP to the URL of the options. */
  readonly chain?: (url: string) => ChainEndpoint;
  /** Default: sockets. */
  readonly listen?: Platform['listen'];
  /** Reads a file that an option names. Default: from this machine's disk. */
  readonly readText?: Platform['readText'];
  /** Runs writes later. Default: in the next turn of the event loop. */
  readonly defer?: (work: () => void) => void;
}

export interface MemoryPlatform extends Platform {
  readonly state: Power['state'];
  /** Takes effect at once. Resolves when files and ports are released. */
  cut(): Promise<void>;
  /**
   * After so many pieces of work: timers, frames, requests, answers, writes. Between two of them nothing can be seen from
   * outside. Resolves when off.
   */
  cutAfter(pieces: number): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** As code of this node: an uncaught error caused by it is its crash. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export async function memoryPlatform(options: MemoryOptions): Promise<MemoryPlatform> {
  const { keys, log = () => undefined, defer = nextTurn } = options;
  const { readText = (path: string) => readFile(path, 'utf8') } = options;
  const power = new Power(options.onCrash ?? (() => undefined), options.shared);
  const clock = poweredClock(options.clock ?? systemClock({ keepsProcess: false }), power);
  const chain = options.chain ?? (await import('../onchain/http-endpoint.ts')).httpEndpoint;
  return {
    clock,
    random: options.random ?? systemRandom(),
    limits: options.limits,
    logger: (settings, deps) =>
      createLogger(settings, { ...deps, destination: { write: (line) => power.run(() => log(line)) } }),
    keys: () => power.hold(() => Promise.resolve(keys)),
    readText: (path) => power.hold(() => readText(path)),
    store: await openStore(options, power, defer),
    host: await openHost(options, power),
    chainEndpoint: (url) => poweredEndpoint(chain(url), power),
    spanExporter: async (url) =>
      poweredExporter((await import('../env/tracing/otlp.ts')).otlpExporter(url), power),
    listen:
      options.listen === undefined
        ? (...how) => listenOnSockets(power, ...how)
        : poweredListen(options.listen, power),
    get state() {
      return power.state;
    },
    cut: () => power.cut(),
    cutAfter: (pieces) => power.cutAfter(pieces),
    freeze: () => power.freeze(),
    thaw: () => power.thaw(),
    run: (work) => power.hold(work),
  };
}

/**
 * Until disposed, an uncaught error ends its node instead of the process. One that comes from no node is left to other
 * listeners; without any it ends the process.
 */
export function containCrashes(): Disposable {
  const listeners = (['uncaughtException', 'unhandledRejection'] as const).map((event) => {
    const contain = (error: unknown) => {
      const power = Power.current();
      if (power !== undefined) power.crash(error);
      else if (process.listenerCount(event) === containing) end(error);
    };
    process.on(event, contain);
    return () => process.off(event, contain);
  });
  containing++;
  return {
    [Symbol.dispose]() {
      containing--;
      for (const stop of listeners) stop();
    },
  };
}

/** We have this many listeners per event. */
let containing = 0;

/** Throwing here would hide the error. */
function end(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

/** Frames of one turn arrive in the next one, so that everything else in the process gets its turn. */
export function memoryNetwork(
  options: Pick<MemoryNetworkOptions, 'observe' | 'carrier' | 'relay' | 'windowOf'> &
    Partial<Pick<MemoryNetworkOptions, 'defer'>> = {},
): MemoryNetwork {
  let sent: (() => void)[] = [];
  const flush = () => {
    const arriving = sent;
    sent = [];
    for (const deliver of arriving) deliver();
  };
  return new MemoryNetwork({
    defer(deliver) {
      if (sent.push(deliver) === 1) setImmediate(flush);
    },
    ...options,
  });
}

export function sharedResults(): SharedResults {
  SharedResults.findBy(() => Power.current()?.shared);
  return new SharedResults();
}

function nextTurn(work: () => void): void {
  setImmediate(work);
}

async function openStore(
  { store, limits }: MemoryOptions,
  power: Power,
  defer: (work: () => void) => void,
): Promise<Platform['store']> {
  if (!('folder' in store)) {
    return (options, deps) =>
      power.hold(() =>
        createMemoryStore(options, { ...deps, disk: store, power, defer, group: limits?.storeGroup }),
      );
  }
  const { openLmdbStore } = await import('../store/lmdb-store.ts');
  return (options, deps) =>
    power.hold(() => openLmdbStore({ ...options, path: store.folder }, { ...deps, power }));
}

async function openHost({ host }: MemoryOptions, power: Power): Promise<Platform['host']> {
  if (host !== 'tcp') return (options, deps) => createMemoryHost(options, { ...deps, network: host, power });
  const { createLibp2pHost } = await import('../p2p/libp2p-host.ts');
  return (options, deps) => createLibp2pHost(options, { ...deps, power });
}

function poweredEndpoint(endpoint: ChainEndpoint, power: Power): ChainEndpoint {
  power.onChange((state) => {
    if (state === 'off') endpoint.close();
  });
  return {
    shown: endpoint.shown,
    post: (request, deadline) => power.hold(() => endpoint.post(request, deadline)),
    close: () => endpoint.close(),
  };
}

/** Spans of a frozen node wait; those of a node that is off are lost. */
function poweredExporter(exporter: SpanExporter, power: Power): SpanExporter {
  return {
    export: (spans, done) =>
      power.run(() => exporter.export(spans, (result) => power.run(() => done(result)))),
    shutdown: () => exporter.shutdown(),
  };
}

function poweredListener({ handle, upgrade }: Listener, power: Power): Listener {
  return {
    handle: (request, response) => power.run(() => handle(request, response)),
    upgrade: (request, socket, head) => power.run(() => upgrade(request, socket, head)),
  };
}

function poweredListen(open: Platform['listen'], power: Power): Platform['listen'] {
  return (listener, address, deps) =>
    power.hold(async () => {
      const listening = await open(poweredListener(listener, power), address, deps);
      power.onChange((state) => (state === 'off' ? listening.close() : undefined));
      return listening;
    });
}

/** A frozen node accepts connections but sends nothing. */
async function listenOnSockets(
  power: Power,
  listener: Listener,
  address: string,
  deps: { readonly clock: Clock },
): Promise<Listening> {
  const listening = await listen(poweredListener(listener, power), address, deps);
  const { server } = listening;
  const sockets = new Set<Socket>();
  server.unref();
  server.on('connection', (socket) => {
    socket.unref();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (power.state === 'frozen') socket.cork();
  });
  const stop = power.onChange((state) => {
    for (const socket of sockets) {
      if (state === 'off') socket.resetAndDestroy();
      else if (state === 'frozen') socket.cork();
      else socket.uncork();
    }
    if (state === 'off') server.close();
  });
  server.once('close', stop);
  return power.hold(() => Promise.resolve(listening));
}
