/**
 * One container per part, on a network of their own: nodes find each other and the chain by name, this
 * machine finds them on published ports. Nothing is mounted from this machine's disk, so the engine may be on
 * another machine.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { pickFreePorts } from '../../base/machine/ports.ts';
import { programPath } from '../../base/machine/programs.ts';
import type { PlannedFile } from '../../flavours/flavour.ts';
import {
  CHAIN_HEALTH_PATH,
  CHAIN_PORTS,
  DATA_FOLDER,
  LISTEN,
  NODE_PORTS,
  probe,
} from '../../flavours/inside-image.ts';
import {
  type Capability,
  type ChainPart,
  type ChainUrls,
  capabilitiesWith,
  type Driver,
  type Handle,
  type ImageWatch,
  LINK_PROXY,
  type LinkProxyPart,
  type Part,
  type Started,
} from '../driver.ts';
import { proxyPort } from '../link-proxy.ts';
import { remoteLinks } from '../links/proxy/remote.ts';
import type { DriverOptions } from '../options.ts';
import { archiveOf } from './archive.ts';
import { CONFINED, containerSpec, UNPRIVILEGED } from './container.ts';
import type { ContainerSpec } from './engine/documents.ts';
import { Engine, engineAddress, engineError, remoteEngine, statusOf, unless } from './engine/engine.ts';
import { namedImage, ownImage } from './image.ts';
import { proxyContainer } from './link-proxy.ts';
import { containerLog } from './log.ts';
import { limitMemory } from './memory.ts';
import { labelsOf, partName, partOf } from './names.ts';
import { Networks } from './networks.ts';
import { ContainerObserver, listContainers } from './observer.ts';
import { removeAll, stopAll, stopContainer } from './removal.ts';
import { usageOf } from './usage.ts';

type DockerDriverOptions = Pick<
  DriverOptions,
  'stopWithParent' | 'token' | 'name' | 'folder' | 'listen' | 'linkFaults' | 'isAgain'
>;

/**
 * A container's clock and disk cannot be manipulated without privileges, and its links only through a proxy.
 */
export const DOCKER_CAPABILITIES: ReadonlySet<Capability> = new Set<Capability>(['kill', 'pause', 'memory']);
/** Folder of a node's data in its volume, whose root belongs to the image's user. */
const NODE_FOLDER = 'node';
const CHAIN_FOLDER = 'chain';
const OPTIONS_FILE = 'options.json';
const STATE_FOLDER = 'state';
/** How long an ending process waits for the removal of its containers; the guard removes what is left. */
const EXIT_REMOVAL_MS = 60_000;
/** For a program that only prints its help. */
const PROGRAM_TIMEOUT_MS = 60_000;
const LOOPBACK = '127.0.0.1';

