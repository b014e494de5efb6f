/** One operating-system process per part on this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reachableHost } from '../../chain/listen.ts';
import { HarnessError, messageOf, systemHint } from '../base/errors.ts';
import { fileLog, type PartLog } from '../base/logs/file-log.ts';
import type { Bundle } from '../base/machine/bundle.ts';
import { compile, currentBundle, isSameProgram, type Launch, launchOf } from '../base/machine/compile.ts';
import {
  type Command,
  endProcess,
  isAlive,
  killProcess,
  labelled,
  type ProcessId,
  pauseProcess,
  type Spawned,
  signalGroup,
  spawnProgram,
  stateOf,
  usageOf,
} from '../base/machine/processes.ts';
import { expectOptionsOfNodes, programPath } from '../base/machine/programs.ts';
import { makeFolder, ownPath } from '../base/own-folder.ts';
import type { Flavour, NodePlan, NodePorts } from '../flavours/flavour.ts';
import { svcProgram, tamperedProgram } from '../flavours/svc-program.ts';
import { flipOnDisk } from '../flavours/tampered/flip.ts';
import { removeTampered } from '../flavours/tampered/settings.ts';
import type {
  Address,
  Capabilities,
  ChainUrls,
  ClusterParts,
  Disposed,
  Driver,
  DriverOptions,
  Exit,
  Handle,
  Observed,
  Part,
  Place,
  Site,
  Started,
  Stats,
  StoredPart,
} from './driver.ts';
import type { DriverName } from './facts.ts';
import { proxyPort } from './link-proxy.ts';
import { type ProxyControl, remoteLinks } from './links/proxy/remote.ts';
import type { LinkControl } from './links/rules.ts';
import type { TapControl } from './links/tap/events.ts';

const ORPHAN_GRACE_S = 5;

type ProcessDriverOptions = Pick<
  DriverOptions,
  'clock' | 'stopWithParent' | 'listen' | 'compileCache' | 'token' | 'linkFaults' | 'machineFaults' | 'tap'
>;

const HELPER_GRACE_MS = 300;

export class ProcessDriver implements Driver {
  readonly name: DriverName = 'process';
  readonly routes: Driver['routes'];
  readonly #options: ProcessDriverOptions;
  readonly #guards = new Map<number, ChildProcess>();
  readonly #exits = new Map<string, Exit>();
  /** By folder: all nodes that this process starts use one per program. */
  readonly #bundles = new Map<string, Bundle>();

  constructor(options: ProcessDriverOptions) {
    this.#options = options;
    const isProxied = options.linkFaults || options.tap;
    this.routes = isProxied ? (proxy) => this.#linkProxy(proxy) : undefined;
  }

  /** Without privileges, clock and disk of a process cannot be changed, and its links only through a proxy. */
  get can(): Capabilities {
    const tampered = this.#options.machineFaults || undefined;
    const linkFaults = this.routes === undefined ? undefined : this;
    const tap = this.#options.tap ? this : undefined;
    return {
      kill: this,
      pause: this,
      data: this,
      copy: this,
      linkFaults,
      tap,
      clock: tampered,
      disk: tampered,
    };
  }

  tap(proxy: Handle | undefined): TapControl {
    return this.#linkProxy(proxy);
  }

  links(proxy: Handle | undefined): LinkControl {
    return this.#linkProxy(proxy);
  }

  #linkProxy(proxy: Handle | undefined): ProxyControl {
    return remoteLinks(`http://127.0.0.1:${Number(proxy?.['control'])}`, {
      token: this.#options.token,
      knowsDiallers: process.platform === 'linux',
      pid: proxy === undefined ? undefined : Number(proxy['pid']),
    });
  }

  place({ ports, behind, dataDir }: Site): Place {
    const { listen } = this.#options;
    const host = reachableHost(listen);
    const dialled = { host, port: ports.p2p };
    return {
      api: `http://${host}:${ports.api}`,
      debug: `http://${host}:${ports.debug}`,
      p2p: dialled,
      peers: dialled,
      listen,
      ...(behind === undefined ? { ports } : behindProxy(ports, { host, port: behind })),
      dataDir,
    };
  }

  async placeChain(reported: ChainUrls): Promise<{ here: ChainUrls; nodes: ChainUrls }> {
    return { here: reported, nodes: reported };
  }

  async prepare(flavour: Flavour, signal?: AbortSignal): Promise<void> {
    const command = this.#compileOf(flavour);
    if (command !== undefined) await compile(command, this.#bundlesOf(command), signal);
  }

  async create(plan: NodePlan, flavour: Flavour): Promise<void> {
    if (plan.tampered === undefined) removeTampered(plan.dataDir);
    for (const file of await flavour.files(plan)) {
      const path = ownPath(plan.dataDir, file.path.split('/'), 'file');
      makeFolder(dirname(path), 0o700);
      writeFileSync(path, file.content, { mode: 0o600, encoding: file.encoding ?? 'utf8' });
    }
  }

  async start(part: Part): Promise<Started> {
    const { clock, stopWithParent, token } = this.#options;
    const { command, compileCache } = this.#launchOf(part);
    const watchesParent = part.kind !== 'node' || part.flavour.watchesParent;
    const log = fileLog(part.log);
    const since = part.kind === 'link-proxy' ? await log.end() : undefined;
    let spawned: Spawned;
    try {
      spawned = await spawnProgram({
        command,
        logFile: part.log,
        stopWithParent: stopWithParent && watchesParent,
        compileCache,
        label: token,
        part: part.name,
      });
    } catch (error) {
      throw new HarnessError('PROCESS_FAILED', `${command.file}: ${messageOf(error)}`, {
        cause: error,
        hint: systemHint(error),
      });
    }
    if (stopWithParent && !watchesParent) guardOrphan(spawned);
    const { id, exited } = spawned;
    void exited.then((exit) => this.#exits.set(keyOf(id), exit));
    const handle = { pid: id.pid, startedAt: id.startedAt };
    if (since === undefined) return { handle };
    const control = await proxyPort(log, since, { clock, hasEnded: async () => this.#exits.has(keyOf(id)) });
    return { handle: { ...handle, control } };
  }

  async stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }> {
    return endProcess(this.#unguarded(handle), graceMs);
  }

  async kill(handle: Handle): Promise<void> {
    await killProcess(this.#unguarded(handle));
  }

  async pause(handle: Handle): Promise<boolean> {
    const id = processOfHandle(handle);
    if (!(await pauseProcess(id))) return false;
    if (this.#options.stopWithParent) this.#guards.set(id.pid, guardPaused(id));
    return true;
  }

  async resume(handle: Handle): Promise<boolean> {
    return signalGroup(this.#unguarded(handle), 'SIGCONT');
  }

  async observe(handle: Handle): Promise<Observed> {
    const id = processOfHandle(handle);
    const state = stateOf(id);
    if (state !== 'gone') return { state, pid: id.pid };
    const exit = this.#exits.get(keyOf(id));
    return exit === undefined ? { state } : { state, exit };
  }

  async find(node: string): Promise<readonly Handle[]> {
    return labelled(this.#options.token, node).map(({ pid, startedAt }) => ({ pid, startedAt }));
  }

  async completeCopy(_handle: Handle, _dataDir: string): Promise<void> {}

  async wipe({ dataDir, flavour }: StoredPart): Promise<void> {
    for (const folder of flavour.stored) rmSync(join(dataDir, folder), { recursive: true, force: true });
  }

  async damage({ dataDir }: StoredPart, chunks: number): Promise<number> {
    return flipOnDisk(dataDir, chunks);
  }

  async stats(handle: Handle): Promise<Stats> {
    return usageOf(processOfHandle(handle)) ?? {};
  }

  logs({ log }: { readonly log: string }): PartLog {
    return fileLog(log);
  }

  async gatherLogs(): Promise<void> {}

  async dispose({ token, parts }: ClusterParts, graceMs: number): Promise<Disposed> {
    const stopped: string[] = [];
    const forced: string[] = [];
    const end = async ({ name, handle }: ClusterParts['parts'][number]) => {
      if (!isAlive(processOfHandle(handle))) return;
      stopped.push(name);
      if ((await this.stop(handle, graceMs)).forced) forced.push(name);
    };
    await Promise.all(parts.map(end));
    // No record names what a killed start left, or the children of a part that was killed first.
    await Promise.all(labelled(token).map((id) => endProcess(id, HELPER_GRACE_MS)));
    return { stopped: stopped.toSorted(), forced: forced.toSorted() };
  }

  disposeNow({ token, parts }: ClusterParts): void {
    for (const { handle } of parts) signalGroup(processOfHandle(handle), 'SIGKILL');
    for (const id of labelled(token)) signalGroup(id, 'SIGKILL');
  }

  async close(): Promise<void> {}

  #compileOf(flavour: Flavour): Command | undefined {
    const command = flavour.compile?.(this.#options.machineFaults);
    if (command !== undefined) expectOptionsOfNodes();
    return command;
  }

  #bundlesOf(command: Command): string {
    const isTampered = isSameProgram(command, tamperedProgram());
    return this.#options.compileCache(isTampered ? 'tampered' : 'nodes');
  }

  /** The chain and the link proxy write compiled code when they end; nodes read what one run left. */
  #launchOf(part: Part): Launch {
    const { compileCache } = this.#options;
    const command = commandOf(part);
    if (part.kind !== 'node') {
      const bundle = this.#bundleOf(svcProgram(), compileCache('nodes'));
      return bundle === undefined
        ? { command, compileCache: compileCache('tools') }
        : launchOf(command, bundle);
    }
    const compiled = this.#compileOf(part.flavour);
    if (compiled === undefined) return { command, compileCache: undefined };
    // From the sources: what one has compiled is left to the next.
    if (!isSameProgram(command, compiled)) return { command, compileCache: compileCache('tools') };
    return launchOf(command, this.#bundleOf(command, this.#bundlesOf(command)));
  }

  #bundleOf(command: Command, folder: string): Bundle | undefined {
    const used = this.#bundles.get(folder);
    // Someone may have emptied the cache since.
    const bundle = used !== undefined && existsSync(used.main) ? used : currentBundle(command, folder);
    if (bundle !== undefined) this.#bundles.set(folder, bundle);
    return bundle;
  }

  #unguarded(handle: Handle): ProcessId {
    const id = processOfHandle(handle);
    this.#guards.get(id.pid)?.kill('SIGKILL');
    this.#guards.delete(id.pid);
    return id;
  }
}

function behindProxy(ports: NodePorts, behind: Address): Pick<Place, 'ports' | 'behind'> {
  return { ports: { ...ports, p2p: behind.port }, behind };
}

function commandOf(part: Part): Command {
  if (part.kind === 'link-proxy') {
    return {
      file: process.execPath,
      args: [programPath('harness/places/links/proxy/main'), part.optionsFile],
      env: {},
    };
  }
  if (part.kind === 'node') return part.flavour.command({ dataDir: part.dataDir, binary: part.binary });
  const { optionsFile } = part;
  return {
    file: process.execPath,
    args: [programPath('chain/main'), optionsFile],
    // Anvil's temporary files are removed with the cluster's folder.
    env: { TMPDIR: dirname(optionsFile) },
  };
}

function processOfHandle(handle: Handle): ProcessId {
  return { pid: Number(handle['pid']), startedAt: String(handle['startedAt']) };
}

function keyOf({ pid, startedAt }: ProcessId): string {
  return `${pid} ${startedAt}`;
}

/**
 * A shell watches the parent for a program that does not: its standard input closes when this process ends. It ends with the
 * program, so that it never signals a reused pid.
 */
function guardOrphan({ id, exited }: Spawned): void {
  const script = `read -r _; kill -s TERM -- -${id.pid}; sleep ${ORPHAN_GRACE_S}; kill -s KILL -- -${id.pid}`;
  const guard = spawnGuard(script);
  const drop = async () => {
    await exited;
    guard.kill('SIGKILL');
  };
  void drop();
}

/** When this process ends, the shell resumes a paused node, which then stops like others. */
function guardPaused(id: ProcessId): ChildProcess {
  return spawnGuard(`read -r _; kill -s CONT -- -${id.pid}`);
}

function spawnGuard(script: string): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}
