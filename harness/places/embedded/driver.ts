/**
 * Our nodes in one process: the caller's, or a background process for a cluster that outlives its starter. An endless
 * computation in one node blocks all; a failure of the runtime, such as a full heap, ends all.
 */

import { enableCompileCache } from 'node:module';
import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { isAlive, type ProcessId, stateOf } from '../../base/machine/processes.ts';
import type { Flavour, NodePlan } from '../../flavours/flavour.ts';
import { writeTampered } from '../../flavours/tampered/settings.ts';
import type { DriverOptions } from '../driver.ts';
import {
  type Capabilities,
  type ClusterParts,
  type Disposed,
  type Exit,
  type Handle,
  type Observed,
  type Part,
  type Started,
  type Stats,
  type StoredPart,
} from '../driver.ts';
import type { DriverName } from '../facts.ts';
import type { LinkControl } from '../links/rules.ts';
import type { TapControl } from '../links/tap/events.ts';
import { ProcessDriver } from '../process.ts';
import { Holding } from './holding.ts';
import { writeEmbedded } from './node-file.ts';
import type { NodeHost } from './wire.ts';

const ANSWER_MS = 1000;
const HOLDER_GONE: Exit = { code: null, signal: null, reason: 'the process that held it is gone' };

interface NodeLocation {
  readonly host: NodeHost;
  readonly holder: ProcessId;
  readonly node: string;
  readonly start: number;
}

/** What it does not embed is a process. */
export class EmbeddedDriver extends ProcessDriver {
  override readonly name: DriverName = 'embedded';
  readonly #options: DriverOptions;
  readonly #holding: Holding;
  /** Observations that a busy holder has not answered in time. It is asked again once it has. */
  readonly #late = new Map<string, Promise<Observed>>();

  constructor(options: DriverOptions) {
    const isTcp = options.embedded.transport === 'tcp';
    super({ ...options, linkFaults: options.linkFaults && isTcp, tap: false });
    this.#options = options;
    this.#holding = new Holding(options);
  }

  override get can(): Capabilities {
    const { embedded, tap } = this.#options;
    if (embedded.transport !== 'memory') return super.can;
    return { ...super.can, linkFaults: this, tap: tap ? this : undefined };
  }

