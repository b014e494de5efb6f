/** Our nodes and the chain in virtual time in this process, without sockets: the same seed gives the same run. */
import { enableCompileCache } from 'node:module';
import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { fileLog, type PartLog } from '../../base/logs/file-log.ts';
import type { Flavour, NodePlan } from '../../flavours/flavour.ts';
import { type Counts, writeTampered } from '../../flavours/tampered/settings.ts';
import type { DriverOptions } from '../driver.ts';
import {
  type Capabilities,
  type ChainUrls,
  type ClusterParts,
  type Disposed,
  type Driver,
  type Handle,
  type Observed,
  type Part,
  type Place,
  type SimulationView,
  type Site,
  type Started,
  type Stats,
  type StoredPart,
} from '../driver.ts';
import { writeEmbedded } from '../embedded/node-file.ts';
import type { DriverName } from '../facts.ts';
import type { LinkControl } from '../links/rules.ts';
import type { TapControl } from '../links/tap/events.ts';
import { type SimulatedChain, startSimulatedChain } from './chain.ts';
import { framesFile } from './frame-log.ts';
import { Simulation } from './simulation.ts';

const FIRST_PORT = 1633;

interface Running {
  readonly simulation: Simulation;
  chain: SimulatedChain | undefined;
  readonly places: string[];
}

const simulations = new Map<string, Running>();