export function createDockerDriver(options: DockerDriverOptions): Driver {
  const { token, folder, listen, isAgain = false } = options;
  const engine = new Engine();
  const observer = new ContainerObserver(engine, token);
  let image: ReturnType<typeof ownImage> | undefined;
  const networks = new Networks(engine, options);
  let guard: ChildProcess | undefined;

  /** Asked once; after a failure, which may be temporary, again. */
  function imageOf(watch: ImageWatch): ReturnType<typeof ownImage> {
    image ??= ownImage(engine, watch).catch((error: unknown) => {
      image = undefined;
      throw error;
    });
    return image;
  }

  /** Replaces the container of an earlier attempt, with its data. */
  async function createContainer(
    spec: ContainerSpec & { readonly name: string },
    files: { readonly folder: string; readonly files: readonly PlannedFile[] },
  ): Promise<void> {
    if (options.stopWithParent) guard ??= spawnGuard(token);
    await networks.shared();
    const archive = await archiveOf(files.folder, files.files);
    await engine.ask(async (docker) => {
      const create = () => docker.createContainer(spec);
      const container = await create().catch(async (error: unknown) => {
        if (statusOf(error) !== 409) throw error;
        await unless([404], docker.container(spec.name).remove());
        await unless([404], docker.removeVolume(spec.name));
        return create();
      });
      await container.putArchive(archive, DATA_FOLDER);
    });
  }

  /** @throws HarnessError `PORT_IN_USE`, `PROCESS_FAILED` */
  async function startContainer(part: string): Promise<Handle> {
    const name = partName(options, part);
    try {
      return await engine.ask(async (docker) => {
        const container = docker.container(name);
        await unless([304], container.start());
        const { Id, State } = await container.inspect();
        return { container: Id, startedAt: State.StartedAt };
      });
    } catch (error) {
      throw startError(error, part, name);
    } finally {
      observer.forget();
    }
  }

  async function startChain({ options: given }: ChainPart): Promise<Started> {
    // It has its options and its state.
    if (isAgain) return { handle: await startContainer('chain') };
    const [control = 0, free = 0] = await pickFreePorts(2);
    const { rpc: port, control: controlPort } = CHAIN_PORTS;
    const ports = [
      { inside: port, outside: given['port'] === 0 ? free : Number(given['port']) },
      { inside: controlPort, outside: control, at: controlAddress() },
    ];
    const hosts = ['chain', reachedAt(listen), reachedAt(controlAddress())].filter((host) => !isIPv4(host));
    const document = {
      ...given,
      host: LISTEN,
      controlHost: LISTEN,
      port,
      controlPort,
      allowedHosts: [...hosts, ...[given['allowedHosts'] ?? []].flat()],
      stopOnStdinEnd: false,
      // A restarted container continues where it was: otherwise its nodes would miss what is gone.
      stateFolder: `${DATA_FOLDER}/${CHAIN_FOLDER}/${STATE_FOLDER}`,
    };
    const { id } = await imageOf(UNWATCHED);
    await createContainer(
      containerSpec({
        owner: options,
        part: 'chain',
        image: id,
        listen,
        ports,
        command: {
          entrypoint: ['node', 'chain/main.ts'],
          args: [`${DATA_FOLDER}/${CHAIN_FOLDER}/${OPTIONS_FILE}`],
          // Anvil's temporary files are removed with the volume.
          env: { TMPDIR: `${DATA_FOLDER}/${CHAIN_FOLDER}` },
          health: probe(controlPort, CHAIN_HEALTH_PATH),
        },
      }),
      { folder: CHAIN_FOLDER, files: [{ path: OPTIONS_FILE, content: JSON.stringify(document) }] },
    );
    return { handle: await startContainer('chain') };
  }

  async function createProxy(given: LinkProxyPart['options']): Promise<void> {
    const [control = 0] = await pickFreePorts(1);
    const { command, folder: inside, files } = proxyContainer(given, { control, token });
    const { id } = await imageOf(UNWATCHED);
    await createContainer(
      containerSpec({
        owner: options,
        part: LINK_PROXY,
        image: id,
        listen,
        ports: [{ inside: control, outside: control, at: controlAddress() }],
        command,
      }),
      { folder: inside, files },
    );
    await networks.connectProxy();
  }

  /** @throws HarnessError `PORT_IN_USE`, `PROCESS_FAILED` */
  async function startProxy({ options: given }: LinkProxyPart): Promise<Started> {
    if (!isAgain) await createProxy(given);
    const log = containerLog(engine, partName(options, LINK_PROXY));
    const since = await log.end();
    const handle = await startContainer(LINK_PROXY);
    const ended = async () => (await observer.observe(String(handle['container']))).state === 'gone';
    return { handle: { ...handle, control: await proxyPort(log, since, ended) } };
  }

  /**
   * Access to a control endpoint means control of the chain or of the links: it is for this machine alone,
   * wherever the nodes listen.
   */
  function controlAddress(): string {
    return remoteEngine() === undefined ? LOOPBACK : listen;
  }

  /** After any change, earlier observations are out of date. */
  async function change<T>(handle: Handle, work: (id: string) => Promise<T>): Promise<T> {
    try {
      return await work(String(handle['container']));
    } finally {
      observer.forget();
    }
  }

  function url(port: number, at = listen): string {
    return `http://${reachedAt(at)}:${port}`;
  }

  return {
    name: 'docker',
    capabilities: capabilitiesWith(DOCKER_CAPABILITIES, { ...options, machineFaults: false }),
    proxied: options.linkFaults,

    links: (proxy) =>
      remoteLinks(url(Number(proxy?.['control']), controlAddress()), { token, knowsDiallers: true }),

    place({ name, ports }) {
      const debug = ports.debug === ports.api ? NODE_PORTS.api : NODE_PORTS.debug;
      const own = { host: name, port: NODE_PORTS.p2p };
      return {
        api: url(ports.api),
        debug: url(ports.debug),
        p2p: { host: reachedAt(listen), port: ports.p2p },
        // The proxy has an address of its own, so its ports there are free: those of this machine are distinct.
        ...(options.linkFaults
          ? { peers: { host: LINK_PROXY, port: ports.p2p }, behind: own }
          : { peers: own }),
        listen: LISTEN,
        ports: { ...NODE_PORTS, debug },
        dataDir: `${DATA_FOLDER}/${NODE_FOLDER}`,
        hosts: [name, reachedAt(listen)].filter((host) => !isIPv4(host)),
        container: partName(options, name),
      };
    },

    async placeChain(reported) {
      const name = partName(options, 'chain');
      const { NetworkSettings } = await engine.ask((docker) => docker.container(name).inspect());
      const published = (inside: number) => {
        const { HostIp: at, HostPort: port } = NetworkSettings.Ports[`${inside}/tcp`]?.[0] ?? {};
        if (port !== undefined) return url(Number(port), at);
        throw new HarnessError('CHAIN_FAILED', `${name} has ended: its port ${inside} is not published`, {
          hint: `Its log: svcnet logs chain --name ${options.name}`,
        });
      };
      const inside = (port: number) => `http://chain:${port}`;
      return { here: chainUrls(reported, published), nodes: chainUrls(reported, inside) };
    },

    async images(names, watch) {
      const { detail } = await imageOf(watch);
      for (const name of names) await namedImage(engine, name, watch);
      return [detail, ...names].join(', ');
    },

    runImage: (name, args) => runProgram(engine, { image: name, args, labels: labelsOf(options) }),

    // The image contains everything its nodes share.
    prepare: () => Promise.resolve(),

    async create(plan, flavour, ports) {
      if (isAgain) return;
      const command = flavour.containerCommand({ dataDir: plan.dataDir, apiPort: plan.ports.api });
      const own = plan.image === undefined ? await imageOf(UNWATCHED) : undefined;
      const mayBypass = options.linkFaults && flavour.learnsListeners;
      const published = [...new Set(Object.values(ports))].map((outside) => {
        const which = (['api', 'p2p', 'debug'] as const).find((key) => ports[key] === outside) ?? 'api';
        return { inside: plan.ports[which], outside };
      });
      await createContainer(
        containerSpec({
          owner: options,
          part: plan.name,
          ...(mayBypass ? { network: await networks.ownOf(plan.name) } : {}),
          image: own?.id ?? String(plan.image),
          command,
          listen,
          ports: published,
          resources: plan.resources,
        }),
        { folder: NODE_FOLDER, files: await flavour.files(plan) },
      );
    },

    async start(part: Part): Promise<Started> {
      if (part.kind === 'chain') return startChain(part);
      if (part.kind === 'link-proxy') return startProxy(part);
      return { handle: await startContainer(part.name) };
    },

    stop: (handle, graceMs) => change(handle, (id) => stopContainer(engine, id, graceMs)),

    kill: (handle) =>
      change(handle, (id) =>
        engine.ask(async (docker) => {
          const container = docker.container(id);
          // 409: it is not running.
          await unless([404, 409], container.kill());
          await unless([404], container.ended());
        }),
      ),

    limitMemory: (handle, bytes) => limitMemory(engine, String(handle['container']), bytes),

    pause: (handle) =>
      change(handle, (id) => engine.ask((docker) => unless([404, 409], docker.container(id).pause()))),

    resume: (handle) =>
      change(handle, (id) => engine.ask((docker) => unless([404, 409, 500], docker.container(id).unpause()))),

    observe: (handle) => observer.observe(String(handle['container'])),

    async stats(handle) {
      const { state } = await observer.observe(String(handle['container']));
      if (state === 'gone') return {};
      const id = String(handle['container']);
      return usageOf(await engine.ask((docker) => docker.container(id).stats()));
    },

    logs: ({ name }) => containerLog(engine, partName(options, name)),

    async gatherLogs() {
      // The cluster has been removed, its containers with it.
      if (!existsSync(folder)) return;
      const logs = join(folder, 'logs');
      mkdirSync(logs, { recursive: true });
      const parts = (await listContainers(engine, token)).map(({ Labels }) => partOf(Labels));
      await Promise.all(
        parts
          .filter((part) => part !== '')
          .map(async (part) => {
            const lines = await containerLog(engine, partName(options, part)).tail(Number.POSITIVE_INFINITY);
            writeFileSync(join(logs, `${part}.log`), lines.map((line) => `${line}\n`).join(''));
          }),
      );
    },

    async halt(_cluster, graceMs) {
      const halted = await stopAll(engine, token, graceMs);
      observer.forget();
      return halted;
    },

    async dispose(_cluster, graceMs) {
      const disposed = await removeAll(engine, token, graceMs);
      guard?.kill('SIGKILL');
      guard = undefined;
      observer.forget();
      return disposed;
    },

    disposeNow() {
      spawnSync(process.execPath, [programPath('harness/places/docker/guard'), '1'], {
        env: guardEnvironment(token),
        input: '',
        timeout: EXIT_REMOVAL_MS,
      });
    },

    close: () => Promise.resolve(),
  };
}

