import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { Gate } from '../../../chain/gate/gate.ts';
import { seededRandom } from '../../../formats/random.ts';
import { shownUrl } from '../../../formats/shown-url.ts';
import { createApiServer } from '../../../node/api/listen.ts';
import type { MemoryFrame } from '../../../node/p2p/memory-link.ts';
import { memoryHost, refusedBy, serveInMemory } from '../../base/memory-servers.ts';
import { serveHere } from '../../flavours/tampered/control.ts';
import type { SaidMessage, SimulationView } from '../driver.ts';
import { EmbeddedHost, type Surroundings } from '../embedded/host.ts';
import { linksOf, type NetworkShape } from '../links/regions.ts';
import { FrameDigest } from './frame-digest.ts';
import { FrameLog } from './frame-log.ts';
import { Oddities } from './odd/oddities.ts';
import { VirtualTime } from './virtual-time.ts';

const FIRST_PORT = 8545;
const LAST_FRAMES = 40;
/** Enough to tell the contents of two frames apart. */
const CONTENT_DIGITS = 16;

/**
 * Of each client from outside, both ways. If requests took no time, a load that begins the next one when the last has ended
 * would never come to the next instant.
 */
const CLIENT_LATENCY_MS = 2;
const CLIENT_BYTES_PER_MS = 65_536;

interface Noted {
  readonly ms: number;
  readonly frame: MemoryFrame;
}

interface SimulationOptions {
  readonly name: string;
  readonly seed: string;
  /** A line per frame; absent: none. */
  readonly frameLog?: string;
  readonly network?: NetworkShape | undefined;
  readonly odd?: ConstructorParameters<typeof Oddities>[0];
}

export class Simulation implements SimulationView, AsyncDisposable {
  readonly time = new VirtualTime();
  readonly host: EmbeddedHost;
  readonly odd: Oddities;
  readonly #options: SimulationOptions;
  readonly #starts = new Map<string, number>();
  readonly #serving = new Set<Disposable>();
  readonly #gates = new Map<string, Gate>();
  readonly #frames = new FrameDigest();
  readonly #frameLog: FrameLog | undefined;
  readonly #last: Noted[] = [];
  #noted = 0;
  readonly #listeners = new Set<(message: SaidMessage) => void>();
  #port = FIRST_PORT;

  constructor(options: SimulationOptions) {
    this.#options = options;
    if (options.frameLog !== undefined) this.#frameLog = new FrameLog(options.frameLog);
    const { time } = this;
    const { seed, network } = options;
    this.odd = new Oddities(options.odd, seed, {
      defer: time.defer,
      nameOf: (peerId) => this.host.nameOf(peerId),
    });
    this.host = new EmbeddedHost(options.name, time.clock, {
      links: network && linksOf(network, seed),
      serve: serveHere,
      network: {
        defer: time.defer,
        observe: (frame) => this.#note(frame),
        windowOf: this.odd.windowOf,
      },
      relay: this.odd.relay,
      platform: (node) => this.#surroundings(node),
    });
  }

  get digest(): string {
    return this.#frames.hex();
  }

