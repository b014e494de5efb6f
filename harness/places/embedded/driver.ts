/**
 * All our own nodes in one process: the caller's, so that its breakpoints work inside nodes and the nodes end
 * with it, or a background process for a cluster that outlives its starter. The chain and nodes of other
 * flavours run as separate processes.
 *
 * What cannot be prevented: a node in an endless computation blocks the process and everything in it; an
 * error in code that belongs to no node, or a failure of the runtime itself, such as a full heap, ends all
 * nodes at once.
 */

import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HarnessError } from '../../base/errors.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import { fileLog } from '../../base/logs/file-log.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { isAlive, ownProcess, type ProcessId, spawnProgram, stateOf } from '../../base/machine/processes.ts';
import { until } from '../../base/wait.ts';
import { holderProgram } from '../../flavours/svc-program.ts';
import { writeTampered } from '../../flavours/tampered/settings.ts';
import {
  type Capability,
  capabilitiesWith,
  type Driver,
  type Exit,
  type Handle,
  type Observed,
  type Started,
} from '../driver.ts';
import type { LinkControl } from '../links/rules.ts';
import type { DriverOptions } from '../options.ts';
import { createProcessDriver } from '../process.ts';
import { createNodeHost, type NodeHost } from './host.ts';
import { writeEmbedded } from './node-file.ts';
import { remoteHost, type Served, serveHost } from './wire.ts';

export const EMBEDDED_CAPABILITIES: ReadonlySet<Capability> = new Set<Capability>([
  'kill',
  'pause',
  'data',
  'copy',
]);
const START_TIMEOUT_MS = 30_000;
/** For a request to another process. */
const ANSWER_MS = 1000;

/** Where the process that holds the nodes is, on disk. */
interface HolderRecord extends ProcessId {
  readonly port: number;
}

interface LocalHost {
  readonly host: NodeHost;
  readonly served: Served;
}

/** Hosts in this process, by the token of their cluster. */
const localHosts = new Map<string, Promise<LocalHost>>();

