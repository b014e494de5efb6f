/**
 * The nodes of one process: holds a cluster's embedded nodes, in the caller's process or in a background
 * process. Their peers, and unless asked otherwise their stores, are in memory; their APIs are on loopback
 * ports.
 */
import { closeSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../formats/clock.ts';
import type { RunningNode } from '../../../node/compose.ts';
import type { NodeOptions } from '../../../node/options.ts';
import { ADDRESS_BOOK } from '../../../node/p2p/address/address-book.ts';
import type { MemoryPlatform } from '../../../node/platform/memory.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { openLog } from '../../base/machine/processes.ts';
import { tamperedOf } from '../../flavours/tampered/settings.ts';
import type { TamperedPlatform } from '../../flavours/tampered/tamper.ts';
import type { Exit, Observed } from '../driver.ts';
import type { LinkEffect, LinkRule } from '../links/rules.ts';
import { MemoryLinks } from './memory-links.ts';
import { readEmbedded } from './node-file.ts';
import { watchLoop } from './watchdog.ts';

/** A node to start, as it is on disk. */
export interface HostedPart {
  readonly name: string;
  readonly dataDir: string;
  readonly log: string;
}

/** Operations on the nodes of a host, from its own process or from another one. */
export interface NodeHost {
  /** Loads in advance what the first node would otherwise load at its start. */
  prepare(): Promise<void>;
  /** @returns which start of the node this is @throws HarnessError `PROCESS_FAILED` when it runs already */
  start(part: HostedPart): Promise<number>;
  /** @returns whether it had to be cut off; also false if it was gone */
  stop(name: string, start: number, graceMs: number): Promise<boolean>;
  kill(name: string, start: number): Promise<void>;
  /** @returns false when it was gone */
  pause(name: string, start: number): Promise<boolean>;
  resume(name: string, start: number): Promise<boolean>;
  observe(name: string, start: number): Promise<Observed>;
  /** Degrades links, see `LinkControl`. */
  beginLinkRule(id: string, rule: LinkRule): Promise<void>;
  linkEffect(id: string): Promise<LinkEffect>;
  endLinkRule(id: string): Promise<void>;
  /** Writes a stopped node's in-memory disk into a data directory, for the first start of a node there. */
  saveDisk(name: string, dataDir: string): Promise<void>;
  /** Discards a stopped node's in-memory disk. */
  wipe(name: string): Promise<void>;
  /** Flips a bit in this many chunks on it. @returns how many chunks were damaged */
  damage(name: string, chunks: number): Promise<number>;
  /** Cuts everything off. */
  close(): Promise<void>;
}

/** One start of one node. */
interface Hosted {
  readonly start: number;
  readonly platform: MemoryPlatform;
  readonly stopping: AbortController;
  /** Once it is ready. */
  running: RunningNode | undefined;
  /** Wraps the platform of a tampered node. */
  readonly tampered: TamperedPlatform | undefined;
  exit: Exit | undefined;
}

/** What all nodes of a host share; loading it takes most of the time of the first start. */
type Programs = Awaited<ReturnType<typeof loadPrograms>>;

/** @param cluster its name, for messages */
export function createNodeHost(cluster: string): NodeHost {
  const hosted = new Map<string, Hosted>();
  const disks = new Map<string, InstanceType<Programs['MemoryDisk']>>();
  const logs = new Map<string, number>();
  let programs: Promise<Programs> | undefined;
  let network: ReturnType<Programs['memoryNetwork']> | undefined;
  let shared: ReturnType<Programs['sharedResults']> | undefined;
  let crashGuard: Disposable | undefined;
  let watchdog: Disposable | undefined;
  let starts = 0;
  let closed = false;
  const starting = new Set<string>();
  /** Peer ids. */
  const names = new Map<string, string>();
  const links = new MemoryLinks({
    clock: systemClock(),
    nameOf: (peerId) => names.get(peerId),
    pairs: () => network?.pairs() ?? [],
  });

  function writeLog(part: HostedPart, line: string): void {
    let file = logs.get(part.name);
    if (file === undefined) {
      file = openLog(part.log);
      logs.set(part.name, file);
    }
    writeSync(file, line);
  }

  /** Uses the format of the node's own log lines, so that log tools find it. */
  function logError(part: HostedPart, message: string, error: unknown): void {
    const entry = {
      level: 'error',
      time: new Date().toISOString(),
      node: part.name,
      module: 'embedded',
      err: error instanceof Error ? { message: error.message, stack: error.stack } : String(error),
      msg: message,
    };
    writeLog(part, `${JSON.stringify(entry)}\n`);
  }

  function current(name: string, start: number): Hosted | undefined {
    const one = hosted.get(name);
    return one?.start === start && isRunning(one) ? one : undefined;
  }

  /** Recorded in memory first; writing it to the log may fail. */
  function recordExit(one: Hosted, exit: Exit): void {
    one.exit ??= exit;
    one.stopping.abort(new Error('the node has ended'));
    void one.tampered?.[Symbol.asyncDispose]();
  }

  function recordCrash(one: Hosted, part: HostedPart, message: string, error: unknown): void {
    recordExit(one, { code: 1, signal: null, reason: messageOf(error) });
    try {
      logError(part, message, error);
    } catch (unwritten) {
      process.stderr.write(
        `svcnet: ${part.name}: ${message}: ${messageOf(error)} (${messageOf(unwritten)})\n`,
      );
    }
  }

  async function startOne(part: HostedPart): Promise<number> {
    programs ??= loadPrograms();
    const { startNode, MemoryDisk, optionsOf, ...memory } = await programs;
    const { options, keys, transport, store, shareResults } = readEmbedded(part.dataDir);
    // Resources of an earlier start are released before this one takes them.
    await hosted.get(part.name)?.platform.cut();
    if (closed) throw new HarnessError('PROCESS_FAILED', `${part.name}: the cluster is being stopped`);
    crashGuard ??= memory.containCrashes();
    watchdog ??= watchLoop(cluster);
    network ??= memory.memoryNetwork({ carrier: links });
    names.set(memory.ownIdentity(keys.libp2p).peerId, part.name);
    if (shareResults) shared ??= memory.sharedResults();
    const disk = disks.get(part.name) ?? new MemoryDisk(takeImage(part.dataDir));
    disks.set(part.name, disk);
    const platform = await memory.memoryPlatform({
      keys,
      host: transport === 'tcp' ? 'tcp' : network,
      store: store === 'disk' ? { folder: `${part.dataDir}/store` } : disk,
      shared: shareResults ? shared : undefined,
      log: (line) => writeLog(part, line),
      onCrash: (error) => recordCrash(one, part, 'the node has crashed', error),
    });
    const tampered = await tamperedWith(platform, part.dataDir, () => optionsOf(options));
    const one: Hosted = {
      start: ++starts,
      platform,
      tampered,
      stopping: new AbortController(),
      running: undefined,
      exit: undefined,
    };
    hosted.set(part.name, one);
    if (closed) {
      recordExit(one, KILLED);
      await platform.cut();
      throw new HarnessError('PROCESS_FAILED', `${part.name}: the cluster is being stopped`);
    }
    const live = async () => {
      try {
        const surroundings = tampered?.platform ?? platform;
        one.running = await platform.run(() =>
          startNode(optionsOf(options), surroundings, one.stopping.signal),
        );
        const failure = await one.running.stopped(one.stopping.signal);
        if (failure !== undefined) recordCrash(one, part, 'the node has stopped by itself', failure);
      } catch (error) {
        if (!one.stopping.signal.aborted) recordCrash(one, part, 'the node could not start', error);
      }
      // An orderly stop is awaited by its caller; a node that has failed is cut off here.
      if (one.exit !== undefined) await platform.cut();
    };
    void live();
    return one.start;
  }

  return {
    async prepare() {
      programs ??= loadPrograms();
      await programs;
    },

    async start(part) {
      const before = hosted.get(part.name);
      if (starting.has(part.name) || (before !== undefined && isRunning(before))) {
        throw new HarnessError('PROCESS_FAILED', `${part.name} runs already`);
      }
      starting.add(part.name);
      try {
        return await startOne(part);
      } finally {
        starting.delete(part.name);
      }
    },

    async stop(name, start, graceMs) {
      const one = current(name, start);
      if (one === undefined) return false;
      const { platform, running, stopping } = one;
      stopping.abort(new Error('stopped'));
      // A paused node sees the request only when it runs again.
      platform.thaw();
      const patience = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => patience.resolve(true), graceMs);
      const stopped = async () => {
        if (running !== undefined) await platform.run(() => running.stop());
        return false;
      };
      try {
        return await Promise.race([stopped(), patience.promise]);
      } finally {
        clearTimeout(timer);
        recordExit(one, { code: 0, signal: null });
        await platform.cut();
      }
    },

    async kill(name, start) {
      const one = current(name, start);
      if (one === undefined) return;
      recordExit(one, KILLED);
      await one.platform.cut();
    },

    pause(name, start) {
      const one = current(name, start);
      one?.platform.freeze();
      return Promise.resolve(one !== undefined);
    },

    resume(name, start) {
      const one = current(name, start);
      one?.platform.thaw();
      return Promise.resolve(one !== undefined);
    },

    observe(name, start) {
      const one = hosted.get(name);
      if (one === undefined || one.start !== start) return Promise.resolve({ state: 'gone' });
      if (!isRunning(one)) {
        return Promise.resolve({ state: 'gone', ...(one.exit === undefined ? {} : { exit: one.exit }) });
      }
      const state = one.platform.state === 'frozen' ? 'paused' : 'running';
      return Promise.resolve({ state, pid: process.pid });
    },

    beginLinkRule: (id, rule) => links.begin(id, rule),
    linkEffect: (id) => links.effect(id),
    endLinkRule: (id) => links.end(id),

    saveDisk(name, dataDir) {
      const disk = disks.get(name);
      if (disk === undefined) throw new HarnessError('PROCESS_FAILED', `${name} has never run here`);
      mkdirSync(dataDir, { recursive: true, mode: 0o700 });
      writeFileSync(imageFile(dataDir), disk.image(ADDRESS_BOOK), { mode: 0o600 });
      return Promise.resolve();
    },

    async wipe(name) {
      await hosted.get(name)?.platform.cut();
      disks.delete(name);
    },

    async damage(name, chunks) {
      const disk = disks.get(name);
      return disk === undefined
        ? 0
        : (await import('../../flavours/tampered/flip.ts')).flipInMemory(disk, chunks);
    },

    async close() {
      closed = true;
      for (const one of hosted.values()) recordExit(one, KILLED);
      await Promise.all(Array.from(hosted.values(), ({ platform }) => platform.cut()));
      for (const ending of [crashGuard, watchdog]) ending?.[Symbol.dispose]();
      crashGuard = undefined;
      watchdog = undefined;
      for (const file of logs.values()) closeSync(file);
      for (const map of [hosted, disks, logs]) map.clear();
    },
  };
}

