/** Says which links are bad, how, and the effect: plain data. */
import { FREE, isSlow, type LinkConditions, type Shape, shapeOf } from './conditions.ts';
import { uniform } from './line.ts';

export const ALL = 'all';

export function covers(names: readonly string[], node: string): boolean {
  return names.includes(node) || names.includes(ALL);
}

export interface LinkRule {
  /** Links from each first group to its second: names, or `ALL`. */
  readonly between: readonly (readonly [from: readonly string[], to: readonly string[]])[];
  /** Only from the first group to the second. */
  readonly oneWay: boolean;
  /** Share of these links, 0 to 1, chosen by the seed. */
  readonly share: number;
  readonly seed: string;
  readonly conditions: LinkConditions;
}

const LINK_COUNTERS = [
  'bytes delayed',
  'bytes held back',
  'bytes swallowed',
  'connections delayed',
  'connections held back',
  'connections reset',
  'connections refused',
  'connections cut',
  'closes delayed',
  'connections past the proxy ended',
] as const;
export type LinkCounter = (typeof LINK_COUNTERS)[number];
export type LinkEffect = Readonly<Record<LinkCounter, number>>;

export interface LastingLinks {
  readonly seed: string;
  /** Both ways; undefined: unknown name. */
  readonly between: (one: string | undefined, other: string | undefined) => LinkConditions | undefined;
  /** What a node sends at most, on all links; absent: no limit. */
  readonly bytesPerSecond?: number | undefined;
}

export interface LinkControl {
  /** If not, a condition affects all links of its nodes. */
  readonly knowsDiallers: boolean;
  begin(id: string, rule: LinkRule): Promise<void>;
  /** So far; known after its end, too. @throws when the id is unknown */
  effect(id: string): Promise<LinkEffect>;
  /** Nothing happens when it has ended already. */
  end(id: string): Promise<void>;
}

const ENDED_KEPT = 1000;

export class ActiveRule {
  readonly rule: LinkRule;
  readonly counts: Record<LinkCounter, number>;
  readonly slows: boolean;
  readonly #chosen = new Map<string, boolean>();

  constructor(rule: LinkRule) {
    this.rule = rule;
    this.slows = isSlow(shapeOf([rule]));
    this.counts = Object.fromEntries(LINK_COUNTERS.map((name) => [name, 0])) as Record<LinkCounter, number>;
  }

  /** Whether it affects traffic from the first to the second. @param from,to possible names; undefined: any node */
  meets(from: readonly string[] | undefined, to: readonly string[] | undefined): boolean {
    const { between, oneWay } = this.rule;
    return between.some(
      ([one, other]) => this.#joins(one, from, other, to) || (!oneWay && this.#joins(one, to, other, from)),
    );
  }

  #joins(
    one: readonly string[],
    first: readonly string[] | undefined,
    other: readonly string[],
    second: readonly string[] | undefined,
  ): boolean {
    return (first ?? one).some(
      (a) => covers(one, a) && (second ?? other).some((b) => b !== a && covers(other, b) && this.#has(a, b)),
    );
  }

  #has(a: string, b: string): boolean {
    const { share, seed } = this.rule;
    if (share >= 1) return true;
    const link = [a, b].toSorted().join(' ');
    let chosen = this.#chosen.get(link);
    if (chosen === undefined) {
      chosen = uniform(`${seed} ${link}`)() < share;
      this.#chosen.set(link, chosen);
    }
    return chosen;
  }
}

export class Register<R, A extends { readonly counts: Readonly<Record<string, number>> }> {
  readonly #begun: (rule: R) => A;
  readonly #active = new Map<string, A>();
  readonly #ended = new Map<string, A['counts']>();

  constructor(begun: (rule: R) => A) {
    this.#begun = begun;
  }

  get active(): readonly A[] {
    return [...this.#active.values()];
  }

  get isEmpty(): boolean {
    return this.#active.size === 0;
  }

  /** @throws RangeError when the id is taken */
  begin(id: string, rule: R): A {
    if (this.#active.has(id) || this.#ended.has(id)) throw new RangeError(`rule ${id} is known already`);
    const begun = this.#begun(rule);
    this.#active.set(id, begun);
    return begun;
  }

  end(id: string): A | undefined {
    const rule = this.#active.get(id);
    if (rule === undefined) return undefined;
    this.#active.delete(id);
    this.#ended.set(id, rule.counts);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > ENDED_KEPT && oldest !== undefined) this.#ended.delete(oldest);
    return rule;
  }

  /** @throws RangeError when it is unknown */
  effect(id: string): A['counts'] {
    const counts = this.#active.get(id)?.counts ?? this.#ended.get(id);
    if (counts === undefined) throw new RangeError(`no rule ${id}`);
    return { ...counts };
  }
}

export class Rules extends Register<LinkRule, ActiveRule> {
  constructor() {
    super((rule) => new ActiveRule(rule));
  }

  of(from: readonly string[] | undefined, to: readonly string[] | undefined): readonly ActiveRule[] {
    if (this.isEmpty) return [];
    return this.active.filter((rule) => rule.meets(from, to));
  }
}

/** What rules do to one direction of a link, and which counts what. */
export class Direction {
  readonly rules: readonly ActiveRule[];
  readonly shape: Shape;
  readonly lasting: LinkConditions | undefined;
  /** Rules that have delayed something on it; this does not keep ended ones alive. */
  readonly #delayed: WeakSet<ActiveRule>;

  /** @param before the direction so far @param lasting default: as before */
  constructor(rules: readonly ActiveRule[], before?: Direction, lasting?: LinkConditions) {
    this.#delayed = before === undefined ? new WeakSet() : before.#delayed;
    this.lasting = lasting ?? before?.lasting;
    this.rules = rules;
    this.shape = shapeOf([
      ...(this.lasting === undefined ? [] : [{ conditions: this.lasting, oneWay: false }]),
      ...rules.map(({ rule: { conditions, oneWay } }) => ({ conditions, oneWay })),
    ]);
  }

  countBytes(bytes: number): void {
    for (const one of this.rules) {
      const { conditions } = one.rule;
      if (conditions.halfOpen === true) one.counts['bytes swallowed'] += bytes;
      if (conditions.stall === true) one.counts['bytes held back'] += bytes;
      if (!one.slows) continue;
      one.counts['bytes delayed'] += bytes;
      if (this.#delayed.has(one)) continue;
      this.#delayed.add(one);
      one.counts['connections delayed']++;
    }
  }

  countClose(): void {
    for (const { rule, counts } of this.rules)
      if (rule.conditions.slowCloseMs !== undefined) counts['closes delayed']++;
  }

  count(counter: LinkCounter, condition: keyof LinkConditions): void {
    for (const { rule, counts } of this.rules)
      if (rule.conditions[condition] !== undefined) counts[counter]++;
  }
}

export function isFree({ shape }: Direction): boolean {
  return shape === FREE;
}

/** @param before returned if its rules are the same */
export function changed(before: Direction, rules: readonly ActiveRule[]): Direction {
  const same = rules.length === before.rules.length && rules.every((rule, i) => rule === before.rules[i]);
  return same ? before : new Direction(rules, before);
}
