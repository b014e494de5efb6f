/**
 * A node among others in one process. Its owner provides its clock, randomness, keys, log and disk, its peers
 * are on a network in memory, and only its API and its chain queries use sockets; each of these can be
 * replaced.
 *
 * The owner can control the running node without its help:
 *
 * - `cut` is a power cut, or `kill -9`. From the moment of the call no timer fires, no message leaves or arrives, no write
 *   reaches the disk, and no line the log. Links break without a goodbye, ports are freed. What the store had
 *   acknowledged stays on the disk, and a new node can start on it. The promise of `startNode`, or of `stop`,
 *   may never settle.
 * - `freeze` and `thaw` are SIGSTOP and SIGCONT. Requests, bytes from peers, answers from the chain, due
 *   timers and writes wait, and continue in the order in which they came. This differs from a process: code
 *   that is running continues until it waits for something; the other side never gives up a silent connection
 *   in memory; the HTTP parser reads the head of a request, and Node.js drops a connection whose head does
 *   not come within seconds.
 * - An error that the node does not catch is its crash: it is cut, and `onCrash` is called. Errors of timers,
 *   peers and requests are caught by themselves; those of unhandled promises, after `containCrashes`.
 *
 * Nothing of the node keeps the process alive: that is for the program that the node lives in, which holds it by what it
 * waits for.
 *
 * Like a process, one platform serves one start of a node.
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
import type { NodeKeys, Platform } from './platform.ts';

export interface MemoryOptions {
  readonly keys: NodeKeys;
  /** Where the peers are; `tcp` for a node whose peers are not all in this process. */
  readonly host: MemoryNetwork | 'tcp';
  /** The node's storage; with a folder, LMDB stores it. */
  readonly store: MemoryDisk | { readonly folder: string };
  /** Results shared with other nodes of this process. Default: none, it computes everything itself. */
  readonly shared?: SharedResults | undefined;
  /** Called with an error that ended the node. Default: no one is told, the node is gone. */
  readonly onCrash?: (error: unknown) => void;
  /** Takes the lines of the log, each with its line end. Default: discarded. */
  readonly log?: (line: string) => void;
  /** Default: the system's, whose timers do not keep the process alive. */
  readonly clock?: Clock;
  /** Default: the system's. */
  readonly random?: Random;
  /** Default: JSON-RPC over HTTP to the URL of the options. */
  readonly chain?: (url: string) => ChainEndpoint;
  /** Opens the listeners of the API. Default: sockets. */
  readonly listen?: Platform['listen'];
  /** Reads a file that an option names. Default: from this machine's disk. */
  readonly readText?: Platform['readText'];
  /** Runs the node's deferred writes after other work. Default: in the next turn of the event loop. */
  readonly defer?: (work: () => void) => void;
}

/** A platform that its owner can switch off. */
export interface MemoryPlatform extends Platform {
  readonly state: Power['state'];
  /**
   * Takes effect at once. Resolves when files and ports are released; nothing in memory has to be waited for.
   */
  cut(): Promise<void>;
  /**
   * The same after so many more pieces of work: timers that fire, frames, requests and answers that arrive, writes.
   * Between two of them nothing that the node does can be seen from outside. Resolves when it is off.
   */
  cutAfter(pieces: number): Promise<void>;
  freeze(): void;
  thaw(): void;
  /**
   * Runs `work`, such as the start of the node, as code of this node: an uncaught error caused by it is its
   * crash.
   */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Loads only what the options ask for. */
export async function memoryPlatform(options: MemoryOptions): Promise<MemoryPlatform> {
  const { keys, log = () => undefined, defer = nextTurn } = options;
  const { readText = (path: string) => readFile(path, 'utf8') } = options;
  const power = new Power(options.onCrash ?? (() => undefined), options.shared);
  const clock = poweredClock(options.clock ?? systemClock({ keepsProcess: false }), power);
  const chain = options.chain ?? (await import('../onchain/http-endpoint.ts')).httpEndpoint;
  return {
    clock,
    random: options.random ?? systemRandom(),
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
 * Until disposed, an uncaught error ends the node it comes from instead of the process. One that comes from
 * no node is left to other listeners, such as a test runner's; without any it ends the process.
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

/** How many of these are active: we have this many listeners for each event. */
let containing = 0;

/** Throwing here would end the process with a code that says nothing about the error. */
function end(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

/**
 * A network on which frames sent in one turn of the event loop arrive in the next one: however much the nodes
 * send, everything else in the process gets its turn.
 */
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

/** For nodes of one process that may share results. */
export function sharedResults(): SharedResults {
  SharedResults.findBy(() => Power.current()?.shared);
  return new SharedResults();
}

function nextTurn(work: () => void): void {
  setImmediate(work);
}

async function openStore(
  { store }: MemoryOptions,
  power: Power,
  defer: (work: () => void) => void,
): Promise<Platform['store']> {
  if (!('folder' in store)) {
    return (options, deps) =>
      power.hold(() => createMemoryStore(options, { ...deps, disk: store, power, defer }));
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
    post: (request, signal) => power.hold(() => endpoint.post(request, signal)),
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
