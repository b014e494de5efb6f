/** Draws SVG of the actual width, so that text has the page's size. */
import { element, svg } from '../base/dom.ts';
import {
  type Curve,
  curveOf,
  type DrawnNode,
  drawRing,
  type RingContent,
  type RingDrawing,
  type Shape,
} from './drawing.ts';

const AREA_PX = 7;

export interface RingEvents {
  readonly onPress: (name: string) => void;
  /** The keyboard reached a node; undefined: Escape. */
  readonly onKey?: (name: string | undefined) => void;
  /** Undefined: over none. */
  readonly onPoint?: (name: string | undefined) => void;
}

export class Ring {
  readonly root: HTMLElement;
  readonly legend = element('ul', { class: 'ring-legend' });
  readonly #content: () => RingContent;
  /** Others draw on the stage between these. */
  readonly #ground = svg('svg', { 'aria-hidden': 'true' });
  readonly #nodes = svg('svg');
  readonly #areas = svg('g', { class: 'ring-areas' });
  readonly #links = svg('g', { class: 'ring-links' });
  /** Ordered by address. */
  #items: ReadonlyMap<string, SVGGElement> = new Map();
  readonly #list = svg('g', {
    role: 'listbox',
    'aria-label': 'Nodes on the ring; arrow keys go from one to the next',
  });
  readonly #events: RingEvents;
  readonly #shown = new Map<Element, string>();
  #drawing: RingDrawing | undefined;
  #chosen: string | undefined;
  #dirty = false;

  constructor(content: () => RingContent, events: RingEvents) {
    this.#content = content;
    this.#events = events;
    this.#list.addEventListener('keydown', (event) => this.#onKey(event, events));
    this.#ground.append(this.#areas, this.#links);
    this.#nodes.append(this.#list);
    this.root = element('div', { class: 'ring-stage' }, this.#ground, this.#nodes);
    new ResizeObserver(() => this.update()).observe(this.root);
  }

  update(): void {
    if (this.#dirty) return;
    this.#dirty = true;
    requestAnimationFrame(() => {
      this.#dirty = false;
      if (this.root.clientWidth > 0) this.#draw(this.root.clientWidth);
    });
  }

  select(name: string | undefined): void {
    this.#chosen = name;
    this.update();
  }

  curve(from: number, to: number): Curve | undefined {
    const { nodes, centre } = this.#drawing ?? {};
    const [a, b] = [nodes?.[from], nodes?.[to]];
    return a && b && centre && curveOf(a.at, b.at, centre);
  }

  factsOf(name: string | undefined): string | undefined {
    return this.#drawing?.nodes.find((node) => node.name === name)?.facts;
  }

  /** Items of nodes in the order of addresses; those of nodes that stay are kept. */
  #follow(nodes: RingContent['nodes']): void {
    const known = this.#items;
    if (nodes.length === known.size && nodes.every(({ name }) => known.has(name))) return;
    const ordered = nodes.toSorted((a, b) => (a.overlay < b.overlay ? -1 : 1));
    this.#items = new Map(
      ordered.map(({ name }) => [name, known.get(name) ?? this.#item(name, this.#events)]),
    );
    const items = [...this.#items.values()];
    const focused = items.find((item) => item === document.activeElement);
    this.#list.replaceChildren(...items);
    focused?.focus();
    if (!items.some((item) => item.getAttribute('tabindex') === '0')) items[0]?.setAttribute('tabindex', '0');
  }

  #item(name: string, { onPress, onKey, onPoint }: RingEvents): SVGGElement {
    const item = svg('g', { 'data-name': name, role: 'option', tabindex: -1 });
    item.addEventListener('click', () => onPress(name));
    item.addEventListener('focus', () => {
      // The tab key reaches one of all nodes.
      for (const other of this.#items.values()) other.setAttribute('tabindex', other === item ? '0' : '-1');
      if (item.matches(':focus-visible')) onKey?.(name);
    });
    item.addEventListener('pointerenter', () => onPoint?.(name));
    item.addEventListener('pointerleave', () => onPoint?.(undefined));
    return item;
  }

  #onKey(event: KeyboardEvent, { onPress, onKey }: RingEvents): void {
    const items = [...this.#items.values()];
    const now = items.findIndex((item) => item === document.activeElement);
    const { key } = event;
    if (key === 'Escape') onKey?.(undefined);
    if (key === 'Enter' || key === ' ') onPress(items[now]?.dataset['name'] ?? '');
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    const end = { Home: 0, End: items.length - 1 }[key];
    const next = step === undefined ? end : (now + step + items.length) % items.length;
    if (next === undefined && key !== ' ') return;
    event.preventDefault();
    items[next ?? now]?.focus();
  }

  #draw(size: number): void {
    const content = this.#content();
    this.#follow(content.nodes);
    const drawing = drawRing(content, size, this.#chosen);
    this.#drawing = drawing;
    for (const half of [this.#ground, this.#nodes]) half.setAttribute('viewBox', `0 0 ${size} ${size}`);
    const { areas, centre, radius, leaders, links, legend } = drawing;
    this.#fill(this.#areas, { areas, size }, () => [
      svg('circle', { class: 'ring-line', cx: centre.x, cy: centre.y, r: radius }),
      ...areas.map(({ path, colour, title }) =>
        svg('path', { d: path, stroke: hue(colour), 'stroke-width': AREA_PX }, svg('title', {}, title)),
      ),
      ...areas.flatMap(({ bits }) =>
        bits === undefined ? [] : [svg('text', { x: bits.at.x, y: bits.at.y + 4 }, bits.text)],
      ),
    ]);
    this.#fill(this.#links, { leaders, links }, () => [
      svg('path', { d: leaders, stroke: hue('--phase-line') }),
      ...links.map(({ path, colour, width, opacity, dashed, title }) =>
        svg(
          'path',
          {
            d: path,
            stroke: hue(colour),
            'stroke-width': width,
            opacity,
            'stroke-dasharray': dashed === true ? '4 4' : undefined,
          },
          ...(title === undefined ? [] : [svg('title', {}, title)]),
        ),
      ),
    ]);
    for (const node of drawing.nodes) {
      const item = this.#items.get(node.name);
      if (item !== undefined) this.#fill(item, node, () => nodeParts(item, node));
    }
    this.#fill(this.legend, legend, () => legend.map(legendItem));
  }

  /** Only if it has changed: a tooltip stays, and nothing is painted again. */
  #fill(at: Element, drawn: unknown, parts: () => readonly Element[]): void {
    const text = JSON.stringify(drawn);
    if (this.#shown.get(at) === text) return;
    this.#shown.set(at, text);
    at.replaceChildren(...parts());
  }
}

