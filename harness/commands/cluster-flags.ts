import {
  CLUSTER_OPTIONS,
  type ClusterFlag,
  type ClusterTable,
  type FlaggedOption,
  type FlavourCount,
} from '../cluster/plan/options/table.ts';

type Value<Flag extends ClusterFlag> = Flag extends { readonly parse: (...given: never[]) => infer Parsed }
  ? Parsed
  : Flag['flag'] extends `${string}<${string}`
    ? string
    : boolean;

export type ClusterFlags = {
  readonly [Name in Exclude<FlaggedOption, 'with'> as Name extends 'ports' ? 'port' : Name]?: Value<
    ClusterTable[Name]['flag']
  >;
} & { readonly with: readonly FlavourCount[] };

interface Given {
  readonly name: FlaggedOption;
  readonly row: { readonly schema?: unknown; readonly flag: ClusterFlag; readonly besideSnapshot?: true };
  readonly long: string;
  readonly value: unknown;
}

function givenOptions(flags: object): Given[] {
  const values: Readonly<Record<string, unknown>> = { ...flags };
  return Object.entries(CLUSTER_OPTIONS).flatMap(([name, row]) => {
    if (!('flag' in row)) return [];
    const long = longOf(row.flag.flag);
    const value = values[attributeOf(long)];
    return isGiven(long, value) ? [{ name: name as FlaggedOption, row, long, value }] : [];
  });
}

export function longOf(flag: string): string {
  return /--[\w-]+/.exec(flag)?.[0] ?? flag;
}

/** `--cold-gossip` → `coldGossip`, `--no-batches` → `batches`. */
export function attributeOf(long: string): string {
  return long.replace(/^--(no-)?/, '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Left out, lists are empty, and what `--no-` turns off is on. */
export function isGiven(long: string, value: unknown): boolean {
  const isOn = long.startsWith('--no-') && value === true;
  return value !== undefined && !isOn && !(Array.isArray(value) && value.length === 0);
}

/** Keys of a cluster file; `nodesWith` applies those of nodes. */
export function keysFrom(flags: object): Record<string, unknown> {
  const keys = givenOptions(flags).filter(({ name, row }) => row.schema !== undefined && name !== 'nodes');
  return Object.fromEntries(keys.map(({ name, value }) => [name, value]));
}

export function freshOptions(flags: object): string[] {
  return givenOptions(flags)
    .filter(({ row }) => row.flag.anyCluster !== true)
    .map(({ long }) => long);
}

export function besideSnapshot(flags: object): string | undefined {
  return givenOptions(flags).find(({ row }) => row.besideSnapshot !== true)?.long;
}