  override tap(): TapControl {
    const control = controlOf(this.#holding);
    return {
      tapped: async (after, raw) => (await control.host()).tapped(after, raw),
      beginMessages: async (id, rule) => (await control.host()).beginMessages(id, rule),
      messageEffect: async (id) => (await control.host()).messageEffect(id),
      endMessages: async (id) => (await control.present())?.endMessages(id),
    };
  }

  override links(proxy: Handle | undefined): LinkControl {
    if (this.#options.embedded.transport === 'memory') return linksInMemory(this.#holding);
    // All nodes' sockets belong to one process.
    return { ...super.links(proxy), knowsDiallers: false };
  }

  override async prepare(flavour: Flavour, signal?: AbortSignal): Promise<void> {
    if (flavour.embedded === undefined) return super.prepare(flavour, signal);
    enableCompileCache(this.#options.compileCache('embedded'));
    const host = await this.#holding.hostOf(await this.#holding.holder(signal));
    await host.prepare();
  }

  override async create(plan: NodePlan, flavour: Flavour): Promise<void> {
    if (flavour.embedded === undefined) return super.create(plan, flavour);
    const { embedded, tap } = this.#options;
    const { overlay } = plan.identity;
    writeEmbedded(plan.dataDir, { ...flavour.embedded(plan), ...embedded, tap, overlay });
    if (plan.tampered !== undefined) writeTampered(plan.dataDir, plan.tampered);
  }

  override async start(part: Part): Promise<Started> {
    if (part.kind !== 'node' || part.flavour.embedded === undefined) return super.start(part);
    const { pid, startedAt, port } = await this.#holding.holder();
    const host = await this.#holding.hostOf({ pid, port });
    const { name, dataDir, log } = part;
    const start = await host.start({ name, dataDir, log });
    return { handle: { pid, startedAt, port, node: name, start } };
  }

  override async stop(handle: Handle, graceMs: number): Promise<{ forced: boolean }> {
    if (!isEmbedded(handle)) return super.stop(handle, graceMs);
    const there = await this.#locate(handle);
    return { forced: (await there?.host.stop(there.node, there.start, graceMs)) ?? false };
  }

  override async kill(handle: Handle): Promise<void> {
    if (!isEmbedded(handle)) return super.kill(handle);
    const there = await this.#locate(handle);
    await there?.host.kill(there.node, there.start);
  }

  override async pause(handle: Handle): Promise<boolean> {
    if (!isEmbedded(handle)) return super.pause(handle);
    const there = await this.#locate(handle);
    return (await there?.host.pause(there.node, there.start)) ?? false;
  }

  override async resume(handle: Handle): Promise<boolean> {
    if (!isEmbedded(handle)) return super.resume(handle);
    const there = await this.#locate(handle);
    return (await there?.host.resume(there.node, there.start)) ?? false;
  }

  override async observe(handle: Handle): Promise<Observed> {
    if (!isEmbedded(handle)) return super.observe(handle);
    const there = await this.#locate(handle);
    if (there === undefined) return { state: 'gone', exit: HOLDER_GONE };
    // A paused process pauses all its nodes.
    if (stateOf(there.holder) === 'paused') return { state: 'paused', pid: there.holder.pid };
    return this.#observeNode(there);
  }

  override async find(node: string): Promise<readonly Handle[]> {
    const processes = await super.find(node);
    const holder = this.#holding.known();
    if (holder === undefined) return processes;
    const start = await (await this.#holding.hostOf(holder)).startOf(node);
    return start === null ? processes : [...processes, { ...holder, node, start }];
  }

  override async completeCopy(handle: Handle, dataDir: string): Promise<void> {
    if (!this.#isInMemory(handle)) return;
    const there = await this.#locate(handle);
    if (there === undefined) {
      throw new HarnessError('NODE_STATE', `what ${handle['node']} kept in memory has gone with its process`);
    }
    await there.host.saveDisk(there.node, dataDir);
  }

  override async wipe(part: StoredPart): Promise<void> {
    if (!this.#isInMemory(part.handle)) return super.wipe(part);
    const there = await this.#locate(part.handle);
    await there?.host.wipe(there.node);
  }

  override async damage(part: StoredPart, chunks: number): Promise<number> {
    if (!this.#isInMemory(part.handle)) return super.damage(part, chunks);
    const there = await this.#locate(part.handle);
    return (await there?.host.damage(there.node, chunks)) ?? 0;
  }

  override async stats(handle: Handle): Promise<Stats> {
    return isEmbedded(handle) ? {} : super.stats(handle);
  }

  override async dispose({ token, parts }: ClusterParts, graceMs: number): Promise<Disposed> {
    const embedded = parts.filter(({ handle }) => isEmbedded(handle));
    const nodes = await Promise.all(
      embedded.map(async ({ name, handle }) => ({ name, there: await this.#locate(handle) })),
    );
    const ran = await Promise.all(
      nodes.map(async ({ name, there }) =>
        there === undefined || (await this.#observeNode(there)).state === 'gone' ? [] : [name],
      ),
    );
    await this.#holding.endHere();
    // Other holders continue without them; one that does not answer is ended below.
    const elsewhere = new Map<number, NodeHost>();
    for (const { there } of nodes) {
      if (there !== undefined && there.holder.pid !== process.pid)
        elsewhere.set(there.holder.pid, there.host);
    }
    await Promise.all(Array.from(elsewhere.values(), (host) => answerOf(host.close(), this.#options.clock)));
    const disposed = await super.dispose({ token, parts: notEmbedded(parts) }, graceMs);
    return { stopped: [...disposed.stopped, ...ran.flat()].toSorted(), forced: disposed.forced };
  }

  override disposeNow({ token, parts }: ClusterParts): void {
    super.disposeNow({ token, parts: notEmbedded(parts) });
  }

  /** Nodes of a process that does not answer count as running. */
  async #observeNode({ host, holder, node, start }: NodeLocation): Promise<Observed> {
    const key = `${holder.pid} ${node} ${start}`;
    const asked = this.#late.get(key) ?? host.observe(node, start);
    const observed = await answerOf(asked, this.#options.clock);
    if (observed !== undefined) return observed;
    this.#late.set(key, asked);
    void Promise.allSettled([asked]).then(() => this.#late.delete(key));
    return isAlive(holder) ? { state: 'running', pid: holder.pid } : { state: 'gone', exit: HOLDER_GONE };
  }

  #isInMemory(handle: Handle): boolean {
    return isEmbedded(handle) && this.#options.embedded.store === 'memory';
  }

  async #locate(handle: Handle): Promise<NodeLocation | undefined> {
    const pid = Number(handle['pid']);
    const holder = { pid, startedAt: String(handle['startedAt']) };
    if (!isAlive(holder)) return undefined;
    const host = await this.#holding.hostOf({ pid, port: Number(handle['port']) });
    return { host, holder, node: String(handle['node']), start: Number(handle['start']) };
  }
}

function controlOf(holding: Holding) {
  const present = async () => {
    const holder = holding.known();
    return holder === undefined ? undefined : holding.hostOf(holder);
  };
  const host = async () => {
    const there = await present();
    if (there !== undefined) return there;
    throw new HarnessError(
      'FAULT_REFUSED',
      'the process that holds the nodes is gone, and their links with it',
    );
  };
  return { present, host };
}

function linksInMemory(holding: Holding): LinkControl {
  const { present, host } = controlOf(holding);
  return {
    knowsDiallers: true,
    begin: async (id, rule) => (await host()).beginLinkRule(id, rule),
    effect: async (id) => (await host()).linkEffect(id),
    // If the process is gone, so are its link faults.
    end: async (id) => (await present())?.endLinkRule(id),
  };
}

async function answerOf<T>(work: Promise<T>, clock: Clock): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  using _timer = clock.timer(ANSWER_MS, () => late.resolve(undefined), true);
  const [first] = await Promise.allSettled([Promise.race([work, late.promise])]);
  return first.status === 'fulfilled' ? first.value : undefined;
}

function isEmbedded(handle: Handle): boolean {
  return handle['node'] !== undefined;
}

function notEmbedded(parts: ClusterParts['parts']): ClusterParts['parts'] {
  return parts.filter(({ handle }) => !isEmbedded(handle));
}
