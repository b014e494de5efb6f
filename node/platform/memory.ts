/**
 * A node among others in one process. Its clock, randomness, keys, log and disk are its owner's, its peers are on a
 * network in memory, and only its API, and what it asks the chain, use sockets; each of these can be replaced.
 *
 * The owner has power over the running node without its help:
 *
 * - `cut` is a power cut, or `kill -9`. From the moment of the call no timer fires, no message leaves or arrives, no write
 *   reaches the disk, and no line the log. Links break without a goodbye, ports are free. What the store had acknowledged
 *   stays on the disk, and a new node can start on it. The promise of `startNode`, or of `stop`, may never settle.
 * - `freeze` and `thaw` are SIGSTOP and SIGCONT. Requests, bytes of peers, answers of the chain, timers that come due and
 *   writes wait, and go on in the order in which they came. Where this differs from a process: code that is just running
 *   goes on until it waits for something; a connection in memory that is silent is never given up by the other side; the
 *   HTTP parser reads the head of a request, and Node.js drops a connection whose head does not come within seconds.
 * - An error that the node does not catch is its crash: it is cut, and `onCrash` is told. Errors of timers, peers and
 *   requests come here by themselves; those of promises that nobody looks at, after `containCrashes`.
 *
 * One platform is for one start of a node, as a process is.
 */
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { type Listener, type Listening, listen } from '../api/listen.ts';
import { type Clock, systemClock } from '../env/clock.ts';
import { createLogger } from '../env/logger.ts';
import { Power, poweredClock } from '../env/power.ts';
import { type Random, systemRandom } from '../env/random.ts';
import { SharedResults } from '../env/shared-results.ts';
import type { ChainEndpoint } from '../onchain/rpc.ts';
import { createMemoryHost, MemoryNetwork, type MemoryNetworkOptions } from '../p2p/memory-host.ts';
import { createMemoryStore, type MemoryDisk } from '../store/memory-store.ts';
import type { NodeKeys, Platform } from './platform.ts';

export interface MemoryOptions {
  readonly keys: NodeKeys;
  /** Where the peers are; `tcp` for a node whose peers are not all in this process. */
  readonly host: MemoryNetwork | 'tcp';
  /** What the node keeps; with a folder it is kept by LMDB. */
  readonly store: MemoryDisk | { readonly folder: string };
  /** What it has in common with other nodes of this process. Default: nothing, it computes all by itself. */
  readonly shared?: SharedResults | undefined;
  /** Told of an error that ended the node. Default: nobody, the node is gone. */
  readonly onCrash?: (error: unknown) => void;
  /** Takes the lines of the log, each with its end. Default: nobody. */
  readonly log?: (line: string) => void;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: the system's. */
  readonly random?: Random;
  /** Default: JSON-RPC over HTTP to the URL of the options. */
  readonly chain?: (url: string) => ChainEndpoint;
  /** Opens the listeners of the API. Default: sockets. */
  readonly listen?: Platform['listen'];
  /** Runs what the node has to write after other work. Default: in the next turn of the event loop. */
  readonly defer?: (work: () => void) => void;
}

/** A platform that its owner can switch off. */
export interface MemoryPlatform extends Platform {
  readonly state: Power['state'];
  /** Takes effect at once. Resolves when files and ports are given back; nothing in memory has to be waited for. */
  cut(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Runs `work`, such as the start of the node, as code of this node: what fails because of it is its crash. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Loads only what the options ask for. */
export async function memoryPlatform(options: MemoryOptions): Promise<MemoryPlatform> {
  const { keys, log = () => undefined, defer = nextTurn } = options;
  const power = new Power(options.onCrash ?? (() => undefined), options.shared);
  const clock = poweredClock(options.clock ?? systemClock(), power);
  const chain = options.chain ?? (await import('../onchain/http-endpoint.ts')).httpEndpoint;
  return {
    clock,
    random: options.random ?? systemRandom(),
    logger: (settings, deps) =>
      createLogger(settings, { ...deps, destination: { write: (line) => power.run(() => log(line)) } }),
    keys: () => power.hold(() => Promise.resolve(keys)),
    readText: (path) => power.hold(() => readFile(path, 'utf8')),
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
    freeze: () => power.freeze(),
    thaw: () => power.thaw(),
    run: (work) => power.hold(work),
  };
}

/**
 * An error that nobody catches ends the node it comes from instead of the process, until this is disposed. One that comes
 * from no node is left to other listeners, such as a test runner's; without any it ends the process.
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

/** How often that is in force: as many listeners to each event are ours. */
let containing = 0;

/** To throw here would end the process with a code that says nothing of the error. */
function end(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

/**
 * A network on which what is sent in one turn of the event loop arrives in the next one: however much the nodes have to
 * say, everything else in the process gets its turn.
 */
export function memoryNetwork(
  options: Pick<MemoryNetworkOptions, 'observe' | 'carrier'> = {},
): MemoryNetwork {
  let sent: (() => void)[] = [];
  const flush = () => {
    const arriving = sent;
    sent = [];
    for (const deliver of arriving) deliver();
  };
  return new MemoryNetwork({
    ...options,
    defer(deliver) {
      if (sent.push(deliver) === 1) setImmediate(flush);
    },
  });
}

/** For the nodes of one process that may have them in common. */
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

/** What a frozen node has to tell waits; what one has that is gone is lost. */
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

/** A frozen node accepts connections and sends nothing. */
async function listenOnSockets(
  power: Power,
  listener: Listener,
  address: string,
  deps: { readonly clock: Clock },
): Promise<Listening> {
  const listening = await listen(poweredListener(listener, power), address, deps);
  const { server } = listening;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
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
