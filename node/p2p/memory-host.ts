/**
 * Nodes of one process, without sockets or timers. `peer-host.ts` runs above it with real messages. Bytes arrive in the
 * order in which they were written.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Power } from '../env/power.ts';
import { ownIdentity } from './address/identity-key.ts';
import { DEFAULT_CARRIERS, peerIdOf, underlayOf, withoutPeerId } from './address/underlay.ts';
import { type Host, HostError, StreamError } from './host.ts';
import type { HostDeps, HostOptions } from './host-options.ts';
import { type MemoryFrame, MemoryLink, WINDOW_DEFAULT } from './memory-link.ts';
import { createPeerHost } from './peer-host.ts';
import type { Link, LinkEvents, Transport } from './transport.ts';

/** Ports of diallers, and of listeners on port 0. */
const FIRST_DIALLER_PORT = 49_152;
const DIALLER_PORTS = 16_384;
const FIRST_FREE_PORT = 20_000;

const NOTHING = new Uint8Array(0);

export interface MemoryNetworkOptions {
  readonly observe?: (frame: MemoryFrame) => void;
  /** Runs deliveries later, in order. Without it everything arrives in the turn in which it was sent. */
  readonly defer?: (deliver: () => void) => void;
  /** Default: all frames arrive. */
  readonly carrier?: Carrier;
  /** Gets frames before the carrier. Default: none. */
  readonly relay?: MemoryRelay | undefined;
  /** Unread bytes of a stream before its writer waits. Default: as on a real connection. */
  readonly windowOf?: ((peerId: string) => number | undefined) | undefined;
}

export interface MemoryRelay {
  /** @param connection known by this object from now on @param dialler peer id */
  opened(connection: object, dialler: string, dialled: string): void;
  /** Told at least once. */
  closed(connection: object): void;
  /** @param send lets it go on: with other bytes, later, more than once or never */
  pass(frame: MemoryFrame, send: (frame: MemoryFrame) => void): void;
}

/** Decides when frames arrive, and whether. */
export interface Carrier {
  /** True while everything arrives at once: the carrier need not be called. */
  readonly idle: boolean;
  /** @param refuse tells a dialler that no node is there */
  carry(frame: MemoryFrame, arrive: () => void, refuse: () => void): void;
  /** Resolves when there is room between two peer ids; undefined when there is. */
  room(from: string, to: string): Promise<void> | undefined;
}

/** Two nodes that are connected, by their peer ids. */
export interface MemoryPair {
  readonly dialler: string;
  readonly dialled: string;
  reset(): void;
}

export class MemoryNetwork {
  readonly #options: MemoryNetworkOptions;
  readonly #listeners = new Map<string, MemoryTransport>();
  #dialled = 0;
  #nextPort = FIRST_FREE_PORT;

  constructor(options: MemoryNetworkOptions = {}) {
    this.#options = options;
  }

