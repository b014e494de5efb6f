import { CHUNK_PAYLOAD_SIZE } from '../../../formats/chunk/chunk.ts';
import type { GroupInput } from '../../cluster/plan/definition-input.ts';
import { ownResized } from '../kinds.ts';
import type { Recipe } from '../recipe.ts';
import type { PlannedScenario } from '../run-options.ts';
import type { ParameterSpec, Scenario } from '../scenario.ts';
import type { Milestone, Schedule } from '../schedule/schedule.ts';

type Operation = Schedule['operations'][number];

export interface Case {
  readonly recipe: Recipe;
  /** Absent: the scenario does everything itself, as its parameters say. */
  readonly schedule: Schedule | undefined;
}

export interface Size {
  readonly nodes: number;
  readonly faults: number;
  readonly operations: number;
  readonly uploadedBytes: number;
  readonly durationMs: number;
}

export function sizeOf({ recipe, schedule }: Case, scenario: Scenario): Size {
  return {
    nodes: groupsOf(recipe, scenario).reduce((sum, { count = 1 }) => sum + count, 0),
    faults: schedule?.faults.length ?? 0,
    operations: schedule?.operations.length ?? 0,
    uploadedBytes: bytesOf(schedule?.operations ?? []),
    durationMs: schedule?.durationMs ?? 0,
  };
}

export function groupsOf(
  { nodes, ownCounts = nodes === undefined, exactNodes, scenarios }: Recipe,
  { cluster }: Scenario,
): readonly GroupInput[] {
  const given: readonly GroupInput[] =
    nodes === undefined || typeof nodes === 'number' ? [{ count: nodes ?? cluster.nodes }] : nodes;
  const groups = ownCounts ? ownResized(given, cluster.nodes) : given;
  if (exactNodes) return groups;
  const { light = 0 } = cluster;
  const parameters = scenarios[0]?.parameters as PlannedScenario['parameters'] | undefined;
  const isDishonest = groups.some((group) => 'dishonest' in group);
  return [
    ...groups,
    ...(light === 0 ? [] : [{ mode: 'light' as const, count: light }]),
    ...(isDishonest || parameters === undefined ? [] : (cluster.groups?.(parameters) ?? [])),
  ];
}

export function withOwnCount(recipe: Recipe, count: number): Recipe {
  const { nodes, ownCounts = nodes === undefined } = recipe;
  if (!ownCounts) return recipe;
  const given = typeof nodes === 'object' ? nodes : [{ count }];
  return { ...recipe, nodes: ownResized(given, count), ownCounts: false };
}

/**
 * Another node takes the place of each missing one that is asked or broken.
 * @returns undefined when that leaves nothing of what nodes were asked
 */
export function withCount(given: Case, scenario: Scenario, index: number, count: number): Case | undefined {
  const groups = groupsOf(given.recipe, scenario)
    .map((group, n) => (n === index ? resized(group, count) : group))
    .filter((group) => group.count !== 0);
  const total = groups.reduce((sum, group) => sum + (group.count ?? 1), 0);
  const schedule = given.schedule && onNodes(given.schedule, total);
  if (isEmptied(given, schedule)) return undefined;
  return { recipe: { ...given.recipe, nodes: groups, ownCounts: false, exactNodes: true }, schedule };
}

/** Lists with an item per node keep those of the remaining nodes. */
function resized(group: GroupInput, count: number): GroupInput {
  const lists = Object.entries(group).map(([key, value]) =>
    Array.isArray(value) && value.length === (group.count ?? 1) ? [key, value.slice(0, count)] : [key, value],
  );
  return { ...(Object.fromEntries(lists) as GroupInput), count };
}

function onNodes(schedule: Schedule, total: number): Schedule {
  const faults = schedule.faults
    .map((fault) => ({ ...fault, request: renamed(fault.request, total) }))
    // Nothing passes between two nodes that have become one.
    .filter(({ request: { from, to } }) => !isOne(from) || String(from) !== String(to));
  const operations = schedule.operations
    .map((operation) => placed(operation, total))
    // A message whose two nodes have become one has no recipient.
    .filter((operation) => operation.do !== 'message' || operation.to !== operation.node);
  return { ...schedule, faults, operations };
}

function isOne(names: unknown): boolean {
  return Array.isArray(names) && names.length === 1 && names[0] !== 'all';
}

function placed(operation: Operation, total: number): Operation {
  const node = renamed(operation.node, total);
  return 'to' in operation
    ? { ...operation, node, to: renamed(operation.to, total) }
    : { ...operation, node };
}

/** Anywhere in a value: with four nodes, `node-7` becomes `node-3`. */
function renamed<T>(value: T, total: number): T {
  if (typeof value === 'string') {
    return value.replaceAll(
      /\bnode-(\d+)\b/g,
      (_name, index: string) => `node-${Number(index) % total}`,
    ) as T;
  }
  if (Array.isArray(value)) return [...new Set(value.map((item: unknown) => renamed(item, total)))] as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renamed(item, total)])) as T;
}

export function withFaults(given: Case, faults: readonly Schedule['faults'][number][]): Case {
  return { ...given, schedule: given.schedule && { ...given.schedule, faults: [...faults] } };
}

/** A fault of messages, and how many it may change; undefined: any number. */
export interface LimitedFault {
  readonly id: string;
  readonly first: number | undefined;
}

export function limitedFaultsOf({ schedule }: Case): LimitedFault[] {
  return (schedule?.faults ?? []).flatMap(({ id, request: { kind, first } }) =>
    kind === 'message' ? [{ id, first: typeof first === 'number' ? first : undefined }] : [],
  );
}

