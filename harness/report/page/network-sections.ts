import { grouped, plural } from '../../base/format.ts';
import { byteSize, digits, quantity } from '../../web/base/format.ts';
import { networkSummary, stateText } from '../../web/network/layout.ts';
import type { NetworkPicture, PictureNode } from '../../web/picture/picture.ts';
import { RING_ATTRIBUTE } from '../../web/report/page-data.ts';
import { fairness, sum } from '../measures.ts';
import type { ScenarioResult } from '../result.ts';
import { Html, html, table } from './html.ts';

const SHORT_HEX = 8;
/** With the largest amounts. */
const PAIRS_MAX = 20;
const ROWS_SEEN = 20;
const TALL = html` class="tall"`;

export function network(index: number, { picture, metrics }: ScenarioResult): Html {
  if (picture === undefined) return html`<h3>Network</h3><p>No picture of the network was taken.</p>`;
  return html`<h3>Network</h3>
<p>${networkSummary(picture)}${picture.linksInAll !== undefined && html` The ${picture.links.length} links with the largest payments of ${picture.linksInAll} are drawn.`}</p>
<div class="split"><div ${new Html(`${RING_ATTRIBUTE}="${index}"`)}><noscript>The ring needs JavaScript; the table does not.</noscript></div>
<div${picture.nodes.length > ROWS_SEEN && TALL}>${nodesTable(picture)}</div></div>
${load(metrics)}`;
}

function nodesTable({ nodes, height }: NetworkPicture): Html {
  const columns = [
    { title: 'node' },
    { title: 'kind' },
    { title: 'state' },
    { title: 'overlay' },
    { title: 'peers', number: true },
    { title: 'depth', number: true },
    { title: 'radius', number: true },
    { title: 'reserve', number: true },
    { title: 'waiting', number: true },
    { title: 'block', number: true },
  ];
  const count = (value: number | null) => quantity(value, 'count');
  const rows = nodes.map((node) => [
    node.name,
    `${node.flavour} ${node.mode}`,
    state(node),
    html`<span class="mono" title="${node.overlay}">${node.overlay.slice(0, SHORT_HEX)}</span>`,
    count(node.peers?.length ?? null),
    count(node.depth),
    count(node.storageRadius),
    count(node.reserve),
    count(node.waiting),
    count(node.block),
  ]);
  const about = `At the end of the scenario${height === null ? '' : `, the chain at block ${height}`}. Reserve and waiting are chunks; radius is the storage radius.`;
  return html`${table('Nodes', columns, rows)}<p class="muted">${about}</p>`;
}

function state({ answers, state: word }: PictureNode): Html | string {
  return answers ? word : html`<strong class="bad">${stateText(word)}</strong>`;
}

/** Payload by requested node. */
function load(metrics: ScenarioResult['metrics']): Html | undefined {
  const byNode = Map.groupBy(metrics, ({ node }) => node);
  if (byNode.size < 2) return undefined;
  const loads = Array.from(byNode, ([node, rows]) => ({
    node,
    bytes: sum(rows, ({ bytes }) => bytes),
    count: sum(rows, ({ count, errors }) => count + errors),
  }));
  const most = Math.max(1, ...loads.map(({ bytes }) => bytes));
  const index = fairness(loads.map(({ bytes }) => bytes));
  const columns = [
    { title: 'node' },
    { title: 'share' },
    { title: 'payload', number: true },
    { title: 'operations', number: true },
  ];
  const rows = loads.map(({ node, bytes, count }) => [
    node,
    html`<span class="share" aria-hidden="true" style="--share: ${((bytes / most) * 100).toFixed(1)}%"></span>`,
    byteSize(bytes),
    quantity(count, 'count'),
  ]);
  const name = 'Load that the scenario put on each node';
  return html`<h4>${name}</h4>${table(name, columns, rows)}${index !== null && html`<p class="muted">Jain's index of the payload: ${digits(index)} (1: all nodes alike; ${digits(1 / loads.length)}: one node alone).</p>`}`;
}

