/** Peers and, by default, stores are in memory; APIs are on loopback. */
import type { Clock } from '../../../formats/clock.ts';
import type { MemoryNetworkOptions, MemoryRelay } from '../../../node/p2p/memory-host.ts';
import type { MemoryOptions, MemoryPlatform } from '../../../node/platform/memory.ts';
import { HarnessError } from '../../base/errors.ts';
import type { Counts, ServeControl } from '../../flavours/tampered/settings.ts';
import type { Observed } from '../driver.ts';
import type { LastingLinks, LinkEffect, LinkRule } from '../links/rules.ts';
import { HostedNode, type Tearing } from './hosted-node.ts';
import { MemoryDisks } from './memory-disks.ts';
import { MemoryLinks } from './memory-links.ts';
import { type EmbeddedNode, readEmbedded } from './node-file.ts';
import { NodeLogs } from './node-logs.ts';
import { loadPrograms, loadTampering, type Programs, tamperedWith } from './programs.ts';
import { watchLoop } from './watchdog.ts';

type MemoryTap = InstanceType<Programs['MemoryTap']>;

export interface HostedPart {
  readonly name: string;
  readonly dataDir: string;
  readonly log: string;
}

export interface Surroundings {
  /** Default: all arrives at once. */
  readonly links?: LastingLinks | undefined;
  readonly network: Pick<MemoryNetworkOptions, 'observe' | 'windowOf'> &
    Required<Pick<MemoryNetworkOptions, 'defer'>>;
  /** What all that is said passes. @param tap hears it */
  readonly relay: (tap: MemoryRelay | undefined) => MemoryRelay | undefined;
  readonly serve: ServeControl;
  readonly platform: (
    node: string,
  ) => Required<Pick<MemoryOptions, 'clock' | 'random' | 'chain' | 'listen' | 'defer' | 'readText'>> &
    Pick<MemoryOptions, 'limits'>;
}

export class EmbeddedHost {
  readonly #cluster: string;
  readonly #clock: Clock;
  readonly #surroundings: Surroundings | undefined;
  readonly #hosted = new Map<string, HostedNode>();
  readonly #disks = new MemoryDisks();
  readonly #logs: NodeLogs;
  readonly #starting = new Map<string, Promise<number>>();
  readonly #names = new Map<string, string>();
  readonly #overlays = new Map<string, string>();
  readonly #links: MemoryLinks;
  #tap: MemoryTap | undefined;
  #programs: Promise<Programs> | undefined;
  #network: ReturnType<Programs['memoryNetwork']> | undefined;
  #shared: ReturnType<Programs['sharedResults']> | undefined;
  #guards: readonly Disposable[] | undefined;
  readonly #listeners = new Set<() => void>();
  #starts = 0;
  #closed = false;

