import { grouped, inUnits, TOKEN_DECIMALS } from '../../base/format.ts';
import { NOTHING, quantity } from '../base/format.ts';
import { neighbourhoods } from '../network/layout.ts';
import type { LinkView, NodeView } from '../picture/live.ts';
import { type Model, troubleOf } from './model.ts';

const TOKEN_DIGITS_SHOWN = 6;

/** Token units → tokens: `1.25`, `0.000012`. */
export function tokens(units: string): string {
  const [whole = '', all = ''] = inUnits(BigInt(units), TOKEN_DECIMALS).split('.');
  const fraction = all.slice(0, TOKEN_DIGITS_SHOWN).replace(/0+$/, '');
  if (fraction === '' && whole === '0' && all !== '') return '< 0.000001';
  return `${grouped(whole)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `node-1 owes node-0 1,200`. */
export function debtText({ a, b, balance }: LinkView, nodes: readonly Pick<NodeView, 'name'>[]): string {
  if (balance === '0') return 'nothing owed';
  const [debtor, creditor] = balance.startsWith('-') ? [a, b] : [b, a];
  const amount = grouped(balance.replace('-', ''));
  return `${nodes[debtor]?.name ?? ''} owes ${nodes[creditor]?.name ?? ''} ${amount}`;
}

export function networkText(model: Model): string {
  const { nodes } = model;
  const ill = nodes.filter((node) => troubleOf(node) !== undefined);
  const areas = neighbourhoods(nodes).length;
  const sentences = [
    areas === 1
      ? 'One neighbourhood: each full node stores every chunk.'
      : areas > 1
        ? `${areas} neighbourhoods: a chunk is stored by the full nodes in the one that its address begins with.`
        : 'No node has said yet what it stores.',
    trafficText(model),
    ...(ill.length === 0
      ? []
      : [`In trouble: ${listText(ill.map((node) => `${node.name} (${troubleOf(node)})`))}.`]),
  ];
  return sentences.join(' ');
}

function trafficText(model: Model): string {
  const rates = (['pushed', 'retrieved', 'stored'] as const)
    .map((name) => ({ name, rate: model.total(name) }))
    .filter(({ rate }) => rate !== null && rate > 0);
  if (model.rows.length < 2)
    return model.cluster.played === undefined
      ? 'Rates are known after the second look.'
      : 'No rate is known yet.';
  if (rates.length === 0)
    return model.cluster.isAsked && isEmpty(model)
      ? `No chunk is stored yet. To see chunks move: \`svcnet run upload --name ${model.cluster.name}\``
      : 'No chunk moves at the moment.';
  const texts = rates.map(
    ({ name, rate }) => `${name} ${quantity(Math.max(1, Math.round(rate ?? 0)), 'count')}`,
  );
  return `Chunks per second: ${texts.join(', ')}.`;
}

function isEmpty({ nodes }: Model): boolean {
  const known = nodes.flatMap(({ reserve }) => reserve ?? []);
  return known.length > 0 && known.every((reserve) => reserve === 0);
}

const LISTED_MAX = 5;

function listText(texts: readonly string[]): string {
  const more = texts.length - LISTED_MAX;
  return more <= 0 ? texts.join(', ') : `${texts.slice(0, LISTED_MAX).join(', ')} and ${more} more`;
}

export function orNothing(value: string | number | null): string {
  return value === null ? NOTHING : typeof value === 'number' ? quantity(value, 'count') : value;
}

/** `1,204 of 4,194,304` */
export function reserveText({ reserve, capacity }: Pick<NodeView, 'reserve' | 'capacity'>): string {
  if (reserve === null) return NOTHING;
  return capacity === null
    ? quantity(reserve, 'count')
    : `${quantity(reserve, 'count')} of ${quantity(capacity, 'count')}`;
}

/** As typed: an npm script, npx, or the program. Other backticks are text. */
const COMMAND = /`((?:npm run |npx )?svcnet [^`]+)`/;

/** @param text with commands in backticks */
export function piecesOf(text: string): { readonly piece: string; readonly isCommand: boolean }[] {
  return text
    .split(COMMAND)
    .map((piece, i) => ({ piece, isCommand: i % 2 === 1 }))
    .filter(({ piece }) => piece !== '');
}