function imageFile(dataDir: string): string {
  return join(dataDir, 'disk.image');
}

/** Initial content of an in-memory disk. The file is used once: from then on the disk is newer. */
function takeImage(dataDir: string): Uint8Array | undefined {
  const file = imageFile(dataDir);
  if (!existsSync(file)) return undefined;
  const image = readFileSync(file);
  rmSync(file);
  return image;
}

const KILLED: Exit = { code: null, signal: 'SIGKILL' };

function isRunning({ exit, platform }: Hosted): boolean {
  return exit === undefined && platform.state !== 'off';
}

/** Loaded on demand: hardly any cluster has such nodes. */
async function tamperedWith(
  platform: MemoryPlatform,
  dataDir: string,
  options: () => NodeOptions,
): Promise<TamperedPlatform | undefined> {
  const tampered = tamperedOf(dataDir);
  if (tampered === undefined) return undefined;
  const { tamper } = await import('../../flavours/tampered/tamper.ts');
  return tamper(platform, { dataDir, tampered, options: options() });
}

/** Loaded on demand: commands that embed no nodes must not pay for the node's code. */
async function loadPrograms() {
  const [{ startNode }, memory, { MemoryDisk }, { resolveOptions }, { ownIdentity }] = await Promise.all([
    import('../../../node/compose.ts'),
    import('../../../node/platform/memory.ts'),
    import('../../../node/store/memory-store.ts'),
    import('../../../node/option-sources.ts'),
    import('../../../node/p2p/address/identity-key.ts'),
  ]);
  return {
    startNode,
    MemoryDisk,
    ownIdentity,
    memoryNetwork: memory.memoryNetwork,
    memoryPlatform: memory.memoryPlatform,
    sharedResults: memory.sharedResults,
    containCrashes: memory.containCrashes,
    optionsOf: (options: Readonly<Record<string, unknown>>) =>
      resolveOptions(['--config', 'node.json'], {}, () => options),
  };
}
