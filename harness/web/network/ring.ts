/**
 * The network as a ring of addresses: nodes at their overlays, neighbourhoods as arcs around them, links
 * across. Drawn for its actual width, so that its text is as large as the rest of the page's.
 */

import { element, svg } from '../base/dom.ts';
import type { NetworkPicture, PictureLink, PictureNode } from '../picture/picture.ts';
import {
  NEIGHBOURHOODS_NAMED_MAX,
  neighbourhoods,
  networkSummary,
  onCircle,
  type Point,
  shareOf,
  spreadLabels,
  stateText,
} from './layout.ts';

const SIZE_MAX_PX = 560;
/** Around the ring: names of nodes and neighbourhoods. */
const MARGIN_PX = 74;
const MARGIN_NARROW_PX = 48;
const NARROW_PX = 480;
const LABEL_PX = 15;
const NODE_RADIUS_PX = { min: 5, max: 10 } as const;
/** With more nodes than this, only those in trouble are labelled. */
const NAMED_MAX = 60;
/** With more nodes than this, names are drawn like rays: side by side they would overlap. */
const LEVEL_NAMES_MAX = 12;

const CHOOSE = 'Choose a node to see its links and what is known of it.';

export class NetworkRing {
  readonly root: HTMLElement;
  readonly #stage = element('div', { class: 'ring-stage' });
  /** Facts about the chosen node, or about the one under the pointer. */
  readonly #facts = element('p', { class: 'ring-facts', 'aria-live': 'polite' }, CHOOSE);
  readonly #picture: NetworkPicture;
  #points = new Map<string, Point>();
  #selected: string | undefined;
  #width = 0;
  #drawn: SVGSVGElement | undefined;