const UNWATCHED: ImageWatch = { onProgress: () => undefined };

function chainUrls({ gate }: ChainUrls, urlOf: (port: number) => string): ChainUrls {
  return {
    rpc: urlOf(CHAIN_PORTS.rpc),
    control: urlOf(CHAIN_PORTS.control),
    ...(gate === undefined ? {} : { gate: urlOf(CHAIN_PORTS.rpc) }),
  };
}

/** @param listen address of the engine's machine @throws HarnessError when this machine cannot reach it */
function reachedAt(listen: string): string {
  const remote = remoteEngine();
  if (remote === undefined) return listen === LISTEN ? LOOPBACK : listen;
  if (!listen.startsWith('127.')) return listen === LISTEN ? remote : listen;
  throw new HarnessError(
    'ENGINE_FAILED',
    `${engineAddress()} is another machine: what it publishes at ${listen} cannot be reached from here`,
    { hint: 'Publish it at an address that can be, with listen: 0.0.0.0 in the definition.' },
  );
}

function startError(error: unknown, part: string, container: string): HarnessError {
  const message = messageOf(error);
  if (/port is already allocated|address already in use/.test(message)) {
    const port = /:(\d+)(?: failed|: bind)/.exec(message)?.[1];
    return new HarnessError(
      'PORT_IN_USE',
      `${port === undefined ? 'a port' : `port ${port}`} that ${part} is to be published on is in use`,
      { cause: error, hint: message },
    );
  }
  if (statusOf(error) === undefined && error instanceof HarnessError) return error;
  return new HarnessError('PROCESS_FAILED', `${container} cannot be started: ${message}`, { cause: error });
}