  constructor(cluster: string, clock: Clock, surroundings?: Surroundings) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#surroundings = surroundings;
    this.#logs = new NodeLogs(clock);
    this.#links = new MemoryLinks({
      clock,
      nameOf: (peerId) => this.nameOf(peerId),
      pairs: () => this.#network?.pairs() ?? [],
      lasting: surroundings?.links,
    });
  }

  nameOf(peerId: string): string | undefined {
    return this.#names.get(peerId);
  }

  pairs(): (readonly [string, string])[] {
    return (this.#network?.pairs() ?? []).flatMap(({ dialler, dialled }) => {
      const [from, to] = [this.nameOf(dialler), this.nameOf(dialled)];
      return from === undefined || to === undefined ? [] : [[from, to] as const];
    });
  }

  async prepare(): Promise<void> {
    this.#programs ??= loadPrograms();
    await this.#programs;
    // What a simulation loads later takes a machine's time.
    if (this.#surroundings !== undefined) await loadTampering();
  }

  /** @returns which start of the node this is @throws HarnessError `PROCESS_FAILED` when it runs already */
  async start(part: HostedPart): Promise<number> {
    const { name } = part;
    if (this.#starting.has(name) || this.#hosted.get(name)?.isRunning === true) {
      throw new HarnessError('PROCESS_FAILED', `${name} runs already`);
    }
    const starting = this.#startOne(part);
    this.#starting.set(name, starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(name);
    }
  }

  /** `null`: none runs. One that has just begun is waited for. */
  async startOf(name: string): Promise<number | null> {
    await Promise.allSettled([this.#starting.get(name)]);
    const node = this.#hosted.get(name);
    return node?.isRunning === true ? node.start : null;
  }

  /** @returns whether it had to be cut off; false also if it was gone */
  async stop(name: string, start: number, graceMs: number): Promise<boolean> {
    return (await this.#running(name, start)?.stop(graceMs)) ?? false;
  }

  async kill(name: string, start: number): Promise<void> {
    await this.#running(name, start)?.kill();
  }

  async cutPower(name: string, start: number, torn: number): Promise<Counts> {
    const overlays = this.#overlays;
    const tear: Tearing = async (random) =>
      torn === 0
        ? {}
        : { 'confirmed slots torn': await this.#disks.tear(name, { count: torn, overlays, random }) };
    return (await this.#running(name, start)?.cutPower(tear)) ?? {};
  }

  async pause(name: string, start: number): Promise<boolean> {
    return this.#running(name, start)?.pause() ?? false;
  }

  async resume(name: string, start: number): Promise<boolean> {
    return this.#running(name, start)?.resume() ?? false;
  }

  async observe(name: string, start: number): Promise<Observed> {
    return this.#started(name, start)?.observe() ?? { state: 'gone' };
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** A part of the cluster may be observed differently now. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  beginLinkRule(id: string, rule: LinkRule): Promise<void> {
    return this.#links.begin(id, rule);
  }

  linkEffect(id: string): Promise<LinkEffect> {
    return this.#links.effect(id);
  }

  endLinkRule(id: string): Promise<void> {
    return this.#links.end(id);
  }

  async tapped(...[after, raw]: Parameters<MemoryTap['tapped']>): ReturnType<MemoryTap['tapped']> {
    return this.#tap?.tapped(after, raw) ?? { events: [], next: 0, missed: 0 };
  }

  async beginMessages(...[id, rule]: Parameters<MemoryTap['beginMessages']>): Promise<void> {
    return this.#expectTap().beginMessages(id, rule);
  }

  async messageEffect(id: string): ReturnType<MemoryTap['messageEffect']> {
    return this.#expectTap().messageEffect(id);
  }

  async endMessages(id: string): Promise<void> {
    return this.#tap?.endMessages(id);
  }

  async saveDisk(name: string, dataDir: string): Promise<void> {
    this.#disks.save(name, dataDir);
  }

  async wipe(name: string): Promise<void> {
    await this.#hosted.get(name)?.cut();
    this.#disks.discard(name);
  }

  damage(name: string, chunks: number): Promise<number> {
    return this.#disks.damage(name, chunks);
  }

  holds(name: string, address: string): boolean {
    return this.#disks.holds(name, address);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // Together: none reacts to the end of another.
    for (const node of this.#hosted.values()) node.pause();
    await Promise.all(Array.from(this.#hosted.values(), (node) => node.kill()));
    for (const guard of this.#guards ?? []) guard[Symbol.dispose]();
    this.#guards = undefined;
    this.#disks.clear();
    this.#logs.close();
    this.#hosted.clear();
  }

  #started(name: string, start: number): HostedNode | undefined {
    const node = this.#hosted.get(name);
    return node?.start === start ? node : undefined;
  }

  #running(name: string, start: number): HostedNode | undefined {
    const node = this.#started(name, start);
    return node?.isRunning === true ? node : undefined;
  }

  async #startOne(part: HostedPart): Promise<number> {
    this.#programs ??= loadPrograms();
    const { startNode, optionsOf, ...programs } = await this.#programs;
    const settings = readEmbedded(part.dataDir);
    // Resources of an earlier start are released before this one takes them.
    await this.#hosted.get(part.name)?.cut();
    this.#expectOpen(part);
    this.#guards ??= [
      programs.containCrashes(),
      ...(this.#surroundings === undefined ? [watchLoop(this.#cluster)] : []),
    ];
    const platform = await this.#platformFor(part, settings, programs, (error) =>
      node.fail('the node has crashed', error),
    );
    const options = () => optionsOf(settings.options);
    const node: HostedNode = new HostedNode({
      clock: this.#clock,
      start: ++this.#starts,
      platform,
      tampered: await tamperedWith(platform, part.dataDir, {
        options,
        serve: this.#surroundings?.serve,
        // A machine's power does not fail.
        disk: this.#surroundings && this.#disks.get(part.name),
      }),
      onFailed: (message, error) => this.#logs.report(part, message, error),
      onChange: () => this.changed(),
    });
    this.#hosted.set(part.name, node);
    this.changed();
    if (this.#closed) await node.kill();
    this.#expectOpen(part);
    void node.live((surroundings, signal) => startNode(options(), surroundings, signal));
    return node.start;
  }

  #platformFor(
    part: HostedPart,
    { keys, transport, store, shareResults, tap, overlay }: EmbeddedNode,
    programs: Omit<Programs, 'startNode' | 'optionsOf'>,
    onCrash: (error: unknown) => void,
  ): Promise<MemoryPlatform> {
    if (tap) this.#tap ??= this.#newTap(programs);
    this.#network ??= programs.memoryNetwork({
      carrier: this.#links,
      relay: this.#surroundings === undefined ? this.#tap : this.#surroundings.relay(this.#tap),
      ...this.#surroundings?.network,
    });
    this.#overlays.set(overlay, part.name);
    this.#names.set(programs.ownIdentity(keys.libp2p).peerId, part.name);
    if (shareResults) this.#shared ??= programs.sharedResults();
    const disk = this.#disks.of(part, programs.MemoryDisk);
    return programs.memoryPlatform({
      ...this.#surroundings?.platform(part.name),
      keys,
      host: transport === 'tcp' ? 'tcp' : this.#network,
      store: store === 'disk' ? { folder: `${part.dataDir}/store` } : disk,
      shared: shareResults ? this.#shared : undefined,
      log: (line) => this.#logs.write(part, line),
      onCrash,
    });
  }

  #newTap({ MemoryTap }: Pick<Programs, 'MemoryTap'>): MemoryTap {
    return new MemoryTap({
      clock: this.#clock,
      nameOf: (peerId) => this.nameOf(peerId),
      names: { ofOverlay: (hex) => this.#overlays.get(hex) ?? hex },
    });
  }

  #expectTap(): MemoryTap {
    if (this.#tap === undefined) throw new HarnessError('PROCESS_FAILED', 'no node with a tap has started');
    return this.#tap;
  }

  #expectOpen({ name }: HostedPart): void {
    if (this.#closed) throw new HarnessError('PROCESS_FAILED', `${name}: the cluster is being stopped`);
  }
}
