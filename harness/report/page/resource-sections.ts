import { byteSize, duration, quantity } from '../../web/base/format.ts';
import type { NodeResources, ResourceCurve, Resources } from '../resources.ts';
import { type Html, html, table } from './html.ts';

const WIDTH = 160;
const HEIGHT = 30;

const KINDS = [
  {
    key: 'cpu',
    title: 'CPU',
    colour: 1,
    text: (value: number) => quantity(value, '%'),
    note: 'percent of one core',
  },
  { key: 'memory', title: 'memory', colour: 3, text: byteSize, note: 'resident' },
  { key: 'eventLoop', title: 'event loop', colour: 2, text: duration, note: 'p99 of its delay' },
] as const;

export function resources(used: Resources | undefined, parts: readonly string[]): Html {
  if (used === undefined || used.nodes.length === 0) {
    const links = parts.map(
      (part, i) => html`${i === 0 ? '' : ', '}<a href="${part}/report.html">${part}</a>`,
    );
    const text =
      parts.length === 0
        ? html`The run has kept no series of its nodes.`
        : html`Each part of the run had nodes of its own, which its report shows: ${links}.`;
    return html`<section id="resources"><h2>Resources by node</h2><p>${text}</p></section>`;
  }
  const tops = KINDS.map(({ key }) => Math.max(0, ...used.nodes.map((node) => node[key]?.peak ?? 0)));
  const scales = KINDS.map(
    ({ title, note, text }, i) => `${title} (${note}) up to ${text(tops[i] as number)}`,
  );
  const total = Number.isNaN(used.cpuSeconds)
    ? ''
    : ` All nodes together: ${quantity(used.cpuSeconds, 's')} of CPU time.`;
  return html`<section id="resources"><h2>Resources by node</h2>
<p>Highest value in each part of the run; the same scale for all nodes: ${scales.join('; ')}.${total}</p>
<ul class="multiples">${used.nodes.map((node) => multiple(node, tops))}</ul>
${traffic(used.traffic)}</section>`;
}

function multiple(node: NodeResources, tops: readonly number[]): Html {
  const name = node.node === 'all' ? 'all nodes (one process)' : node.node;
  const rows = KINDS.map(({ key, title, colour, text }, i) => {
    const curve = node[key];
    return (
      curve !== undefined &&
      html`<dt>${title}</dt><dd>${sparkline(curve, tops[i] as number, colour)}<span>${text(curve.mean)} mean, ${text(curve.peak)} peak</span></dd>`
    );
  });
  return html`<li><h3>${name}</h3><dl>${rows}</dl></li>`;
}

function sparkline({ points }: ResourceCurve, top: number, colour: number): Html {
  const x = (i: number) => (points.length === 1 ? WIDTH / 2 : (i / (points.length - 1)) * WIDTH);
  const y = (value: number) => HEIGHT - 1 - (top === 0 ? 0 : (value / top) * (HEIGHT - 3));
  let pen = 'M';
  const path = points
    .map((value, i) => {
      if (value === null) {
        pen = 'M';
        return '';
      }
      const step = `${pen}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = 'L';
      // A single value between gaps is a dash, or it would be invisible.
      return points[i + 1] == null && (i === 0 || points[i - 1] === null) ? `${step}h1.5` : step;
    })
    .join('');
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" class="spark colour-${colour}"><path d="${path}"/></svg>`;
}

function traffic(rows: Resources['traffic']): Html | undefined {
  const moving = rows.filter(({ sent, received }) => sent + received > 0);
  if (moving.length === 0) return undefined;
  const most = moving[0] === undefined ? 1 : moving[0].sent + moving[0].received;
  const columns = [
    { title: 'protocol' },
    { title: 'sent', number: true },
    { title: 'received', number: true },
    { title: 'share' },
  ];
  const cells = moving.map(({ protocol, sent, received }) => [
    protocol,
    byteSize(sent),
    byteSize(received),
    html`<span class="share" aria-hidden="true" style="--share: ${(((sent + received) / most) * 100).toFixed(1)}%"></span>`,
  ]);
  return html`<h3>Bytes by protocol</h3>${table('Bytes by protocol', columns, cells)}`;
}
