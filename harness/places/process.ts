/** One operating-system process per part on this machine: needs nothing but this package. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reachableHost } from '../../chain/listen.ts';
import { HarnessError, messageOf } from '../base/errors.ts';
import { fileLog } from '../base/logs/file-log.ts';
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
import { programPath } from '../base/machine/programs.ts';
import type { NodePorts } from '../flavours/flavour.ts';
import { flipOnDisk } from '../flavours/tampered/flip.ts';
import {
  type Address,
  type Capability,
  type ClusterParts,
  capabilitiesWith,
  type Disposed,
  type Driver,
  type Exit,
  type Handle,
  type Part,
  type Place,
  type Started,
} from './driver.ts';
import { proxyPort } from './link-proxy.ts';
import { remoteLinks } from './links/proxy/remote.ts';
import type { DriverOptions } from './options.ts';

type ProcessDriverOptions = Pick<
  DriverOptions,
  'stopWithParent' | 'listen' | 'compileCache' | 'token' | 'linkFaults' | 'machineFaults'
>;

/**
 * A process's clock and disk cannot be manipulated without privileges, and its links only through a proxy.
 */
export const PROCESS_CAPABILITIES: ReadonlySet<Capability> = new Set<Capability>([
  'kill',
  'pause',
  'data',
  'copy',
]);
/** For helpers of killed programs: they tidy up and end by themselves. */
const HELPER_GRACE_MS = 300;

