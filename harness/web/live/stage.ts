/**
 * The live ring. Nodes are buttons, so that keyboards and screen readers reach them; links are a canvas that
 * is redrawn when something has changed, and moving chunks a second canvas above it, so that a hundred nodes
 * with five thousand links cost nothing while chunks move.
 */

import { element, onThemeChange, themeColour } from '../base/dom.ts';
import { groupedDigits } from '../base/format.ts';
import { neighbourhoods, onCircle, type Point, shareOf, spreadLabels } from '../network/layout.ts';
import type { ChunkMove, LinkView, NodeView } from '../picture/live.ts';
import { Flights } from './flights.ts';
import { type Model, troubleOf } from './model.ts';

export const LINK_MODES = {
  traffic: 'with traffic now',
  all: 'all connections',
  debts: 'who owes whom',
  cheques: 'paid by cheque',
  none: 'none',
} as const;
export type LinkMode = keyof typeof LINK_MODES;

export const SIZE_MODES = {
  reserve: 'chunks in reserve',
  traffic: 'chunks per second',
  queue: 'chunks waiting',
  same: 'all the same',
} as const;
export type SizeMode = keyof typeof SIZE_MODES;

const SIZE_PX = { min: 280, max: 860 } as const;
const NARROW_PX = 520;
const MARGIN_PX = { narrow: 44, wide: 82 } as const;
const DOT_PX = { min: 4, max: 15 } as const;
/** With more nodes than this, only those in trouble and the chosen one are named. */
const NAMED_MAX = 44;
/** Distances from the ring to a name, and between two names. */
const LABEL_OUT_PX = { narrow: 25, wide: 33 } as const;
const LABEL_LINE_PX = 14;
const AREAS_NAMED_MAX = 32;
const MARKS: Readonly<Record<string, string>> = {
  crashed: '✕',
  killed: '✕',
  paused: '‖',
  stopped: '■',
  silent: '?',
};

interface Dot {
  readonly button: HTMLButtonElement;
  readonly label: HTMLElement;
  at: Point;
}

export class Stage {
  readonly root: HTMLElement;
  links: LinkMode = 'traffic';
  sizes: SizeMode = 'reserve';
  readonly #model: Model;
  readonly #ground = element('canvas', { class: 'ground', 'aria-hidden': 'true' });
  readonly #sky = element('canvas', { class: 'sky', 'aria-hidden': 'true' });
  readonly #dots: Dot[];
  readonly #group: HTMLElement;
  readonly #flights: Flights;
  readonly #order: readonly number[];
  #size = 0;
  #selected: number | undefined;
  #dirty = false;