  /** Oldest first. */
  get lastFrames(): string[] {
    const next = this.#noted % LAST_FRAMES;
    return [...this.#last.slice(next), ...this.#last.slice(0, next)].map((one) => this.#lineOf(one));
  }

  setPace(pace: Parameters<SimulationView['setPace']>[0]): void {
    pace?.begin(this.time.ms);
    this.time.pace = pace;
  }

  pairs(): readonly (readonly [string, string])[] {
    return this.host.pairs();
  }

  onMessage(listener: (message: SaidMessage) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  flush(): void {
    this.#frameLog?.flush();
  }

  hostName(part: string): string {
    return memoryHost(part, this.#options.name);
  }

  /** Nodes reach it at its URL's host, until disposed. */
  offerChain(gate: Gate): Disposable {
    const { host } = new URL(gate.url);
    this.#gates.set(host, gate);
    return { [Symbol.dispose]: () => void this.#gates.delete(host) };
  }

  readonly listen = async (
    server: Server,
    { host, port }: { host: string; port: number },
  ): Promise<number> => {
    const given = port === 0 ? this.#port++ : port;
    this.#serve(server, host, given);
    return given;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close();
    for (const one of this.#serving) one[Symbol.dispose]();
    this.time[Symbol.dispose]();
    this.#frameLog?.[Symbol.dispose]();
  }

  #surroundings(node: string): ReturnType<Surroundings['platform']> {
    const { time } = this;
    const start = String(this.#countStart(node));
    return this.odd.surroundings(node, start, {
      clock: time.clock,
      random: seededRandom(this.#options.seed, node, start),
      defer: time.defer,
      readText: (path) => time.real(() => readFile(path, 'utf8')),
      chain: (url) => this.#endpoint(new URL(url)),
      listen: async (listener, address, deps) => {
        const api = createApiServer(listener, deps);
        const port = Number(address.slice(address.lastIndexOf(':') + 1));
        const serving = this.#serve(api.server, this.hostName(node), port);
        return { address, close: async () => serving[Symbol.dispose]() };
      },
    });
  }

  #serve(server: Server, host: string, port: number): Disposable {
    const { time } = this;
    const served = serveInMemory(server, host, port, {
      begin: () => time.waiting(),
      carry: (bytes, arrive) =>
        void time.clock.timer(CLIENT_LATENCY_MS + bytes / CLIENT_BYTES_PER_MS, arrive),
    });
    const serving: Disposable = {
      [Symbol.dispose]: () => {
        // A killed node's server never closes, and would be kept with all that it serves.
        this.#serving.delete(serving);
        served[Symbol.dispose]();
      },
    };
    this.#serving.add(serving);
    server.once('close', () => serving[Symbol.dispose]());
    return serving;
  }

  /** Without a connection: nodes ask their chain once a block, most of what happens at rest. */
  #endpoint({ href, host, pathname }: URL) {
    // Parts read from a URL are cut out anew each time.
    const place = { host, pathname };
    return {
      shown: shownUrl(href),
      post: async (text: string, deadline: { readonly signal: AbortSignal }) => {
        const gate = this.#gates.get(host);
        if (gate === undefined) throw refusedBy(host);
        return gate.known(place, text) ?? gate.ask(place, text, deadline.signal);
      },
      close: () => undefined,
    };
  }

  #note(frame: MemoryFrame): void {
    const { ms } = this.time;
    const { kind, from, to, protocolId, bytes } = frame;
    this.#frames.add(`${ms} ${kind} ${from} ${to} ${protocolId} ${bytes.length} `, bytes);
    this.#last[this.#noted++ % LAST_FRAMES] = { ms, frame };
    this.#frameLog?.write(this.#lineOf({ ms, frame }));
    // A single byte is the empty headers of a stream.
    if (kind === 'data' && bytes.length > 1) this.#tell(frame);
  }

  #tell({ from, to, protocolId, bytes }: MemoryFrame): void {
    this.time.pace?.message();
    if (this.#listeners.size === 0) return;
    const [sender, receiver] = [from, to].map((peerId) => this.host.nameOf(peerId) ?? peerId);
    const said = {
      from: sender as string,
      to: receiver as string,
      protocol: protocolId,
      bytes: bytes.length,
    };
    for (const listener of this.#listeners) listener({ at: this.time.clock.now(), ...said });
  }

  #lineOf({ ms, frame: { kind, from, to, protocolId, bytes } }: Noted): string {
    const [sender, receiver] = [from, to].map((peerId) => this.host.nameOf(peerId) ?? peerId);
    const about = protocolId === '' ? '' : ` ${protocolId}`;
    const content =
      bytes.length === 0 ? '' : ` ${bytes.length} bytes ${hash('sha256', bytes).slice(0, CONTENT_DIGITS)}`;
    return `${ms} ms ${sender} -> ${receiver} ${kind}${about}${content}`;
  }

  #countStart(node: string): number {
    const start = (this.#starts.get(node) ?? 0) + 1;
    this.#starts.set(node, start);
    return start;
  }
}