function nodeParts(item: SVGGElement, node: DrawnNode): SVGElement[] {
  const { at, r, label, facts, chosen, trouble, shape } = node;
  item.setAttribute('class', `ring-node${trouble ? ' trouble' : ''}`);
  item.setAttribute('transform', `translate(${at.x} ${at.y})`);
  item.setAttribute('aria-selected', String(chosen));
  const parts = [
    // Tooltip and screen reader's name.
    svg('title', {}, facts),
    // A pointer needs more room than an eye.
    svg('circle', { class: 'ring-target', r: r + 4 }),
    ...shapeParts(shape, r),
  ];
  if (label === undefined) return parts;
  const { text, at: place, anchor, turn } = label;
  const [x, y] = [place.x - at.x, place.y - at.y];
  const turned = { transform: `translate(${x} ${y}) rotate(${turn})`, 'text-anchor': anchor };
  return [...parts, svg('text', { ...turned, y: 4, 'aria-hidden': 'true' }, text)];
}

function shapeParts({ square, fill, stroke, dashed, mark }: Shape, r: number): SVGElement[] {
  const painted = {
    class: 'ring-dot',
    fill: hue(fill),
    stroke: hue(stroke),
    'stroke-width': fill === '--paper' ? 3 : 1.5,
    'stroke-dasharray': dashed ? '3 2' : undefined,
  };
  return [
    square
      ? svg('rect', { ...painted, x: -r, y: -r, width: 2 * r, height: 2 * r, rx: r / 4 })
      : svg('circle', { ...painted, r }),
    ...(mark === ''
      ? []
      : [
          svg(
            'text',
            {
              class: 'ring-mark',
              'font-size': 1.3 * r,
              y: 0.45 * r,
              fill: hue('--paper'),
              'text-anchor': 'middle',
              'aria-hidden': 'true',
            },
            mark,
          ),
        ]),
  ];
}

function legendItem({ text, shape, colour, width = 1 }: RingDrawing['legend'][number]): HTMLLIElement {
  const line =
    colour === undefined ? [] : [svg('path', { d: 'M-8 0H8', stroke: hue(colour), 'stroke-width': width })];
  const parts = shape === undefined ? line : shapeParts(shape, 6);
  const key = svg('svg', { viewBox: '-8 -8 16 16', 'aria-hidden': 'true' }, ...parts);
  return element('li', {}, ...(parts.length === 0 ? [] : [key]), text);
}

function hue(variable: string): string {
  return `var(${variable})`;
}
