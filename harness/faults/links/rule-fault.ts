/**
 * What all link faults share: a rule that the cluster's links follow from the fault's beginning to its end.
 */
import { randomUUID } from 'node:crypto';
import { HarnessError } from '../../base/errors.ts';
import type { LinkControl, LinkRule } from '../../links/rules.ts';
import type { FaultGround, FaultKind } from '../fault.ts';

type Shared<R> = Pick<FaultKind<R>, 'layer' | 'capability' | 'note' | 'begin' | 'effect' | 'end'>;

/** @param ruleOf rule of a request, except its seed @returns the part of a kind that all of them share */
export function ruleFault<R>(ruleOf: (request: R, ground: FaultGround) => Omit<LinkRule, 'seed'>): Shared<R> {
  return {
    layer: 'link',
    capability: 'linkFaults',
    note: (ground) => (linksOf(ground).knowsDiallers ? undefined : UNKNOWN_DIALLERS),
    async begin(ground, request, { hold }) {
      const rule = randomUUID();
      // The rule may be in force even if no answer comes in time.
      hold({ rule });
      await linksOf(ground).begin(rule, { ...ruleOf(request, ground), seed: ground.seed ?? '0' });
      return { rule };
    },
    effect: (ground, { rule }) => linksOf(ground).effect(String(rule)),
    end: (ground, { rule }) => linksOf(ground).end(String(rule)),
  };
}

const UNKNOWN_DIALLERS =
  'it is not known here which node opened a connection: a fault of a link may affect all links of its nodes';

function linksOf(ground: FaultGround): LinkControl {
  const { driver } = ground;
  const links = driver.links?.(ground.linkProxy());
  if (links !== undefined) return links;
  throw new HarnessError('FAULT_REFUSED', `the ${driver.name} driver has no links that can be made bad`);
}

/** Names of nodes, with `all` expanded. */
export function named(names: readonly string[], { nodes }: FaultGround): readonly string[] {
  return names.includes(ALL) ? nodes.map(({ name }) => name) : names;
}

/** Stands for every node. */
export const ALL = 'all';