  /** @param address port 0 takes a free one @returns the address in use @throws RangeError when it is taken */
  listen(address: string, transport: MemoryTransport): string {
    const at = address.endsWith('/tcp/0') ? this.#free(address.slice(0, -1)) : address;
    if (this.#listeners.has(at)) throw new RangeError(`${at} is taken`);
    this.#listeners.set(at, transport);
    return at;
  }

  /** A dialler's port: different each time. */
  port(): number {
    return FIRST_DIALLER_PORT + (this.#dialled++ % DIALLER_PORTS);
  }

  get delays(): boolean {
    return this.#options.carrier?.idle === false;
  }

  leave(address: string, transport: MemoryTransport): void {
    if (this.#listeners.get(address) === transport) this.#listeners.delete(address);
  }

  at(address: string): MemoryTransport | undefined {
    return this.#listeners.get(address);
  }

  get relay(): MemoryRelay | undefined {
    return this.#options.relay;
  }

  carry(
    frame: MemoryFrame,
    deliver: (bytes: Uint8Array) => void,
    refuse: () => void = () => undefined,
  ): void {
    const { observe, relay } = this.#options;
    observe?.(frame);
    if (relay === undefined) this.#send(frame, deliver, refuse);
    else relay.pass(frame, (passed) => this.#send(passed, deliver, refuse));
  }

  #send(frame: MemoryFrame, deliver: (bytes: Uint8Array) => void, refuse: () => void): void {
    const { carrier } = this.#options;
    const arrive = () => deliver(frame.bytes);
    if (carrier === undefined || carrier.idle) this.#arrive(arrive);
    else carrier.carry(frame, () => this.#arrive(arrive), refuse);
  }

  room(from: string, to: string): Promise<void> | undefined {
    const { carrier } = this.#options;
    return carrier === undefined || carrier.idle ? undefined : carrier.room(from, to);
  }

  windowOf(peerId: string): number {
    return this.#options.windowOf?.(peerId) ?? WINDOW_DEFAULT;
  }

  pairs(): MemoryPair[] {
    return Array.from(this.#listeners.values(), (transport) => transport.dialled()).flat();
  }

  #arrive(deliver: () => void): void {
    if (this.#options.defer === undefined) deliver();
    else this.#options.defer(deliver);
  }

  #free(withoutPort: string): string {
    while (this.#listeners.has(`${withoutPort}${this.#nextPort}`)) this.#nextPort++;
    return `${withoutPort}${this.#nextPort++}`;
  }
}

export interface MemoryHostDeps extends HostDeps {
  readonly network: MemoryNetwork;
  readonly power?: Power;
}

export function createMemoryHost(options: HostOptions, deps: MemoryHostDeps): Host {
  const { identity } = deps;
  const { carriers = DEFAULT_CARRIERS } = options;
  const given = [
    ...(carriers.includes('tcp') ? [] : ['--p2p-tcp-enable false']),
    ...carriers.filter((carrier) => carrier !== 'tcp').map((carrier) => `--p2p-${carrier}-enable`),
  ];
  if (given.length > 0) {
    throw new HostError('LISTEN_FAILED', `nodes in memory have no sockets: leave out ${given.join(' and ')}`);
  }
  const listen = underlayOf(options.listen).replace('/ip4/0.0.0.0/', '/ip4/127.0.0.1/');
  const advertised = options.natAddress === undefined ? undefined : underlayOf(options.natAddress);
  const transport = new MemoryTransport({ localId: ownIdentity(identity).peerId, listen, advertised }, deps);
  return createPeerHost(options, { ...deps, transport });
}

interface Where {
  readonly localId: string;
  /** Multiaddress. */
  readonly listen: string;
  readonly advertised: string | undefined;
}

class MemoryTransport implements Transport {
  readonly localId: string;
  readonly #where: Where;
  readonly #network: MemoryNetwork;
  readonly #power: Power | undefined;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #links = new Set<MemoryLink>();
  readonly #knocking = new Set<(reason: Error) => void>();
  #address: string;
  #events: LinkEvents | undefined;

  constructor(where: Where, { network, power, clock }: Pick<MemoryHostDeps, 'network' | 'power' | 'clock'>) {
    this.#clock = clock;
    this.localId = where.localId;
    this.#where = where;
    this.#address = where.listen;
    this.#network = network;
    this.#power = power;
    power?.onChange((state) => {
      if (state === 'off') this.#vanish();
    });
  }

  addresses(): string[] {
    if (this.#events === undefined) return [];
    return [this.#where.advertised ?? this.#address];
  }

  async start(events: LinkEvents): Promise<void> {
    if (this.#power?.state === 'off') return;
    try {
      this.#address = this.#network.listen(this.#where.listen, this);
    } catch (cause) {
      const why = `cannot listen on ${this.#where.listen}: address already in use`;
      throw new HostError('LISTEN_FAILED', why, { cause });
    }
    this.#events = events;
  }

  async dial(underlay: string, signal: AbortSignal): Promise<Link> {
    const other = await this.#reach(underlay, signal);
    // Either side may have gone meanwhile.
    if (this.#events === undefined) throw new HostError('HOST_CLOSED', 'the host is closed');
    if (other.#events === undefined) throw new HostError('DIAL_FAILED', `nobody listens at ${underlay}`);
    const here = this.#link(other, { direction: 'outbound', remoteAddress: other.#address });
    here.twin = other.#link(this, {
      direction: 'inbound',
      remoteAddress: this.#address.replace(/\d+$/, String(this.#network.port())),
    });
    here.twin.twin = here;
    this.#network.relay?.opened(here.connection, this.localId, other.localId);
    other.#opened(here.twin);
    this.#opened(here);
    return here;
  }

  /** Takes the carrier's time; none without one. */
  async probe(underlay: string, signal: AbortSignal): Promise<number> {
    const startedAt = this.#clock.monotonic();
    await this.#reach(underlay, signal);
    return this.#network.delays ? this.#clock.monotonic() - startedAt : 0;
  }

  dialled(): MemoryPair[] {
    return Array.from(this.#links)
      .filter(({ direction }) => direction === 'outbound')
      .map((link) => ({
        dialler: this.localId,
        dialled: link.remoteId,
        reset: () => link.break(new StreamError('STREAM_RESET', 'the connection was reset')),
      }));
  }

  async stop(): Promise<void> {
    if (this.#events === undefined) return;
    this.#network.leave(this.#address, this);
    for (const link of this.#links) link.close(new StreamError('STREAM_RESET', 'the host is closed'));
    this.#refuseKnocking();
    this.#events = undefined;
  }

  /** Later when the node is frozen, never when it is off. */
  receive(work: () => void): void {
    if (this.#power === undefined) work();
    else this.#power.run(work);
  }

  /** A frozen side answers when it is thawed. */
  #reach(underlay: string, signal: AbortSignal): Promise<MemoryTransport> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const other = this.#find(underlay);
      const over = (settle: () => void) => {
        signal.removeEventListener('abort', onAbort);
        other.#knocking.delete(refused);
        this.receive(settle);
      };
      const onAbort = () => over(() => reject(signal.reason as Error));
      const refused = (reason: Error) => over(() => reject(reason));
      signal.addEventListener('abort', onAbort, { once: true });
      other.#knocking.add(refused);
      const frame = {
        kind: 'dial',
        from: this.localId,
        to: other.localId,
        protocolId: '',
        bytes: NOTHING,
      } as const;
      this.#network.carry(
        frame,
        () => other.receive(() => other.#knocking.has(refused) && over(() => resolve(other))),
        () => refused(other.#nobody()),
      );
    });
  }

  #find(underlay: string): MemoryTransport {
    const expected = peerIdOf(underlay);
    const address = withoutPeerId(underlay).replace(/^\/dns[46]?\/localhost\//, '/ip4/127.0.0.1/');
    const other = this.#network.at(address);
    if (this.#events === undefined) throw new HostError('HOST_CLOSED', 'the host is closed');
    if (other === undefined) throw new HostError('DIAL_FAILED', `nobody listens at ${address}`);
    if (other === this) throw new HostError('SELF_DIAL', 'that is our own address');
    if (expected !== undefined && other.localId !== expected) {
      throw new HostError('DIAL_FAILED', `another node listens at ${address}`);
    }
    return other;
  }

  /** The other nodes see their links break. */
  #vanish(): void {
    this.#network.leave(this.#address, this);
    this.#refuseKnocking();
    this.#events = undefined;
    for (const link of this.#links) {
      this.#network.relay?.closed(link.connection);
      link.vanish();
    }
    this.#links.clear();
  }

  #refuseKnocking(): void {
    for (const refuse of this.#knocking) refuse(this.#nobody());
  }

  #nobody(): HostError {
    return new HostError('DIAL_FAILED', `nobody listens at ${this.#address}`);
  }

  #link(other: MemoryTransport, seen: Pick<Link, 'direction' | 'remoteAddress'>): MemoryLink {
    const end = { remoteId: other.localId, listensAt: other.addresses()[0] ?? other.#address, ...seen };
    return new MemoryLink(end, {
      window: this.#network.windowOf(this.localId),
      supports: (protocolId) => this.#events?.supports(protocolId) ?? false,
      accepted: (link, protocolId, stream) => this.#events?.accepted(link, protocolId, stream),
      closed: (link) => {
        this.#network.relay?.closed(link.connection);
        if (this.#links.delete(link)) this.#events?.closed(link);
      },
      receive: (work) => this.receive(work),
      room: () => this.#network.room(this.localId, other.localId),
      send: ({ kind, protocolId = '', bytes = NOTHING, conversation }, deliver) => {
        const frame = { kind, from: this.localId, to: other.localId, protocolId, bytes, conversation };
        this.#network.carry(frame, (arrived) => other.receive(() => deliver(arrived)));
      },
    });
  }

  #opened(link: MemoryLink): void {
    this.#links.add(link);
    this.receive(() => this.#events?.opened(link));
  }
}