  /** @param onOpen called when a node is chosen by pointer or keyboard */
  constructor(model: Model, onOpen: (name: string) => void) {
    this.#model = model;
    this.#order = model.nodes
      .map(({ overlay }, place) => ({ overlay, place }))
      .toSorted((a, b) => (a.overlay < b.overlay ? -1 : 1))
      .map(({ place }) => place);
    this.#dots = model.nodes.map(({ name }, place) => {
      const button = element('button', { type: 'button', class: 'dot', tabindex: -1, 'data-name': name });
      button.addEventListener('click', () => onOpen(name));
      button.addEventListener('focus', () => this.#rove(place));
      return {
        button,
        label: element('span', { class: 'dot-label', 'aria-hidden': 'true' }),
        at: { x: 0, y: 0 },
      };
    });
    this.#group = element(
      'div',
      { class: 'dots', role: 'group', 'aria-label': 'Nodes on the ring; arrow keys go from one to the next' },
      ...this.#order.flatMap((place) => [this.#dot(place).button, this.#dot(place).label]),
    );
    this.#group.addEventListener('keydown', (event) => this.#onKey(event));
    this.#rove(this.#order[0] ?? 0);
    this.root = element('div', { class: 'stage' }, this.#ground, this.#sky, this.#group);
    this.#flights = new Flights(this.#sky);
    new ResizeObserver(() => this.#resize()).observe(this.root);
    onThemeChange(() => this.update());
  }

  /** Draws once before the next frame, however often it is called until then. */
  update(): void {
    if (this.#dirty) return;
    this.#dirty = true;
    requestAnimationFrame(() => {
      this.#dirty = false;
      if (this.#size > 0) this.#draw();
    });
  }

  select(name: string | undefined): void {
    this.#selected = name === undefined ? undefined : this.#model.placeOf(name);
    this.update();
  }

  focus(name: string): void {
    this.#dots[this.#model.placeOf(name) ?? -1]?.button.focus();
  }

  show(moves: readonly ChunkMove[]): void {
    const flights = moves.flatMap(({ kind, from, to }) => {
      const [a, b] = [this.#dots[from], this.#dots[to]];
      return a === undefined || b === undefined
        ? []
        : [{ kind, from: a.at, to: b.at, bend: this.#bend(a.at, b.at) }];
    });
    this.#flights.add(flights);
  }

  #dot(place: number): Dot {
    return this.#dots[place] as Dot;
  }

  /** Makes one node, of all of them, reachable with the tab key. */
  #rove(place: number): void {
    for (const { button } of this.#dots) button.tabIndex = -1;
    const dot = this.#dots[place];
    if (dot !== undefined) dot.button.tabIndex = 0;
  }

  #onKey(event: KeyboardEvent): void {
    const now = this.#order.findIndex((place) => this.#dot(place).button === document.activeElement);
    const count = this.#order.length;
    const next = {
      ArrowRight: now + 1,
      ArrowDown: now + 1,
      ArrowLeft: now - 1 + count,
      ArrowUp: now - 1 + count,
      Home: 0,
      End: count - 1,
    }[event.key];
    const place = next === undefined ? undefined : this.#order[next % count];
    if (now === -1 || place === undefined) return;
    event.preventDefault();
    this.#dot(place).button.focus();
  }

  #resize(): void {
    const width = this.root.clientWidth;
    const size = Math.round(
      Math.max(SIZE_PX.min, Math.min(width, SIZE_PX.max, Math.max(420, innerHeight - 190))),
    );
    if (width === 0 || size === this.#size) return;
    this.#size = size;
    this.root.style.setProperty('--size', `${size}px`);
    for (const canvas of [this.#ground, this.#sky]) {
      canvas.width = size * devicePixelRatio;
      canvas.height = size * devicePixelRatio;
    }
    this.update();
  }

  #draw(): void {
    const { nodes } = this.#model;
    const size = this.#size;
    const narrow = size < NARROW_PX;
    const centre = { x: size / 2, y: size / 2 };
    const radius = size / 2 - (narrow ? MARGIN_PX.narrow : MARGIN_PX.wide);
    const room = (2 * Math.PI * radius) / Math.max(nodes.length, 1);
    const largest = Math.max(DOT_PX.min, Math.min(DOT_PX.max, room * 0.45));
    const shares = spreadLabels(
      nodes.map(({ overlay }) => shareOf(overlay)),
      (2 * largest + 2) / (2 * Math.PI * radius),
    );
    const weights = nodes.map((node, place) => this.#weight(node, place));
    const heaviest = Math.max(1, ...weights);
    const named = nodes.length <= NAMED_MAX;
    for (const [place, node] of nodes.entries()) {
      const share = shares[place] as number;
      const dot = this.#dot(place);
      dot.at = onCircle(share, radius, centre);
      const ill = troubleOf(node) !== undefined;
      const weighted = this.sizes === 'same' ? 0.7 : Math.sqrt((weights[place] as number) / heaviest);
      // A node in trouble has no figures, but must be visible.
      const scale = ill ? 1 : weighted;
      const r = largest * (0.55 + 0.45 * scale);
      this.#place(dot, node, { place, r, centre, radius, share, narrow, named });
    }
    this.#drawGround(centre, radius, narrow);
  }

  #weight({ reserve }: NodeView, place: number): number {
    const figure = (name: 'pushed' | 'retrieved' | 'stored' | 'queue') =>
      this.#model.figure(place, name) ?? 0;
    if (this.sizes === 'traffic') return figure('pushed') + figure('retrieved') + figure('stored');
    return this.sizes === 'queue' ? figure('queue') : (reserve ?? 0);
  }

  #place(
    { button, label, at }: Dot,
    node: NodeView,
    shown: {
      place: number;
      r: number;
      centre: Point;
      radius: number;
      share: number;
      narrow: boolean;
      named: boolean;
    },
  ): void {
    const { place, r, centre, radius, share, narrow, named } = shown;
    const trouble = troubleOf(node);
    const chosen = place === this.#selected;
    button.className = `dot state-${node.problem === null ? node.state : 'silent'} ${node.mode} flavour-${node.flavour}${chosen ? ' chosen' : ''}`;
    button.style.cssText = `left:${at.x}px;top:${at.y}px;--r:${r}px`;
    const facts = [
      node.name,
      trouble ?? 'runs',
      ...(node.mode === 'full' ? [] : [`${node.mode} node`]),
      ...(node.reserve === null ? [] : [`${groupedDigits(String(node.reserve))} chunks in reserve`]),
      `overlay ${node.overlay.slice(0, 8)}`,
    ].join(', ');
    if (button.getAttribute('aria-label') !== facts) {
      button.setAttribute('aria-label', facts);
      button.title = facts;
    }
    const mark = MARKS[node.problem === null ? node.state : 'silent'] ?? '';
    if (button.textContent !== mark) button.textContent = mark;
    const short = node.name.replace(/^node-/, '');
    const wanted = named || trouble !== undefined || chosen;
    label.textContent = wanted ? (narrow ? short : node.name) : '';
    label.className = `dot-label${trouble === undefined ? '' : ' trouble'}${chosen ? ' chosen' : ''}`;
    const out = radius + (narrow ? LABEL_OUT_PX.narrow : LABEL_OUT_PX.wide);
    // At the top and the bottom names are side by side: every second one is placed further out.
    const further = Math.abs(Math.sin(share * 2 * Math.PI)) < 0.7 && this.#order.indexOf(place) % 2 === 1;
    const end = onCircle(share, out + (further ? LABEL_LINE_PX : 0), centre);
    const side = narrow ? 'centre' : end.x > centre.x ? 'right' : 'left';
    label.style.cssText = `left:${end.x}px;top:${end.y}px`;
    label.dataset['side'] = side;
  }

  #drawGround(centre: Point, radius: number, narrow: boolean): void {
    const context = this.#ground.getContext('2d') as CanvasRenderingContext2D;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, this.#size, this.#size);
    this.#drawAreas(context, centre, radius, narrow);
    this.#drawLinks(context);
  }

  #drawAreas(context: CanvasRenderingContext2D, centre: Point, radius: number, narrow: boolean): void {
    const colour = (variable: string) => themeColour(this.root, variable);
    const areas = neighbourhoods(this.#model.nodes);
    const outer = radius + (narrow ? 14 : 20);
    const angle = (share: number) => (share - 0.25) * 2 * Math.PI;
    context.lineWidth = narrow ? 4 : 7;
    for (const [i, { from, to, prefix }] of areas.entries()) {
      const gap = prefix === '' ? 0 : Math.min(0.002, (to - from) / 8);
      context.strokeStyle = colour(i % 2 === 0 ? '--area-1' : '--area-2');
      context.beginPath();
      context.arc(centre.x, centre.y, outer, angle(from + gap), angle(to - gap));
      context.stroke();
      if (prefix === '' || narrow || areas.length > AREAS_NAMED_MAX) continue;
      const at = onCircle((from + to) / 2, radius - 30, centre);
      context.fillStyle = colour('--muted');
      context.font = `12px ${colour('--mono')}`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillText(prefix, at.x, at.y);
    }
    // A line from an overlay's position to its node, which may be drawn elsewhere so that it covers no other.
    context.strokeStyle = colour('--phase-line');
    context.lineWidth = 1;
    context.beginPath();
    for (const [place, { overlay }] of this.#model.nodes.entries()) {
      const [from, to] = [onCircle(shareOf(overlay), outer, centre), this.#dot(place).at];
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
    }
    context.stroke();
  }

  #drawLinks(context: CanvasRenderingContext2D): void {
    const colour = (variable: string) => themeColour(this.root, variable);
    const links = [...this.#model.links.values()];
    const selected = this.#selected;
    const others = selected === undefined ? 1 : 0.25;
    const mode = this.links;
    if (mode === 'all') {
      const many = Math.max(0.12, Math.min(0.7, 60 / links.length));
      const paths = links.filter(({ connected }) => connected);
      this.#stroke(context, paths, { colour: colour('--phase-line'), alpha: many * others, width: 1 });
    } else if (mode !== 'none') {
      const weights = links.map((link) => ({ link, weight: weightOf(link, mode) }));
      const heaviest = weights.reduce((most, { weight }) => Math.max(most, weight), 0);
      const hue = colour({ traffic: '--muted', debts: '--series-4', cheques: '--series-2' }[mode]);
      for (const { link, weight } of weights) {
        if (weight === 0) continue;
        const share = Math.sqrt(weight / heaviest);
        this.#stroke(context, [link], {
          colour: hue,
          alpha: (0.15 + 0.55 * share) * others,
          width: 0.75 + 3.5 * share,
        });
      }
    }
    if (selected === undefined) return;
    const own = this.#model.linksOf(selected).filter(({ connected }) => connected);
    this.#stroke(context, own, { colour: colour('--accent'), alpha: 0.8, width: 1.25 });
  }

  #stroke(
    context: CanvasRenderingContext2D,
    links: readonly LinkView[],
    { colour, alpha, width }: { colour: string; alpha: number; width: number },
  ): void {
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const { a, b } of links) {
      const [from, to] = [this.#dot(a).at, this.#dot(b).at];
      const bend = this.#bend(from, to);
      context.moveTo(from.x, from.y);
      context.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Bends towards the middle, so that links between neighbours are visible beside the ring. */
  #bend(from: Point, to: Point): Point {
    return { x: (from.x + to.x + this.#size) / 4, y: (from.y + to.y + this.#size) / 4 };
  }
}

function weightOf(
  { flow, balance, paidByA, paidByB }: LinkView,
  mode: 'traffic' | 'debts' | 'cheques',
): number {
  if (mode === 'traffic') return flow;
  return mode === 'debts' ? Math.abs(Number(balance)) : Number(paidByA) + Number(paidByB);
}
