/** Faults are plain data: one process begins one, another lists or heals it, and runs are replayed from folders. */

import type { z } from 'zod';
import type { Clock } from '../../../formats/clock.ts';
import type { Chain } from '../../chain/chain.ts';
import type { Capability, Driver, Handle } from '../../places/driver.ts';
import { ALL } from '../../places/links/rules.ts';
import { MESSAGES_MET } from '../../places/links/tap/faults/rule.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { GroupInput } from '../plan/definition-input.ts';
import type { FaultField } from './fields.ts';

const FAULT_LAYERS = [
  'link',
  'message',
  'machine',
  'members',
  'disk',
  'power',
  'clock',
  'memory',
  'chain',
] as const;
export type FaultLayer = (typeof FAULT_LAYERS)[number];

/** Counters by name, such as `{ 'bytes delayed': 4096 }`; all but `messages met` zero: the fault has changed nothing. */
export type Effect = Readonly<Record<string, number>>;

/** The cluster that faults are done to. */
export interface FaultContext {
  readonly clock: Clock;
  readonly name: string;
  /** Folder of logs, keys and data. */
  readonly folder: string;
  /** Decimal; absent when nothing follows from a seed. */
  readonly seed?: string | undefined;
  readonly nodes: readonly ClusterNode[];
  readonly chain: Chain;
  readonly driver: Driver;
  linkProxy(): Handle | undefined;
  /** @throws HarnessError `NODE_NOT_FOUND` with the nearest name */
  node(name: string): ClusterNode;
  readonly members: {
    add(group: GroupInput, options: { readonly signal: AbortSignal }): Promise<readonly ClusterNode[]>;
    remove(name: string, options: { readonly forGood: boolean }): Promise<void>;
  };
}

export interface FaultStart {
  readonly signal: AbortSignal;
  /** Records what undoes the next step. Call it first, in case this process dies. */
  readonly hold: (handle: Handle) => void;
  /** Unique among all faults that the cluster ever had. */
  readonly key: string;
}

/** Methods keep no state: earlier results are in the handle. @typeParam R request, without its kind */
export interface FaultKind<R = unknown> {
  /** Kebab case, as on the command line. */
  readonly name: string;
  readonly layer: FaultLayer;
  readonly about: string;
  readonly capability?: Capability;
  /** Nothing is drawn later: equal requests are equal faults. */
  readonly schema: z.ZodType<R>;
  /** How `svcnet fault` asks for the request. Default: one argument, the node. */
  readonly fields?: readonly FaultField[];
  note?(context: FaultContext): string | undefined;
  /** What it sets, such as `the pace of the chain`: only one active fault may set it. */
  sets?(request: R): string;
  /** `end` starts nodes, so faults that start none end before: those may keep nodes from becoming ready. */
  readonly startsNodes?: true;
  /** Over once begun, such as a reorganisation. */
  readonly momentary?: true;
  /** What it does: `kills node-3`. */
  text(request: R): string;
  /** Names of nodes, or `chain`. */
  targets(request: R): readonly string[];
  /** @returns JSON for the other methods @throws HarnessError */
  begin(context: FaultContext, request: R, start: FaultStart): Promise<Handle>;
  /** So far; called for the last time after `end`. */
  effect(context: FaultContext, handle: Handle): Promise<Effect>;
  end(context: FaultContext, handle: Handle): Promise<void>;
  /** What `end` cannot undo, such as `the data of node-2 is gone`. */
  stays?(handle: Handle): string | undefined;
}

