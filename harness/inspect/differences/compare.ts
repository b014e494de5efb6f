import { isOf } from '../../conformance/known-deviations.ts';
import type { KnownDifference } from '../../conformance/known-differences.ts';
import { exchangeOf, type Fact, STATUS } from './canonical.ts';

export interface Observation {
  /** Such as `svc` or `bee@/path`. */
  readonly name: string;
  readonly version: string;
  /** In the order seen. */
  readonly facts: readonly Fact[];
}

export interface Difference {
  readonly kind: Fact['kind'];
  readonly what: string;
  readonly seen: Readonly<Record<string, string | undefined>>;
  /** Why it is accepted. */
  readonly accepted?: string;
}

export interface Compared {
  readonly name: string;
  /** In the order seen, with accepted ones; if the status differs, the status alone. */
  readonly differences: readonly Difference[];
  /** Differences by kind, without accepted ones. */
  readonly counts: Readonly<Partial<Record<Fact['kind'], number>>>;
  readonly accepted: Readonly<Record<string, number>>;
  readonly compared: number;
}

export function compareObservations(
  [reference, ...others]: readonly [Observation, ...Observation[]],
  known: readonly KnownDifference[],
): Compared[] {
  return others.map((other) => compareTwo(reference, other, known));
}

function compareTwo(one: Observation, other: Observation, known: readonly KnownDifference[]): Compared {
  const there = new Map(other.facts.map((fact) => [keyOf(fact), fact]));
  const here = new Set(one.facts.map(keyOf));
  const pairs = [
    ...one.facts.map((fact) => pairOf(fact, there.get(keyOf(fact)))),
    ...other.facts.filter((fact) => !here.has(keyOf(fact))).map((fact) => pairOf(undefined, fact)),
  ];
  const unlike = pairs.filter(({ fact, seen: [left, right] }) => left !== right && isTold(fact, left, right));
  const otherwise = new Set(
    unlike.map(({ fact }) => exchangeOf(fact)).flatMap((at) => (at?.place === STATUS ? [at.exchange] : [])),
  );
  const differences = unlike
    .filter(({ fact }) => {
      const at = exchangeOf(fact);
      return at === undefined || at.place === STATUS || !otherwise.has(at.exchange);
    })
    .map(({ fact, seen: [left, right], shown }): Difference => {
      const row = known.find((candidate) =>
        isKnown(candidate, fact, [
          { ...one, seen: left },
          { ...other, seen: right },
        ]),
      );
      return {
        kind: fact.kind,
        what: fact.what,
        seen: { [one.name]: shown[0], [other.name]: shown[1] },
        ...(row === undefined ? {} : { accepted: `${row.kind}: ${row.why}` }),
      };
    });
  const open = differences.filter(({ accepted }) => accepted === undefined);
  return {
    name: other.name,
    differences,
    counts: countsBy(open, ({ kind }) => kind),
    accepted: countsBy(differences, ({ accepted }) => accepted),
    compared: one.facts.filter((fact) => there.has(keyOf(fact))).length,
  };
}

function pairOf(one: Fact | undefined, other: Fact | undefined) {
  const shown = [shownOf(one), shownOf(other)] as const;
  return { fact: (one ?? other) as Fact, seen: [one?.seen, other?.seen] as const, shown };
}

function shownOf(fact: Fact | undefined): string | undefined {
  return fact?.detail === undefined ? fact?.seen : `${fact.seen}: ${fact.detail}`;
}

function isTold({ ifBoth }: Fact, left: string | undefined, right: string | undefined): boolean {
  return ifBoth !== true || (left !== undefined && right !== undefined);
}

interface Side extends Pick<Observation, 'version'> {
  readonly seen: string | undefined;
}

function isKnown(row: KnownDifference, { kind, what }: Fact, [left, right]: readonly [Side, Side]): boolean {
  const isThis = (theirs: Side, other: Side) =>
    isOf(row, theirs.version) && row.isThis(theirs.seen, other.seen);
  return row.where.test(`${kind} ${what}`) && (isThis(left, right) || isThis(right, left));
}

function keyOf({ kind, what }: Fact): string {
  return `${kind} ${what}`;
}

function countsBy<T>(all: readonly T[], keyOf: (one: T) => string | undefined): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) {
    const key = keyOf(one);
    if (key !== undefined) counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
