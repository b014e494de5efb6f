/**
 * One container per part, on their own network: nodes use names, this machine uses published ports. Nothing is mounted, so
 * the engine may be remote.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PartLog } from '../../base/logs/file-log.ts';
import { makeFolder } from '../../base/own-folder.ts';
import type { Flavour, NodePlan, NodePorts } from '../../flavours/flavour.ts';
import {
  type Capabilities,
  type ChainUrls,
  type ClusterParts,
  type Disposed,
  type Driver,
  type DriverOptions,
  type Handle,
  type ImageWatch,
  LINK_PROXY,
  type LinkProxyPart,
  type Observed,
  type Part,
  type Place,
  type Site,
  type Started,
  type Stats,
} from '../driver.ts';
import { proxyPort } from '../link-proxy.ts';
import { type ProxyControl, remoteLinks } from '../links/proxy/remote.ts';
import type { RouteControl } from '../links/proxy/routes.ts';
import type { LinkControl } from '../links/rules.ts';
import { controlAddress, urlAt } from './addresses.ts';
import { containerSpec, type PartContainer } from './container.ts';
import { createContainer, limitMemory, startContainer, stopContainer } from './containers.ts';
import type { Container } from './engine/docker.ts';
import { Engine, unless } from './engine/engine.ts';
import { succeedOnce } from './engine/succeed-once.ts';
import { namedImage, ownImage, runProgram } from './image.ts';
import { containerLog } from './log.ts';
import { labelsOf, networkName, type Owner, ownedBy, partName, partOf } from './names.ts';
import { ContainerObserver, listContainers } from './observer.ts';
import { chainContainer, placeChain } from './parts/chain.ts';
import { proxyContainer } from './parts/link-proxy.ts';
import { nodeContainer, placeNode } from './parts/node.ts';
import { removeAll, removeNow, removePart, spawnGuard, stopAll } from './removal.ts';
import { usageOf } from './usage.ts';

type DockerDriverOptions = Pick<
  DriverOptions,
  'clock' | 'stopWithParent' | 'token' | 'name' | 'folder' | 'listen' | 'linkFaults' | 'isAgain'
>;

const UNWATCHED: ImageWatch = { onProgress: () => undefined };

export class DockerDriver implements Driver {
  readonly name = 'docker';
  readonly can: Capabilities;
  readonly routes: Driver['routes'];
  readonly #options: DockerDriverOptions;
  readonly #engine = new Engine();
  readonly #image = succeedOnce((watch: ImageWatch = UNWATCHED) => ownImage(this.#engine, watch));
  readonly #networks: Networks;
  readonly #observer: ContainerObserver;
  #guard: ChildProcess | undefined;
  readonly images = {
    ready: async (names, watch) => {
      const { detail } = await this.#image(watch);
      for (const name of names) await namedImage(this.#engine, name, watch);
      return [detail, ...names].join(', ');
    },
    run: (image, args) => runProgram(this.#engine, { image, args, labels: labelsOf(this.#options) }),
  } satisfies Driver['images'];

  constructor(options: DockerDriverOptions) {
    this.#options = options;
    const linkFaults = options.linkFaults ? this : undefined;
    this.can = { kill: this, pause: this, memory: this, linkFaults };
    this.routes = options.linkFaults ? (proxy) => this.#routes(proxy) : undefined;
    this.#networks = new Networks(this.#engine, options);
    this.#observer = new ContainerObserver(this.#engine, options);
  }

  links(proxy: Handle | undefined): LinkControl {
    return this.#linkProxy(proxy);
  }

  #linkProxy(proxy: Handle | undefined): ProxyControl {
    const { token, listen } = this.#options;
    const control = urlAt(controlAddress(listen), Number(proxy?.['control']));
    return remoteLinks(control, { token, knowsDiallers: true });
  }

  #routes(proxy: Handle | undefined): RouteControl {
    const links = this.#linkProxy(proxy);
    return {
      route: async (routes) => {
        await this.#networks.connectProxy();
        return links.route(routes);
      },
      unroute: (nodes) => links.unroute(nodes),
    };
  }

  place(site: Site): Place {
    return placeNode(site, this.#options);
  }

  placeChain(reported: ChainUrls): ReturnType<Driver['placeChain']> {
    return placeChain(reported, this.#engine, this.#options);
  }

  async prepare(): Promise<void> {}

  create(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void> {
    return this.#create(() => this.#nodeContainer(plan, flavour, ports));
  }

  async remake(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<void> {
    // Its log goes with the container, and those of earlier ones are kept.
    await this.#gatherLogs((part) => part === plan.name, { ending: '.log.1', flag: 'a' });
    await this.#changing(this.#create(() => this.#nodeContainer(plan, flavour, ports), true));
  }

  async #nodeContainer(plan: NodePlan, flavour: Flavour, ports: NodePorts): Promise<PartContainer> {
    const mayBypass = this.#options.linkFaults && flavour.learnsListeners;
    return {
      ...(await nodeContainer(plan, flavour, ports)),
      network: mayBypass ? await this.#networks.ownOf(plan.name) : undefined,
    };
  }

  async start(part: Part): Promise<Started> {
    const { listen } = this.#options;
    if (part.kind === 'link-proxy') return this.#startProxy(part);
    if (part.kind === 'chain' && this.#options.isAgain !== true) {
      await this.#create(() => chainContainer(part.options, listen));
    }
    return { handle: await this.#start(part.name) };
  }

  async #startProxy(part: LinkProxyPart): Promise<Started> {
    if (this.#options.isAgain !== true) {
      await this.#create(() => proxyContainer(part.options, this.#options));
      await this.#networks.connectProxy();
    }
    const log = this.logs(part);
    const since = await log.end();
    const handle = await this.#start(LINK_PROXY);
    const { clock } = this.#options;
    const hasEnded = async () => (await this.observe(handle)).state === 'gone';
    return { handle: { ...handle, control: await proxyPort(log, since, { clock, hasEnded }) } };
  }

  async #create(container: () => Promise<PartContainer>, keepsData = false): Promise<void> {
    const part = await container();
    const image = part.image ?? (await this.#image()).id;
    if (this.#options.stopWithParent) this.#guard ??= spawnGuard(this.#options.token);
    await this.#networks.shared();
    const spec = containerSpec(part, image, this.#options);
    await createContainer(this.#engine, spec, { files: part.files, keepsData });
  }

  #start(part: string): Promise<Handle> {
    return this.#changing(startContainer(this.#engine, this.#options, part));
  }

  stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }> {
    return this.#changing(stopContainer(this.#engine, idOf(handle), graceMs));
  }

  async kill(handle: Handle): Promise<void> {
    const killed = this.#ask(handle, async (container) => {
      await unless([404, 409], container.kill());
      await unless([404], container.ended());
    });
    await this.#changing(killed);
  }

  pause(handle: Handle): Promise<boolean> {
    return this.#changing(this.#ask(handle, (container) => unless([404, 409], container.pause())));
  }

  resume(handle: Handle): Promise<boolean> {
    return this.#changing(this.#ask(handle, (container) => unless([404, 409, 500], container.unpause())));
  }

  limitMemory(handle: Handle, bytes: number): Promise<number> {
    return this.#ask(handle, (container) => limitMemory(container, bytes));
  }

  observe(handle: Handle): Promise<Observed> {
    return this.#observer.observe(idOf(handle));
  }

  async stats(handle: Handle): Promise<Stats> {
    const { state } = await this.observe(handle);
    return state === 'gone' ? {} : usageOf(await this.#ask(handle, (container) => container.stats()));
  }

  /** After any change, earlier observations are out of date. */
  async #changing<T>(change: Promise<T>): Promise<T> {
    try {
      return await change;
    } finally {
      this.#observer.forget();
    }
  }

  #ask<T>(handle: Handle, work: (container: Container) => Promise<T>): Promise<T> {
    return this.#engine.ask((docker) => work(docker.container(idOf(handle))));
  }

  logs({ name }: { readonly name: string }): PartLog {
    return containerLog(this.#engine, partName(this.#options, name));
  }

  gatherLogs(): Promise<void> {
    return this.#gatherLogs((part) => part !== '');
  }

  async #gatherLogs(
    isMeant: (part: string) => boolean,
    { ending, flag } = { ending: '.log', flag: 'w' },
  ): Promise<void> {
    const { folder, token } = this.#options;
    if (!existsSync(folder)) return;
    const logs = join(folder, 'logs');
    makeFolder(logs);
    const parts = (await listContainers(this.#engine, token)).map(({ Labels }) => partOf(Labels));
    await Promise.all(
      parts.filter(isMeant).map(async (name) => {
        const lines = await this.logs({ name }).tail(Number.POSITIVE_INFINITY);
        writeFileSync(join(logs, `${name}${ending}`), lines.map((line) => `${line}\n`).join(''), { flag });
      }),
    );
  }

  halt(_cluster: ClusterParts, graceMs: number): Promise<Disposed> {
    return this.#changing(stopAll(this.#engine, this.#options.token, graceMs));
  }

  async find(node: string): Promise<readonly Handle[]> {
    const containers = await listContainers(this.#engine, this.#options.token);
    return containers
      .filter(({ Labels }) => partOf(Labels) === node)
      .map(({ Id }) => ({ container: Id, startedAt: '' }));
  }

  async remove(node: string): Promise<void> {
    // Its log would go with it.
    await this.#gatherLogs((part) => part === node);
    await this.#changing(removePart(this.#engine, this.#options, node));
  }

  async dispose(_cluster: ClusterParts, graceMs: number): Promise<Disposed> {
    const disposed = await this.#changing(removeAll(this.#engine, this.#options.token, graceMs));
    this.#guard?.kill('SIGKILL');
    this.#guard = undefined;
    return disposed;
  }

  disposeNow(): void {
    removeNow(this.#options.token);
  }

  async close(): Promise<void> {}
}

function idOf(handle: Handle): string {
  return String(handle['container']);
}

/**
 * One network for all containers and, with a link proxy, one for each node that would dial past it: engines pass nothing
 * from one network to another.
 */
class Networks {
  readonly #engine: Engine;
  readonly #owner: Owner;
  readonly shared = succeedOnce(() => this.#create(networkName(this.#owner)));

  constructor(engine: Engine, owner: Owner) {
    this.#engine = engine;
    this.#owner = owner;
  }

  async ownOf(part: string): Promise<string> {
    const name = await this.#create(partName(this.#owner, part));
    await this.#connect('chain', [name]);
    return name;
  }

  /** After nodes were created: before the proxy starts, or before it is told about them. */
  async connectProxy(): Promise<void> {
    const filters = ownedBy(this.#owner.token);
    const all = await this.#engine.ask((docker) => docker.networks(filters));
    const shared = networkName(this.#owner);
    await this.#connect(
      LINK_PROXY,
      all.map(({ Name }) => Name).filter((name) => name !== shared),
    );
  }

  async #connect(part: string, networks: readonly string[]): Promise<void> {
    const container = partName(this.#owner, part);
    await this.#engine.ask((docker) =>
      Promise.all(networks.map((name) => unless([403], docker.connectNetwork(name, container, [part])))),
    );
  }

  async #create(name: string): Promise<string> {
    await this.#engine.ask((docker) => unless([409], docker.createNetwork(name, labelsOf(this.#owner))));
    return name;
  }
}
