import { randomUUID } from 'node:crypto';
import { HarnessError } from '../../../base/errors.ts';
import type { LinkControl, LinkRule } from '../../../places/links/rules.ts';
import type { FaultContext, FaultKind } from '../fault.ts';

type Shared<R> = Pick<FaultKind<R>, 'layer' | 'capability' | 'note' | 'begin' | 'effect' | 'end'>;

export function ruleFault<R>(ruleOf: (request: R) => Omit<LinkRule, 'seed'>): Shared<R> {
  return {
    layer: 'link',
    capability: 'linkFaults',
    note: (context) => (linksOf(context).knowsDiallers ? undefined : UNKNOWN_DIALLERS),
    async begin(context, request, { hold }) {
      const rule = randomUUID();
      hold({ rule });
      await linksOf(context).begin(rule, { ...ruleOf(request), seed: context.seed ?? '0' });
      return { rule };
    },
    effect: (context, { rule }) => linksOf(context).effect(String(rule)),
    end: (context, { rule }) => linksOf(context).end(String(rule)),
  };
}

const UNKNOWN_DIALLERS =
  'it is not known here which node opened a connection: a fault of a link may affect all links of its nodes';

function linksOf(context: FaultContext): LinkControl {
  const { driver } = context;
  const links = driver.can.linkFaults?.links(context.linkProxy());
  if (links !== undefined) return links;
  throw new HarnessError('FAULT_REFUSED', `links of the ${driver.name} driver cannot fail`);
}

export function betweenText(one: readonly string[], other: readonly string[]): string {
  const [names, others] = [one, other].map((list) => list.join(', '));
  if (names !== others || one.length < 2) return `between ${names} and ${others}`;
  return `among ${one.slice(0, -1).join(', ')} and ${one.at(-1)}`;
}