export function createEmbeddedDriver(options: DriverOptions): Driver {
  const { token, folder, stopWithParent } = options;
  const inMemory = options.embedded.transport === 'memory';
  // A network in memory needs no proxy.
  const beside = createProcessDriver({ ...options, linkFaults: options.linkFaults && !inMemory });
  const holderFile = join(folder, 'holder.json');
  let starting: Promise<HolderRecord> | undefined;

  /** The process that holds the nodes; started if there is none. */
  async function holder(signal?: AbortSignal): Promise<HolderRecord> {
    const known = readJson(holderFile) as HolderRecord | undefined;
    if (known !== undefined && isAlive(known)) return known;
    starting ??= (stopWithParent ? holdHere() : holdInBackground(signal)).finally(() => {
      starting = undefined;
    });
    return starting;
  }

  async function holdHere(): Promise<HolderRecord> {
    const opened = localHosts.get(token) ?? openLocal(token, basename(folder));
    localHosts.set(token, opened);
    try {
      const { served } = await opened;
      return writeHolder({ ...ownProcess(), port: served.port });
    } catch (error) {
      // The next start tries again.
      localHosts.delete(token);
      throw error;
    }
  }

  async function holdInBackground(signal: AbortSignal | undefined): Promise<HolderRecord> {
    const log = join(folder, 'logs', 'holder.log');
    const holderLog = fileLog(log);
    // An earlier holder has logged its port there.
    const since = await holderLog.end();
    const spawned = await spawnProgram({
      command: holderProgram(basename(folder)),
      logFile: log,
      stopWithParent: false,
      compileCache: options.compileCache.embedded,
      label: token,
    });
    let ended = false;
    void spawned.exited.then(() => (ended = true));
    const port = await until<number>(
      'the process for the embedded nodes is not ready',
      async () => {
        const lines = await holderLog.since(since);
        const ready = lines.find((line) => line.startsWith('{"ready":true'));
        if (ready !== undefined) return { done: (JSON.parse(ready) as HolderRecord).port };
        if (ended) {
          throw new HarnessError('PROCESS_FAILED', 'the process for the embedded nodes has ended', {
            hint: [`${log}:`, ...lines.map((line) => `  ${line}`)].join('\n'),
          });
        }
        return { missing: lines.at(-1) ?? 'it has printed nothing' };
      },
      { clock: MACHINE_CLOCK, timeoutMs: START_TIMEOUT_MS, signal },
    );
    return writeHolder({ ...spawned.id, port });
  }

  function writeHolder(holding: HolderRecord): HolderRecord {
    // Nothing is written if the folder has been removed meanwhile.
    if (existsSync(folder)) writeJson(holderFile, holding);
    return holding;
  }

  /** Links in the process that holds the nodes. */
  function linksInMemory(): LinkControl {
    const present = async () => {
      const known = readJson(holderFile) as HolderRecord | undefined;
      return known !== undefined && isAlive(known) ? hostOf(known) : undefined;
    };
    const host = async () => {
      const there = await present();
      if (there !== undefined) return there;
      throw new HarnessError(
        'FAULT_REFUSED',
        'the process that holds the nodes is gone, and their links with it',
      );
    };
    return {
      knowsDiallers: true,
      begin: async (id, rule) => (await host()).beginLinkRule(id, rule),
      effect: async (id) => (await host()).linkEffect(id),
      // If the process is gone, so are the faults of its links.
      end: async (id) => (await present())?.endLinkRule(id),
    };
  }

  async function hostOf({ pid, port }: { pid: number; port: number }): Promise<NodeHost> {
    const here = pid === process.pid ? await localHosts.get(token) : undefined;
    return here?.host ?? remoteHost(port, token);
  }

  /** @returns undefined when the process that held the node is gone */
  async function locate(handle: Handle): Promise<NodeLocation | undefined> {
    const pid = Number(handle['pid']);
    const holding = { pid, startedAt: String(handle['startedAt']) };
    if (!isAlive(holding)) return undefined;
    const host = await hostOf({ pid, port: Number(handle['port']) });
    return { host, holder: holding, node: String(handle['node']), start: Number(handle['start']) };
  }

  return {
    name: 'embedded',
    capabilities: capabilitiesWith(EMBEDDED_CAPABILITIES, {
      linkFaults: inMemory || options.linkFaults,
      machineFaults: options.machineFaults,
    }),
    ...(beside.proxied === undefined ? {} : { proxied: beside.proxied }),
    links(proxy) {
      if (inMemory) return linksInMemory();
      // All nodes' sockets belong to one process.
      return { ...(beside.links as NonNullable<Driver['links']>)(proxy), knowsDiallers: false };
    },
    place: (site) => beside.place(site),
    placeChain: (reported) => beside.placeChain(reported),

    async prepare(flavour, signal) {
      if (flavour.embedded === undefined) {
        await beside.prepare(flavour, signal);
        return;
      }
      enableCompileCache(options.compileCache.embedded);
      await (await hostOf(await holder(signal))).prepare();
    },

    create(plan, flavour, ports) {
      if (flavour.embedded === undefined) return beside.create(plan, flavour, ports);
      writeEmbedded(plan.dataDir, { ...flavour.embedded(plan), ...options.embedded });
      if (plan.tampered !== undefined) writeTampered(plan.dataDir, plan.tampered);
      return Promise.resolve();
    },

    async start(part): Promise<Started> {
      if (part.kind !== 'node' || part.flavour.embedded === undefined) return beside.start(part);
      const { pid, startedAt, port } = await holder();
      const host = await hostOf({ pid, port });
      const { name, dataDir, log } = part;
      const start = await host.start({ name, dataDir, log });
      const handle: Handle = { pid, startedAt, port, node: name, start };
      return { handle };
    },

    async stop(handle, graceMs) {
      if (!isEmbedded(handle)) return beside.stop(handle, graceMs);
      const there = await locate(handle);
      return { forced: (await there?.host.stop(there.node, there.start, graceMs)) ?? false };
    },

    async kill(handle) {
      if (!isEmbedded(handle)) return beside.kill(handle);
      const there = await locate(handle);
      await there?.host.kill(there.node, there.start);
    },

    async pause(handle) {
      if (!isEmbedded(handle)) return beside.pause(handle);
      const there = await locate(handle);
      return (await there?.host.pause(there.node, there.start)) ?? false;
    },

    async resume(handle) {
      if (!isEmbedded(handle)) return beside.resume(handle);
      const there = await locate(handle);
      return (await there?.host.resume(there.node, there.start)) ?? false;
    },

    async observe(handle) {
      if (!isEmbedded(handle)) return beside.observe(handle);
      const there = await locate(handle);
      if (there === undefined) return { state: 'gone', exit: HOLDER_GONE };
      // A paused process means that all nodes in it are paused.
      if (stateOf(there.holder) === 'paused') return { state: 'paused', pid: there.holder.pid };
      return observeNode(there);
    },

    async completeCopy(handle, dataDir) {
      if (!isEmbedded(handle) || options.embedded.store === 'disk') return;
      const there = await locate(handle);
      if (there === undefined) {
        throw new HarnessError(
          'NODE_STATE',
          `what ${handle['node']} kept in memory has gone with its process`,
        );
      }
      await there.host.saveDisk(there.node, dataDir);
    },

    async wipe(part) {
      if (!isEmbedded(part.handle) || options.embedded.store === 'disk') {
        await beside.wipe?.(part);
        return;
      }
      const there = await locate(part.handle);
      await there?.host.wipe(there.node);
    },

    async damage(part, chunks) {
      if (!isEmbedded(part.handle) || options.embedded.store === 'disk')
        return (await beside.damage?.(part, chunks)) ?? 0;
      const there = await locate(part.handle);
      return (await there?.host.damage(there.node, chunks)) ?? 0;
    },

    // Processor time and memory are those of the process, which all nodes share.
    stats: (handle) => (isEmbedded(handle) ? Promise.resolve({}) : beside.stats(handle)),

    logs: (part) => beside.logs(part),
    gatherLogs: () => beside.gatherLogs(),

    async dispose({ parts, ...cluster }, graceMs) {
      const embedded = parts.filter(({ handle }) => isEmbedded(handle));
      const nodes = await Promise.all(
        embedded.map(async ({ name, handle }) => ({ name, there: await locate(handle) })),
      );
      const ran = await Promise.all(
        nodes.map(async ({ name, there }) =>
          there === undefined || (await observeNode(there)).state === 'gone' ? [] : [name],
        ),
      );
      await closeLocal(token);
      // Another process that holds nodes continues without them; one that does not answer is ended below,
      // like everything with the token.
      const elsewhere = new Map<number, NodeHost>();
      for (const { there } of nodes) {
        if (there !== undefined && there.holder.pid !== process.pid)
          elsewhere.set(there.holder.pid, there.host);
      }
      await Promise.all(Array.from(elsewhere.values(), (host) => answerOf(host.close())));
      const rest = parts.filter(({ handle }) => !isEmbedded(handle));
      const disposed = await beside.dispose({ ...cluster, parts: rest }, graceMs);
      return { stopped: [...disposed.stopped, ...ran.flat()].toSorted(), forced: disposed.forced };
    },

    disposeNow: ({ parts, ...cluster }) =>
      beside.disposeNow({ ...cluster, parts: parts.filter(({ handle }) => !isEmbedded(handle)) }),

    close: () => beside.close(),
  };
}