export function createProcessDriver(options: ProcessDriverOptions): Driver {
  const guards = new Map<number, ChildProcess>();
  const exits = new Map<string, Exit>();
  let bundle: Bundle | undefined;

  /**
   * Only the chain writes its compiled code when it ends; nodes read what one run of their program has left.
   */
  function launchOfPart(part: Part): Launch {
    const command = commandOf(part);
    if (part.kind !== 'node') return { command, compileCache: options.compileCache.tools };
    const compiled = part.flavour.compile?.();
    // A tampered node is a different program: few nodes are tampered with, and they run from the sources.
    if (compiled === undefined || !isSameProgram(command, compiled))
      return { command, compileCache: undefined };
    // Once there is a bundle, all nodes that this process starts use it.
    bundle ??= currentBundle(command, options.compileCache.nodes);
    return launchOf(command, bundle);
  }

  async function noteExit({ id, exited }: Spawned): Promise<void> {
    exits.set(keyOf(id), await exited);
  }

  async function endAll(parts: ClusterParts['parts'], graceMs: number): Promise<Disposed> {
    const stopped: string[] = [];
    const forced: string[] = [];
    const end = async ({ name, handle }: ClusterParts['parts'][number]) => {
      const id = processOfHandle(handle);
      if (!isAlive(id)) return;
      stopped.push(name);
      dropGuard(guards, id);
      if ((await endProcess(id, graceMs)).forced) forced.push(name);
    };
    await Promise.all(parts.map(end));
    return { stopped: stopped.toSorted(), forced: forced.toSorted() };
  }

  return {
    name: 'process',
    capabilities: capabilitiesWith(PROCESS_CAPABILITIES, options),
    proxied: options.linkFaults,

    links: (proxy) =>
      remoteLinks(`http://127.0.0.1:${proxy?.['control']}`, {
        token: options.token,
        knowsDiallers: process.platform === 'linux',
      }),

    place({ ports, behind, dataDir }) {
      const { listen } = options;
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
    },

    placeChain: (reported) => Promise.resolve({ here: reported, nodes: reported }),

    async prepare(flavour, signal) {
      const command = flavour.compile?.();
      if (command !== undefined) await compile(command, options.compileCache.nodes, signal);
    },

    async create(plan, flavour) {
      for (const file of await flavour.files(plan)) {
        const path = join(plan.dataDir, file.path);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        writeFileSync(path, file.content, { mode: 0o600 });
      }
    },

    async start(part): Promise<Started> {
      const { command, compileCache } = launchOfPart(part);
      const watchesParent = part.kind !== 'node' || part.flavour.watchesParent;
      const log = fileLog(part.log);
      const since = part.kind === 'link-proxy' ? await log.end() : undefined;
      let spawned: Spawned;
      try {
        spawned = await spawnProgram({
          command,
          logFile: part.log,
          stopWithParent: options.stopWithParent && watchesParent,
          compileCache,
          label: options.token,
        });
      } catch (error) {
        throw new HarnessError('PROCESS_FAILED', `${command.file}: ${messageOf(error)}`, { cause: error });
      }
      if (options.stopWithParent && !watchesParent) guardOrphan(spawned);
      void noteExit(spawned);
      const handle = handleOf(spawned.id);
      if (since === undefined) return { handle };
      let hasEnded = false;
      void spawned.exited.then(() => (hasEnded = true));
      const control = await proxyPort(log, since, () => Promise.resolve(hasEnded));
      return { handle: { ...handle, control } };
    },

    async stop(handle, graceMs) {
      const id = processOfHandle(handle);
      dropGuard(guards, id);
      return endProcess(id, graceMs);
    },

    async kill(handle) {
      const id = processOfHandle(handle);
      dropGuard(guards, id);
      await killProcess(id);
    },

    async pause(handle) {
      const id = processOfHandle(handle);
      if (!(await pauseProcess(id))) return false;
      if (options.stopWithParent) guards.set(id.pid, guardPaused(id));
      return true;
    },

    async resume(handle) {
      const id = processOfHandle(handle);
      dropGuard(guards, id);
      return signalGroup(id, 'SIGCONT');
    },

    async observe(handle) {
      const id = processOfHandle(handle);
      const state = stateOf(id);
      if (state !== 'gone') return { state, pid: id.pid };
      const exit = exits.get(keyOf(id));
      return exit === undefined ? { state } : { state, exit };
    },

    wipe({ dataDir, flavour }) {
      for (const folder of flavour.stored) rmSync(join(dataDir, folder), { recursive: true, force: true });
      return Promise.resolve();
    },

    damage: ({ dataDir }, chunks) => Promise.resolve(flipOnDisk(dataDir, chunks)),

    stats: async (handle) => usageOf(processOfHandle(handle)) ?? {},

    logs: ({ log }) => fileLog(log),

    gatherLogs: () => Promise.resolve(),

    async dispose({ token, parts }, graceMs) {
      const disposed = await endAll(parts, graceMs);
      await endLabelled(token);
      return disposed;
    },

    disposeNow({ token, parts }) {
      for (const { handle } of parts) signalGroup(processOfHandle(handle), 'SIGKILL');
      for (const id of labelled(token)) signalGroup(id, 'SIGKILL');
    },

    close: () => Promise.resolve(),
  };
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

/**
 * Ends processes that no record names: left by a killed start, or by a part that was killed before its
 * children.
 */
async function endLabelled(token: string): Promise<void> {
  await Promise.all(labelled(token).map((id) => endProcess(id, HELPER_GRACE_MS)));
}

function handleOf({ pid, startedAt }: ProcessId): Handle {
  return { pid, startedAt };
}

function processOfHandle(handle: Handle): ProcessId {
  return { pid: Number(handle['pid']), startedAt: String(handle['startedAt']) };
}

function keyOf({ pid, startedAt }: ProcessId): string {
  return `${pid} ${startedAt}`;
}
/** Time between asking a node whose parent has died to stop and forcing it. */
const ORPHAN_GRACE_S = 5;

/**
 * A program that does not watch its parent is watched by a shell that does: its standard input closes when
 * this process ends. The shell ends with the program, so that it never signals a pid that has been reused.
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

/**
 * A paused node cannot notice that its parent has died. A shell whose standard input closes when this process
 * ends then resumes it, and the node stops like all others.
 */
function guardPaused(id: ProcessId): ChildProcess {
  return spawnGuard(`read -r _; kill -s CONT -- -${id.pid}`);
}

function spawnGuard(script: string): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}

function dropGuard(guards: Map<number, ChildProcess>, id: ProcessId): void {
  guards.get(id.pid)?.kill('SIGKILL');
  guards.delete(id.pid);
}