async function runProgram(
  engine: Engine,
  { image, args, labels }: { image: string; args: readonly string[]; labels: Record<string, string> },
): Promise<string> {
  return engine.ask(async (docker) => {
    const container = await docker.createContainer({
      Image: image,
      Cmd: [...args],
      User: UNPRIVILEGED,
      Labels: labels,
      HostConfig: { NetworkMode: 'none', ...CONFINED },
      NetworkDisabled: true,
    });
    try {
      await container.start().catch((error: unknown) => {
        throw new HarnessError(
          'BINARY_INVALID',
          `image ${image} cannot run '${args.join(' ')}': ${messageOf(engineError(error))}`,
          { cause: error },
        );
      });
      await container.ended(AbortSignal.timeout(PROGRAM_TIMEOUT_MS));
      return (await containerLog(engine, container.id).tail(Number.POSITIVE_INFINITY)).join('\n');
    } finally {
      await unless([404, 409], container.remove());
    }
  });
}

/** Arguments are for all users of the machine to read, the environment is not. */
function guardEnvironment(token: string): NodeJS.ProcessEnv {
  return { ...process.env, SVC_GUARD_TOKEN: token };
}

/** Its standard input closes when this process ends, however it ends. */
function spawnGuard(token: string): ChildProcess {
  const guard = spawn(process.execPath, [programPath('harness/places/docker/guard')], {
    env: guardEnvironment(token),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => guard.stdin?.destroy());
  guard.stdin?.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}