export function withFirst(given: Case, id: string, first: number): Case {
  const faults = given.schedule?.faults ?? [];
  return withFaults(
    given,
    faults.map((fault) => (fault.id === id ? { ...fault, request: { ...fault.request, first } } : fault)),
  );
}

/** Without a schedule's operations a scenario does a load of its own. */
function isEmptied({ schedule: before }: Case, after: Pick<Schedule, 'operations'> | undefined): boolean {
  return after?.operations.length === 0 && before?.operations.length !== 0;
}

/**
 * Downloads of dropped uploads go too, and faults that wait for uploads wait for fewer.
 * @returns undefined when none is left
 */
export function withOperations(given: Case, kept: readonly Operation[]): Case | undefined {
  const { schedule } = given;
  if (schedule === undefined) return given;
  const uploads = new Set(kept.flatMap((operation) => (operation.do === 'upload' ? [operation.n] : [])));
  const operations = kept.filter((operation) => operation.do !== 'download' || uploads.has(operation.upload));
  if (isEmptied(given, { operations })) return undefined;
  return withLoad(given, operations);
}

/** Faults that wait for uploads wait for as much less as there is less to upload. */
function withLoad(given: Case, operations: readonly Operation[]): Case {
  const { schedule } = given;
  if (schedule === undefined) return given;
  const shareOf = (sum: typeof bytesOf) => sum(operations) / Math.max(1, sum(schedule.operations));
  const shares: Readonly<Record<Milestone, number>> = {
    'chunks acknowledged': shareOf(bytesOf),
    'bytes acknowledged': shareOf(bytesOf),
    'uploads acknowledged': shareOf(uploadsOf),
  };
  const faults = schedule.faults.map(({ when, ...fault }) => ({
    ...fault,
    when: 'after' in when ? { ...when, after: Math.floor(when.after * shares[when.of]) } : when,
  }));
  return { ...given, schedule: { ...schedule, faults, operations: [...operations] } };
}

/** Uploads of more than one leaf, which can be smaller. */
export function largeUploadsOf({ schedule }: Case): { readonly n: number; readonly leaves: number }[] {
  return (schedule?.operations ?? []).flatMap((operation) =>
    operation.do === 'upload' && operation.size > CHUNK_PAYLOAD_SIZE
      ? [{ n: operation.n, leaves: Math.ceil(operation.size / CHUNK_PAYLOAD_SIZE) }]
      : [],
  );
}

/** @param n of the upload @param leaves fewer than it has */
export function withLeaves(given: Case, n: number, leaves: number): Case {
  const operations = (given.schedule?.operations ?? []).map((operation) =>
    operation.do === 'upload' && operation.n === n
      ? { ...operation, size: leaves * CHUNK_PAYLOAD_SIZE }
      : operation,
  );
  return withLoad(given, operations);
}

function uploadsOf(operations: readonly Operation[]): number {
  return operations.filter((operation) => operation.do === 'upload').length;
}

function bytesOf(operations: readonly Operation[]): number {
  return operations.reduce((sum, operation) => sum + (operation.do === 'upload' ? operation.size : 0), 0);
}

export function sooner(given: Case, share: number): Case {
  const { schedule } = given;
  if (schedule === undefined) return given;
  const less = (ms: number) => Math.round(ms * share);
  return {
    ...given,
    schedule: {
      ...schedule,
      durationMs: less(schedule.durationMs),
      faults: schedule.faults.map((fault) => ({
        ...fault,
        when: 'atMs' in fault.when ? { atMs: less(fault.when.atMs) } : fault.when,
        forMs: fault.forMs === undefined ? undefined : less(fault.forMs),
      })),
      operations: schedule.operations.map((operation) => ({ ...operation, atMs: less(operation.atMs) })),
    },
  };
}

export function oddOf({ recipe }: Case): NonNullable<Recipe['definition']['odd']> {
  return recipe.definition.odd ?? [];
}

export function withOdd(given: Case, odd: ReturnType<typeof oddOf>): Case {
  return { ...given, recipe: { ...given.recipe, definition: { ...given.recipe.definition, odd } } };
}

/** A parameter that says how much or how long, and the values it may be lowered to. */
export interface Amount {
  readonly name: string;
  readonly value: number;
  readonly least: number;
}

const AMOUNTS: readonly ParameterSpec['kind'][] = ['integer', 'size', 'duration'];

export function amountsOf({ recipe }: Case, { parameters }: Scenario): Amount[] {
  const given = recipe.scenarios[0]?.parameters ?? {};
  return Object.entries(parameters).flatMap(([name, { kind, min = 0, allowance = false }]) => {
    const value = given[name];
    return AMOUNTS.includes(kind) && !allowance && typeof value === 'number' && value > min
      ? [{ name, value, least: min }]
      : [];
  });
}

export function listsOf({ recipe }: Case): { readonly name: string; readonly items: readonly unknown[] }[] {
  return Object.entries(recipe.scenarios[0]?.parameters ?? {}).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 1 ? [{ name, items: value as unknown[] }] : [],
  );
}

export function withParameter(given: Case, name: string, value: unknown): Case {
  const [row, ...others] = given.recipe.scenarios;
  if (row === undefined) return given;
  const changed = { ...row, parameters: { ...row.parameters, [name]: value } };
  return { ...given, recipe: { ...given.recipe, scenarios: [changed, ...others] } };
}