export function durability({ ledger }: ScenarioResult): Html | undefined {
  const { acknowledged, found, missing, losses = [] } = ledger;
  if (acknowledged === 0) return undefined;
  if (found + missing === 0)
    return html`<h3>Durability</h3><p>${quantity(acknowledged, 'count')} chunks were acknowledged, and not all looked for at the end.</p>`;
  const ppm = (missing / acknowledged) * 1e6;
  const columns = [
    { title: 'chunk' },
    { title: 'closest node, which should hold it' },
    { title: 'uploaded to' },
    { title: 'reference' },
  ];
  const rows = losses.map(({ chunk, closest, uploader, reference }) => [
    html`<span class="mono">${chunk}</span>`,
    closest,
    uploader,
    html`<span class="mono" title="${reference}">${reference.slice(0, 16)}…</span>`,
  ]);
  const share = missing === 0 ? '' : ` (${quantity(ppm, 'count')} ppm)`;
  return html`<h3>Durability</h3>
<p class="ledger ${missing === 0 ? 'good' : 'bad'}">${quantity(acknowledged, 'count')} chunks acknowledged, ${quantity(found, 'count')} found, <strong>${quantity(missing, 'count')} lost${share}</strong>. A chunk is found when at least one node holds it.</p>
${rows.length > 0 && html`${table('Lost chunks', columns, rows)}${missing > rows.length && html`<p class="muted">The first ${rows.length} of ${missing}.</p>`}`}`;
}

interface Flow {
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
}

export function economics({ picture }: ScenarioResult): Html | undefined {
  if (picture === undefined) return html`<h3>Economics</h3><p>Nobody asked the nodes for their books.</p>`;
  const { links, nodes } = picture;
  const cheques = flows(
    links.flatMap(({ a, b, chequesFromA, chequesFromB }) => both(a, b, chequesFromA, chequesFromB)),
  );
  const byTime = flows(links.flatMap(({ a, b, timeFromA, timeFromB }) => both(a, b, timeFromA, timeFromB)));
  const debts = flows(
    links.map(({ a, b, balance }) => {
      const units = BigInt(balance);
      return units > 0n ? { from: b, to: a, amount: units } : { from: a, to: b, amount: -units };
    }),
  );
  const total = (list: readonly Flow[]) => list.reduce((all, { amount }) => all + amount, 0n);
  const books = nodes.flatMap(({ name, chequebook }) =>
    chequebook === null ? [] : [{ name, ...chequebook }],
  );
  const drawn = books.filter(({ total: held, available }) => held !== available);
  const facts = [
    cheques.length === 0
      ? 'No node has sent a cheque.'
      : `Cheques: ${grouped(total(cheques))} token units, promised by ${plural(new Set(cheques.map(({ from }) => from)).size, 'node')}.`,
    byTime.length === 0
      ? 'Nothing was settled by time.'
      : `Settled by time: ${grouped(total(byTime))} accounting units, in ${plural(byTime.length, 'direction')}.`,
    debts.length === 0
      ? 'No node owes another one anything.'
      : `Open debts: ${grouped(total(debts))} accounting units between ${plural(debts.length, 'pair')}.`,
    ...(drawn.length === 0
      ? []
      : [`Chequebooks with cheques that are not cashed: ${drawn.map(({ name }) => name).join(', ')}.`]),
  ];
  if (cheques.length + byTime.length + debts.length + drawn.length === 0) return undefined;
  return html`<h3>Economics</h3>
<p class="muted">What nodes counted at the end of the scenario, since the cluster began.</p>
<ul class="plain">${facts.map((fact) => html`<li>${fact}</li>`)}</ul>
${pairs('Cheques', cheques, ['from', 'to', 'token units'])}
${pairs('Settled by time', byTime, ['from', 'to', 'accounting units'])}
${pairs('Open debts', debts, ['debtor', 'creditor', 'accounting units'])}`;
}

function both(a: string, b: string, fromA: string, fromB: string): Flow[] {
  return [
    { from: a, to: b, amount: BigInt(fromA) },
    { from: b, to: a, amount: BigInt(fromB) },
  ];
}

/** Largest first, without zeros. */
function flows(all: readonly Flow[]): Flow[] {
  return all.filter((one) => one.amount > 0n).toSorted((a, b) => Number(b.amount - a.amount));
}

function pairs(
  name: string,
  all: readonly Flow[],
  titles: readonly [string, string, string],
): Html | undefined {
  if (all.length === 0) return undefined;
  const [from, to, unit] = titles;
  const most = all[0]?.amount ?? 1n;
  const columns = [{ title: from }, { title: to }, { title: unit, number: true }, { title: 'share' }];
  const rows = all
    .slice(0, PAIRS_MAX)
    .map((flow) => [
      flow.from,
      flow.to,
      grouped(flow.amount),
      html`<span class="share" aria-hidden="true" style="--share: ${Number((flow.amount * 1000n) / most) / 10}%"></span>`,
    ]);
  const which =
    all.length > PAIRS_MAX ? `the ${PAIRS_MAX} largest of ${all.length}` : plural(all.length, 'pair');
  return html`<details><summary>${name}: ${which}</summary>${table(name, columns, rows)}</details>`;
}