/** `{ kind: 'kill', node: 'node-3' }`: the kind's name, and what its schema asks for. */
export interface FaultRequest {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** A fault that has begun. */
export interface Fault {
  /** `f1`, `f2`: unique in its cluster while it is active. */
  readonly id: string;
  readonly kind: string;
  readonly request: FaultRequest;
  readonly text: string;
  readonly targets: readonly string[];
  /** What it could not do on this cluster. */
  readonly note?: string | undefined;
  /** Ms since the epoch. */
  readonly at: number;
  /** Absent: it is active. */
  readonly endAt?: number;
  readonly effect: Effect;
}

export function hadEffect({ effect }: Pick<Fault, 'effect'>): boolean {
  return Object.entries(effect).some(([what, count]) => what !== MESSAGES_MET && count > 0);
}

/** Nodes may lack connections for as long after a fault. */
const REDIAL_MS = 10_000;
/** A node without work may write nothing for as long: it records several blocks at once. */
const QUIET_DISK_MS = 10_000;
/** Nodes without work may say nothing for as long. */
const QUIET_LINK_MS = 2_000;
const QUIET_MESSAGES_MS = 10_000;
const SPARED_CHANCE_MIN = 1e-9;
/** Their effect depends on what follows the message. */
const FOLLOWED = ['reorder', 'replay', 'cut'];
const SELECTING = ['kind', 'from', 'to', 'oneWay', 'share'];
const RESETTING = new Set([...SELECTING, 'reset']);
const SHAPING = new Set([...SELECTING, 'profile', 'latency', 'jitter', 'bandwidth', 'loss']);

/**
 * Faults that changed nothing and so prove nothing: no reset after another fault that may have cut its nodes off, no brief
 * fault of a disk or of links that may have been idle, no fault of messages that spared them by chance.
 */
export function inertAmong(faults: readonly Fault[]): readonly Fault[] {
  const meet = faults.some((fault) => metBy(fault) > 0);
  return faults.filter(
    (fault) =>
      !hadEffect(fault) &&
      !(fault.kind === 'message' ? isSpared(fault, meet) : isBrief(fault)) &&
      !(isLink(fault, RESETTING) && faults.some((other) => parted(other, fault))),
  );
}

function isBrief(fault: Fault): boolean {
  const lasted = lastedMs(fault);
  return fault.kind === 'disk-slow'
    ? lasted < QUIET_DISK_MS
    : (isLink(fault, SHAPING) || drops(fault)) && lasted < QUIET_LINK_MS;
}

function isSpared(fault: Fault, meet: boolean): boolean {
  const { share = 1, drop = 1, every = 1, ...request } = fault.request;
  const met = metBy(fault);
  if (met === 0) return meet || lastedMs(fault) < QUIET_MESSAGES_MS;
  if (FOLLOWED.some((field) => request[field] !== undefined)) return true;
  return (1 - Math.min(Number(share), Number(drop))) ** Math.floor(met / Number(every)) > SPARED_CHANCE_MIN;
}

function metBy({ effect }: Fault): number {
  return effect[MESSAGES_MET] ?? 0;
}

function lastedMs({ at, endAt = Infinity }: Fault): number {
  return endAt - at;
}

function drops({ kind, request }: Fault): boolean {
  return (kind === 'partition' || kind === 'isolate') && request['mode'] === 'drop';
}

function isLink({ kind, request }: Fault, fields: ReadonlySet<string>): boolean {
  const asked = Object.keys(request).filter((field) => request[field] !== undefined);
  return kind === 'link' && asked.every((field) => fields.has(field));
}

function parted(other: Fault, { at, targets }: Fault): boolean {
  const isBefore = other.at < at && (other.endAt ?? at) + REDIAL_MS >= at;
  return isBefore && other.targets.some((target) => targets.includes(target));
}

interface Placed {
  readonly name: string;
  /** Among the nodes of its cluster. */
  readonly place: number;
}

/** Nodes of unequal sides cannot reach each other. @returns undefined: it reaches all */
export function sideOf(node: Placed, { kind, ...request }: FaultRequest): number | undefined {
  if (kind === 'partition') {
    const groups = request['groups'] as readonly (readonly string[])[];
    const side = groups.findIndex((group) => group.includes(node.name));
    return side === -1 ? undefined : side;
  }
  if (kind === 'isolate') return sideBetween(node, [request['node'] as string], [ALL]);
  if (kind !== 'link' || !cuts(request)) return undefined;
  return sideBetween(node, request['from'] as readonly string[], request['to'] as readonly string[]);
}

/** Whether it is known of each link: of a share, only the links themselves know. */
function cuts({ share, stall, halfOpen, reset, refuse, cutAfter }: Omit<FaultRequest, 'kind'>): boolean {
  if (share !== undefined && share !== 1) return false;
  return stall === true || halfOpen === true || (reset === true && refuse === true) || cutAfter === 0;
}

/** A node at both ends reaches no other one of them. */
function sideBetween(
  { name, place }: Placed,
  from: readonly string[],
  to: readonly string[],
): number | undefined {
  const [isFrom, isTo] = [from, to].map((names) => names.includes(name) || names.includes(ALL));
  if (isFrom === true && isTo === true) return 2 + place;
  if (isFrom === true) return 1;
  return isTo === true ? 0 : undefined;
}

/** The first plural word of an effect: `power cuts`, `nodes that left`. */
const NOUN = /\b(\w+)s\b/;

/** `4,096 bytes delayed, 1 connection cut`; `no effect` */
export function effectText(effect: Effect): string {
  const counts = Object.entries(effect)
    .filter(([, count]) => count > 0)
    .map(
      ([what, count]) => `${count.toLocaleString('en-US')} ${count === 1 ? what.replace(NOUN, '$1') : what}`,
    );
  return [...(hadEffect({ effect }) ? [] : ['no effect']), ...counts].join(', ');
}