export class SimulatedDriver implements Driver {
  readonly name: DriverName = 'simulated';
  readonly can: Capabilities;
  readonly #options: DriverOptions;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.can = { kill: this, pause: this, data: this, linkFaults: this, tap: options.tap ? this : undefined };
    if (options.machineFaults) this.can = { ...this.can, clock: true, disk: true, power: this };
  }

  get clock(): Clock {
    return this.#running().simulation.time.outside;
  }

  get digest(): string {
    return this.#running().simulation.digest;
  }

  get lastFrames(): readonly string[] {
    return this.#running().simulation.lastFrames;
  }

  get simulation(): SimulationView | undefined {
    return simulations.get(this.#options.token)?.simulation;
  }

  links(): LinkControl {
    const { host } = this.#running().simulation;
    return {
      knowsDiallers: true,
      begin: (id, rule) => host.beginLinkRule(id, rule),
      effect: (id) => host.linkEffect(id),
      end: (id) => host.endLinkRule(id),
    };
  }

  tap(): TapControl {
    return this.#running().simulation.host;
  }

  /** Ports follow the nodes' order: messages must not depend on the machine. */
  place({ name, dataDir }: Site): Place {
    const { simulation, places } = this.#running();
    if (!places.includes(name)) places.push(name);
    const p2p = FIRST_PORT + 3 * places.indexOf(name);
    const host = simulation.hostName(name);
    const dialled = { host: '127.0.0.1', port: p2p };
    return {
      api: `http://${host}:${p2p + 1}`,
      debug: `http://${host}:${p2p + 2}`,
      p2p: dialled,
      peers: dialled,
      listen: '127.0.0.1',
      ports: { p2p, api: p2p + 1, debug: p2p + 2 },
      dataDir,
      hosts: [host],
    };
  }

  async placeChain(reported: ChainUrls): Promise<{ here: ChainUrls; nodes: ChainUrls }> {
    return { here: reported, nodes: reported };
  }

  async prepare(): Promise<void> {
    const { time, host } = this.#running().simulation;
    enableCompileCache(this.#options.compileCache('embedded'));
    // Loading code takes real time, which must not pass here.
    await time.real(() => host.prepare());
  }

  async create(plan: NodePlan, flavour: Flavour): Promise<void> {
    if (flavour.embedded === undefined) throw notSimulated(plan.name, flavour);
    const { embedded, tap } = this.#options;
    const { options, keys } = flavour.embedded(plan);
    const odd = this.#running().simulation.odd.options(plan.name, options);
    writeEmbedded(plan.dataDir, {
      keys,
      // What a definition says itself stays.
      options: { ...options, ...odd, ...plan.options },
      transport: 'memory',
      store: 'memory',
      shareResults: embedded.shareResults,
      tap,
      overlay: plan.identity.overlay,
    });
    if (plan.tampered !== undefined) writeTampered(plan.dataDir, plan.tampered);
  }

  async start(part: Part): Promise<Started> {
    const running = this.#running();
    const { simulation } = running;
    if (part.kind === 'node') {
      const start = await simulation.host.start(part);
      return { handle: { node: part.name, start } };
    }
    if (part.kind !== 'chain') throw new HarnessError('PROCESS_FAILED', 'simulated nodes need no link proxy');
    running.chain = await startSimulatedChain(simulation, part);
    return { handle: { chain: 1 } };
  }

  async stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }> {
    const there = this.#node(handle);
    if (there === undefined) {
      await this.#endChain();
      return { forced: false };
    }
    const { host, time, node, start } = there;
    return { forced: await time.during(host.stop(node, start, graceMs)) };
  }

  async kill(handle: Handle): Promise<void> {
    const there = this.#node(handle);
    if (there === undefined) return this.#endChain();
    await there.host.kill(there.node, there.start);
  }

  async cutPower(handle: Handle, torn: number): Promise<Counts> {
    const there = this.#node(handle);
    return there === undefined ? {} : there.time.during(there.host.cutPower(there.node, there.start, torn));
  }

  async pause(handle: Handle): Promise<boolean> {
    const there = this.#node(handle);
    return (await there?.host.pause(there.node, there.start)) ?? false;
  }

  async resume(handle: Handle): Promise<boolean> {
    const there = this.#node(handle);
    return (await there?.host.resume(there.node, there.start)) ?? false;
  }

  async observe(handle: Handle): Promise<Observed> {
    const running = simulations.get(this.#options.token);
    if (running === undefined) return { state: 'gone' };
    if (handle['node'] === undefined) return { state: running.chain === undefined ? 'gone' : 'running' };
    return running.simulation.host.observe(String(handle['node']), Number(handle['start']));
  }

  onChange(listener: () => void): Disposable {
    return this.#running().simulation.host.onChange(listener);
  }

  wipe({ name }: StoredPart): Promise<void> {
    return this.#running().simulation.host.wipe(name);
  }

  damage({ name }: StoredPart, chunks: number): Promise<number> {
    return this.#running().simulation.host.damage(name, chunks);
  }

  holds(node: string, address: string): boolean {
    return this.#running().simulation.host.holds(node, address);
  }

  async stats(): Promise<Stats> {
    return {};
  }

  logs({ log }: { readonly log: string }): PartLog {
    return fileLog(log);
  }

  async gatherLogs(): Promise<void> {
    simulations.get(this.#options.token)?.simulation.flush();
  }

  async dispose({ token, parts }: ClusterParts): Promise<Disposed> {
    const running = simulations.get(token);
    simulations.delete(token);
    if (running === undefined) return { stopped: [], forced: [] };
    await running.chain?.stop();
    await running.simulation[Symbol.asyncDispose]();
    return { stopped: parts.map(({ name }) => name).toSorted(), forced: [] };
  }

  disposeNow(): void {}

  async close(): Promise<void> {}

  #running(): Running {
    const { token, name, seed, folder, frames, network, odd } = this.#options;
    const running = simulations.get(token) ?? {
      simulation: new Simulation({
        name,
        seed,
        network,
        odd,
        ...(frames ? { frameLog: framesFile(folder) } : {}),
      }),
      chain: undefined,
      places: [],
    };
    simulations.set(token, running);
    return running;
  }

  #node(handle: Handle) {
    if (handle['node'] === undefined) return undefined;
    const { host, time } = this.#running().simulation;
    return { host, time, node: String(handle['node']), start: Number(handle['start']) };
  }

  async #endChain(): Promise<void> {
    const running = this.#running();
    const { chain } = running;
    running.chain = undefined;
    await chain?.stop();
    running.simulation.host.changed();
  }
}

function notSimulated(node: string, { name }: Flavour): HarnessError {
  return new HarnessError('USAGE', `${node}: a node of flavour ${name} cannot be simulated`);
}