/** A node and the process that holds it. */
interface NodeLocation {
  readonly host: NodeHost;
  readonly holder: ProcessId;
  readonly node: string;
  readonly start: number;
}

/** If the process runs but does not answer, its nodes count as running, like processes that hang. */
async function observeNode({ host, holder, node, start }: NodeLocation): Promise<Observed> {
  const observed = await answerOf(host.observe(node, start));
  return (
    observed ??
    (isAlive(holder) ? { state: 'running', pid: holder.pid } : { state: 'gone', exit: HOLDER_GONE })
  );
}

/** @returns undefined when it fails, or takes longer than it would in a healthy process */
async function answerOf<T>(work: Promise<T>): Promise<T | undefined> {
  const [first] = await Promise.allSettled([
    Promise.race([work, sleep(ANSWER_MS, undefined, { ref: false })]),
  ]);
  return first.status === 'fulfilled' ? first.value : undefined;
}

const HOLDER_GONE: Exit = { code: null, signal: null, reason: 'the process that held it is gone' };

function isEmbedded(handle: Handle): boolean {
  return handle['node'] !== undefined;
}

async function openLocal(token: string, cluster: string): Promise<LocalHost> {
  const host = createNodeHost(cluster);
  return { host, served: await serveHost(host, token) };
}

async function closeLocal(token: string): Promise<void> {
  const opened = localHosts.get(token);
  localHosts.delete(token);
  const [outcome] = await Promise.allSettled([opened]);
  // A host that could not be opened holds nothing.
  if (outcome.status === 'rejected' || outcome.value === undefined) return;
  const { host, served } = outcome.value;
  await Promise.all([host.close(), served.close()]);
}