  /** Drawn as soon as `root` is on the page and has a width. */
  constructor(picture: NetworkPicture) {
    this.#picture = picture;
    this.root = element('div', { class: 'ring' }, this.#stage, this.#facts, legend(picture));
    new ResizeObserver(() => this.#resize()).observe(this.#stage);
  }

  #resize(): void {
    const width = Math.min(this.#stage.clientWidth, SIZE_MAX_PX);
    if (width === 0 || width === this.#width) return;
    this.#width = width;
    this.#draw();
  }

  #draw(): void {
    const size = this.#width;
    if (size === 0) return;
    const hadFocus = this.#drawn?.contains(document.activeElement) === true;
    const centre = { x: size / 2, y: size / 2 };
    const radius = size / 2 - (size < NARROW_PX ? MARGIN_NARROW_PX : MARGIN_PX);
    const { nodes, links } = this.#picture;
    this.#points = new Map(
      nodes.map(({ name, overlay }) => [name, onCircle(shareOf(overlay), radius, centre)]),
    );
    const drawn = svg(
      'svg',
      {
        viewBox: `0 0 ${size} ${size}`,
        width: size,
        height: size,
        role: 'group',
        'aria-label': 'Ring of overlays',
      },
      svg('title', {}, networkSummary(this.#picture)),
      this.#arcs(radius, centre, size),
      this.#links(links, centre),
      svg('g', { class: 'ring-chosen-links' }),
      this.#nodes(nodes, radius, centre, size),
    );
    this.#stage.replaceChildren(drawn);
    this.#drawn = drawn;
    this.#highlight();
    if (hadFocus) this.#focusable()?.focus();
  }

  #arcs(radius: number, centre: Point, size: number): SVGGElement {
    const areas = neighbourhoods(this.#picture.nodes);
    const group = svg('g', { class: 'ring-areas' });
    group.append(svg('circle', { class: 'ring-line', cx: centre.x, cy: centre.y, r: radius }));
    for (const [i, area] of areas.entries()) {
      const whole = area.prefix === '';
      const gap = whole ? 0 : Math.min(0.003, (area.to - area.from) / 8);
      const path = whole
        ? svg('circle', { cx: centre.x, cy: centre.y, r: radius + 16, fill: 'none' })
        : svg('path', { d: arc(area.from + gap, area.to - gap, radius + 16, centre), fill: 'none' });
      path.setAttribute('class', `ring-area shade-${i % 2}`);
      const bits = whole ? 'the whole address space' : `addresses that begin with ${area.prefix}`;
      path.append(svg('title', {}, `Neighbourhood ${bits}: ${area.nodes.join(', ')}`));
      group.append(path);
      if (whole || areas.length > NEIGHBOURHOODS_NAMED_MAX || size < NARROW_PX) continue;
      const at = onCircle((area.from + area.to) / 2, radius - 20, centre);
      group.append(
        svg('text', { class: 'ring-bits', x: at.x, y: at.y + 4, 'text-anchor': 'middle' }, area.prefix),
      );
    }
    return group;
  }

  /** Links without cheques are one path: a network of a hundred nodes has five thousand of them. */
  #links(links: readonly PictureLink[], centre: Point): SVGGElement {
    const connected = links.filter((link) => link.connected);
    const plain = connected.map((link) => this.#curve(link, centre)).join('');
    const paid = links
      .map((link) => ({ link, amount: BigInt(link.chequesFromA) + BigInt(link.chequesFromB) }))
      .filter(({ amount }) => amount > 0n);
    const most = paid.reduce((max, { amount }) => (amount > max ? amount : max), 1n);
    const many = connected.length > 200 ? ' many' : '';
    return svg(
      'g',
      { class: `ring-links${many}` },
      svg('path', { class: 'ring-link', d: plain }),
      ...paid.map(({ link, amount }) =>
        svg(
          'path',
          {
            class: 'ring-cheques',
            d: this.#curve(link, centre),
            'stroke-width': 1 + 2 * Math.sqrt(Number((amount * 1000n) / most) / 1000),
          },
          svg('title', {}, `Cheques between ${link.a} and ${link.b}`),
        ),
      ),
    );
  }

  #curve({ a, b }: PictureLink, centre: Point): string {
    const [from, to] = [this.#points.get(a), this.#points.get(b)];
    if (from === undefined || to === undefined) return '';
    const bend = { x: (from.x + to.x + 2 * centre.x) / 4, y: (from.y + to.y + 2 * centre.y) / 4 };
    return `M${round(from)}Q${round(bend)} ${round(to)}`;
  }

  #nodes(nodes: readonly PictureNode[], radius: number, centre: Point, size: number): SVGGElement {
    const most = Math.max(1, ...nodes.map(({ reserve }) => reserve ?? 0));
    const labels = spreadLabels(
      nodes.map(({ overlay }) => shareOf(overlay)),
      LABEL_PX / (2 * Math.PI * (radius + 30)),
    );
    const group = svg('g', {
      class: 'ring-nodes',
      role: 'listbox',
      'aria-label': 'Nodes; arrow keys move between them',
    });
    const ordered = nodes
      .map((node, i) => ({ node, label: labels[i] as number }))
      .toSorted((a, b) => (a.node.overlay < b.node.overlay ? -1 : 1));
    for (const [place, { node, label }] of ordered.entries()) {
      const at = this.#points.get(node.name) as Point;
      const scale = Math.sqrt((node.reserve ?? 0) / most);
      const r = NODE_RADIUS_PX.min + (NODE_RADIUS_PX.max - NODE_RADIUS_PX.min) * scale;
      const item = svg(
        'g',
        {
          class: `ring-node ${node.answers ? 'well' : 'gone'} ${node.mode} flavour-${node.flavour}`,
          role: 'option',
          'data-name': node.name,
          'aria-label': nodeText(node),
          'aria-selected': 'false',
          tabindex: place === 0 ? 0 : -1,
        },
        svg('circle', { class: 'ring-target', cx: at.x, cy: at.y, r: 14 }),
        shape(node, at, r),
      );
      if (nodes.length <= NAMED_MAX || !node.answers)
        item.append(
          ...nodeLabel(node, at, { label, radius, centre, size, rays: nodes.length > LEVEL_NAMES_MAX }),
        );
      // The focus that a press gives selects the node before the click comes.
      let wasSelected = false;
      item.addEventListener('pointerdown', () => {
        wasSelected = this.#selected === node.name;
      });
      item.addEventListener('click', () => this.#choose(wasSelected ? undefined : node.name));
      item.addEventListener('focus', () => this.#choose(node.name));
      item.addEventListener('pointerenter', () => this.#tell(node));
      item.addEventListener('pointerleave', () => this.#tell(this.#chosen()));
      group.append(item);
    }
    group.addEventListener('keydown', (event) =>
      this.#onKey(
        event,
        ordered.map(({ node }) => node.name),
      ),
    );
    return group;
  }

  #onKey(event: KeyboardEvent, names: readonly string[]): void {
    if (event.key === 'Escape') this.#choose(undefined);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const now = names.indexOf(this.#selected ?? '');
    const end = { Home: 0, End: names.length - 1 }[event.key];
    const next = step === undefined ? end : (now + step + names.length) % names.length;
    if (next === undefined) return;
    event.preventDefault();
    this.#choose(names[next]);
    this.#focusable()?.focus();
  }

  #focusable(): SVGGElement | null | undefined {
    return this.#drawn?.querySelector<SVGGElement>('.ring-node[tabindex="0"]');
  }

  #choose(name: string | undefined): void {
    if (name === this.#selected) return;
    this.#selected = name;
    this.#highlight();
  }

  #chosen(): PictureNode | undefined {
    return this.#picture.nodes.find(({ name }) => name === this.#selected);
  }

  #tell(node: PictureNode | undefined): void {
    const text = node === undefined ? CHOOSE : nodeText(node);
    if (this.#facts.textContent !== text) this.#facts.textContent = text;
  }

  #highlight(): void {
    if (this.#drawn === undefined) return;
    this.#tell(this.#chosen());
    const known = this.#selected !== undefined && this.#points.has(this.#selected);
    this.#drawn.classList.toggle('has-choice', known);
    for (const [place, item] of this.#drawn.querySelectorAll<SVGGElement>('.ring-node').entries()) {
      const chosen = item.dataset['name'] === this.#selected;
      item.setAttribute('aria-selected', String(chosen));
      item.setAttribute('tabindex', chosen || (!known && place === 0) ? '0' : '-1');
    }
    const centre = { x: this.#width / 2, y: this.#width / 2 };
    const own = this.#picture.links
      .filter(({ a, b }) => a === this.#selected || b === this.#selected)
      .map((link) => this.#curve(link, centre));
    this.#drawn.querySelector('.ring-chosen-links')?.replaceChildren(svg('path', { d: own.join('') }));
  }
}

/**
 * Our own full nodes are round, others square, light and boot nodes hollow; nodes that do not answer are
 * crossed out.
 */
function shape({ answers, flavour }: PictureNode, { x, y }: Point, r: number): SVGElement {
  if (!answers)
    return svg('path', { class: 'ring-cross', d: `M${x - 7} ${y - 7}l14 14M${x + 7} ${y - 7}l-14 14` });
  return flavour === 'svc'
    ? svg('circle', { class: 'ring-dot', cx: x, cy: y, r })
    : svg('rect', { class: 'ring-dot', x: x - r, y: y - r, width: 2 * r, height: 2 * r });
}

interface LabelPlace {
  /** Share of the address space. */
  readonly label: number;
  readonly radius: number;
  readonly centre: Point;
  readonly size: number;
  readonly rays: boolean;
}

function nodeLabel(
  node: PictureNode,
  at: Point,
  { label, radius, centre, size, rays }: LabelPlace,
): SVGElement[] {
  const end = onCircle(label, radius + 28, centre);
  const right = end.x >= centre.x;
  const short = size < NARROW_PX ? node.name.replace(/^node-/, '') : node.name;
  const degrees = label * 360 - (right ? 90 : 270);
  const turned = rays ? { transform: `rotate(${degrees.toFixed(1)} ${round(end)})` } : {};
  return [
    svg('line', { class: 'ring-leader', x1: at.x, y1: at.y, x2: end.x, y2: end.y }),
    svg(
      'text',
      { x: end.x + (right ? 3 : -3), y: end.y + 4, 'text-anchor': right ? 'start' : 'end', ...turned },
      short,
    ),
  ];
}

function nodeText({
  name,
  flavour,
  mode,
  state,
  answers,
  overlay,
  reserve,
  peers,
  storageRadius,
}: PictureNode): string {
  const facts = [
    `${flavour} ${mode}`,
    ...(answers ? [] : [stateText(state)]),
    `overlay ${overlay.slice(0, 8)}`,
    ...(peers === null ? [] : [`${peers.length} peers`]),
    ...(storageRadius === null ? [] : [`storage radius ${storageRadius}`]),
    ...(reserve === null ? [] : [`${reserve} chunks in reserve`]),
  ];
  return `${name}: ${facts.join(', ')}`;
}

function legend({ nodes, links }: NetworkPicture): HTMLElement {
  const flavours = [...new Set(nodes.map(({ flavour }) => flavour))].toSorted();
  const has = (mode: string) => nodes.some((node) => node.mode === mode && node.answers);
  const items: [string, string][] = [
    ...flavours.map((flavour): [string, string] => [
      `dot flavour-${flavour}`,
      `${flavour} node, larger with more reserve`,
    ]),
    ...(has('light') ? [['dot light', 'light node'] as [string, string]] : []),
    ...(has('boot') ? [['dot boot', 'boot node'] as [string, string]] : []),
    ...(nodes.some(({ answers }) => !answers) ? [['cross', 'does not answer'] as [string, string]] : []),
    ['line', 'link'],
    ...(links.some(({ chequesFromA, chequesFromB }) => chequesFromA !== '0' || chequesFromB !== '0')
      ? [['line cheques', 'link with cheques, wider with more'] as [string, string]]
      : []),
    ['arc', 'neighbourhood'],
  ];
  return element(
    'ul',
    { class: 'ring-legend' },
    ...items.map(([kind, text]) =>
      element('li', {}, element('span', { class: `key ${kind}`, 'aria-hidden': 'true' }), text),
    ),
  );
}

function arc(from: number, to: number, radius: number, centre: Point): string {
  const [start, end] = [onCircle(from, radius, centre), onCircle(to, radius, centre)];
  return `M${round(start)}A${radius} ${radius} 0 ${to - from > 0.5 ? 1 : 0} 1 ${round(end)}`;
}

function round({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
