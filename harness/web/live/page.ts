/** Shows what the server saw, and requests only logs. */

import { element } from '../base/dom.ts';
import { clock, moment, NOTHING, quantity } from '../base/format.ts';
import { TimeChart } from '../chart/time-chart.ts';
import { Ring } from '../network/ring.ts';
import type { Delta, NodeView, Snapshot } from '../picture/live.ts';
import { Drawer } from './drawer.ts';
import { Flights } from './flights.ts';
import { LiveTable, type TableRow } from './live-table.ts';
import { Model, marksOf, troubleOf } from './model.ts';
import { LINK_MODES, type RingModes, ringContent, SIZE_MODES } from './ring-content.ts';
import { clusterCharts, frameOf, hasValues } from './series.ts';
import { type Connection, openStream } from './stream.ts';
import { debtText, networkText, orNothing, piecesOf, reserveText, tokens } from './text.ts';
import { TimeBar } from './time-bar.ts';

const LINKS_SHOWN = 60;
const EVENTS_SHOWN = 60;

const RING_HELP =
  'Overlay addresses go clockwise around the ring, from 0 at the top. Choose a node for its state, peers and log. Traffic is';
const CHARGED = 'what nodes charge each other for chunks.';
const SAID =
  'the bytes of what nodes say to each other. Nodes are not asked anything, so looking changes nothing.';
const NO_EVENT =
  'Nothing has happened since svcnet ui began to watch. Faults, nodes that die or return, changes of the storage radius and cheques appear here; try `svcnet kill node-0`.';

const NO_EVENT_YET = 'Nothing has happened yet. Faults, and nodes that stop or return, appear here.';
/** From messages; the others are from nodes' books. */
const SEEN_LINK_MODES = { traffic: LINK_MODES.traffic, all: LINK_MODES.all, none: LINK_MODES.none };
/** Without messages. */
const KNOWN_LINK_MODES = { all: LINK_MODES.all, none: LINK_MODES.none };

const NODE_COLUMNS = [
  { title: 'node' },
  { title: 'state' },
  { title: 'kind' },
  { title: 'overlay' },
  { title: 'radius', numeric: true },
  { title: 'depth', numeric: true },
  { title: 'reserve', numeric: true },
  { title: 'waiting', numeric: true },
  { title: 'peers', numeric: true },
  { title: 'requests', numeric: true },
  { title: 'processor', numeric: true },
  { title: 'memory', numeric: true },
  { title: 'chequebook', numeric: true },
] as const;

const LINK_COLUMNS = [
  { title: 'link' },
  { title: 'latency', numeric: true },
  { title: 'balance, accounting units' },
  { title: 'traffic, units/s', numeric: true },
  { title: 'cheques →, tokens', numeric: true },
  { title: 'cheques ←, tokens', numeric: true },
] as const;

const RECORDED = 'Recorded';
const NO_EVENT_PLAYED = 'Nothing has happened until now. Play the record, or go to its next event.';

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  stale: 'No news: svcnet does not answer. What is shown may be old.',
  lost: 'Connection lost. What is shown is old; trying again. Is svcnet still running?',
};

class Page {
  readonly #model: Model;
  readonly #modes: RingModes = { links: 'traffic', sizes: 'reserve' };
  readonly #ring: Ring;
  readonly #flights: Flights;
  readonly #drawer: Drawer;
  readonly #nodes: LiveTable;
  readonly #links: LiveTable;
  readonly #charts: readonly TimeChart[];
  readonly #events = element('ol', { class: 'events', reversed: true });
  readonly #summary = element('p', { class: 'summary', 'aria-live': 'off' });
  readonly #facts = element('ul', { class: 'head-facts' });
  readonly #sight = element('p', { class: 'quiet' });
  readonly #linksNote = element('p', { class: 'quiet' });
  readonly #time = new TimeBar();
  readonly #lacks = element('details', { class: 'lacks', hidden: true });
  readonly #linkChoice = element('span');
  #linkModes: Partial<typeof LINK_MODES> = {};
  readonly #messagesTitle = element('h2', {}, 'Messages');
  readonly #messages = element('ol', {
    class: 'messages',
    reversed: true,
    tabindex: 0,
    'aria-label': 'Messages',
  });
  #openedFrom: HTMLOrSVGElement | null = null;
  #dirty = false;

  constructor(model: Model, host: HTMLElement) {
    this.#model = model;
    const open = (name: string) => this.#open(name);
    this.#ring = new Ring(() => ringContent(model, this.#modes), { onPress: open });
    this.#flights = new Flights(this.#ring);
    this.#drawer = new Drawer({ onOpen: open, onClose: () => this.#close() });
    this.#nodes = new LiveTable('Nodes', NODE_COLUMNS, open);
    this.#links = new LiveTable('Links', LINK_COLUMNS);
    const charts = element('div', { class: 'charts' });
    const { isAsked } = model.cluster;
    host.replaceChildren(
      this.#time.root,
      this.#lacks,
      element(
        'section',
        { class: 'network', 'aria-labelledby': 'network-title' },
        element('h2', { id: 'network-title' }, 'Network'),
        this.#summary,
        element(
          'div',
          { class: 'controls' },
          this.#linkChoice,
          choice('Size', SIZE_MODES, (mode: RingModes['sizes']) => {
            this.#modes.sizes = mode;
            this.#ring.update();
          }),
        ),
        this.#ring.root,
        this.#ring.legend,
        this.#sight,
      ),
      element(
        'section',
        { class: 'happenings', 'aria-labelledby': 'events-title' },
        element('h2', { id: 'events-title' }, 'Events'),
        this.#facts,
        this.#events,
        this.#messagesTitle,
        this.#messages,
      ),
      element(
        'section',
        { class: 'over-time', 'aria-labelledby': 'charts-title' },
        element('h2', { id: 'charts-title' }, 'Over time'),
        charts,
      ),
      element(
        'section',
        { class: 'all-nodes', 'aria-labelledby': 'nodes-title' },
        element('h2', { id: 'nodes-title' }, 'Nodes'),
        this.#nodes.root,
      ),
      element(
        'section',
        { class: 'all-links', 'aria-labelledby': 'links-title', hidden: !isAsked },
        element('h2', { id: 'links-title' }, 'Balances and cheques'),
        this.#linksNote,
        this.#links.root,
      ),
    );
    host.parentElement?.append(this.#drawer.root);
    const frame = frameOf(model.rows, marksOf(model.events), model);
    this.#charts = clusterCharts(model.rows).map((data) => new TimeChart(data, frame));
    for (const { root } of this.#charts) root.hidden = true;
    charts.append(...this.#charts.map(({ root }) => root));
    this.#draw();
  }

  replace(snapshot: Snapshot): void {
    const part = this.#model.cluster.played?.part;
    this.#model.replace(snapshot);
    const { shown } = this.#drawer;
    if (shown !== undefined && this.#model.node(shown) === undefined) this.#close();
    // Another cluster's node has another log.
    else if (shown !== undefined && snapshot.cluster.played?.part !== part)
      this.#drawer.show(shown, this.#model);
    this.#changed();
  }

  apply(delta: Delta): void {
    this.#model.apply(delta);
    if (delta.moves !== undefined) this.#flights.add(delta.moves);
    const { moves: _moves, ...rest } = delta;
    if (Object.keys(rest).length > 0) this.#changed();
  }

  #changed(): void {
    if (this.#dirty) return;
    this.#dirty = true;
    requestAnimationFrame(() => {
      this.#dirty = false;
      this.#draw();
    });
  }

  #open(name: string): void {
    if (this.#drawer.shown === undefined)
      this.#openedFrom = document.activeElement as HTMLElement | SVGElement | null;
    document.body.classList.add('with-drawer');
    this.#drawer.show(name, this.#model);
    this.#ring.select(name);
  }

  #close(): void {
    document.body.classList.remove('with-drawer');
    this.#drawer.show(undefined, this.#model);
    this.#ring.select(undefined);
    this.#openedFrom?.focus();
    this.#openedFrom = null;
  }

  #draw(): void {
    const model = this.#model;
    const { rows, events, cluster } = model;
    const running = model.nodes.filter((node) => node.state === 'running').length;
    showLacks(this.#lacks, cluster.played?.lacks ?? []);
    this.#offerLinks();
    for (const part of [this.#messagesTitle, this.#messages]) part.hidden = model.messages === undefined;
    setText(this.#summary, networkText(model));
    showFacts(this.#facts, [
      ['nodes running', `${running} of ${model.nodes.length}`],
      ...(cluster.hasChain ? [['block of the chain', orNothing(cluster.height)] as const] : []),
      ['chunks waiting', orNothing(model.total('queue'))],
      ['API requests', quantity(model.total('requests'), '1/s')],
    ]);
    const help =
      cluster.played !== undefined && cluster.chunkSight === 'off'
        ? `${RING_HELP} not in this record, nor are links before the end of a scenario.`
        : `${RING_HELP} ${cluster.isAsked ? CHARGED : SAID}`;
    setText(
      this.#sight,
      cluster.chunkSight === 'on'
        ? `${help} Each moving dash is a chunk on its way; of many, a sample is drawn.`
        : cluster.isAsked
          ? `${help} To see chunks travel, start the cluster with: \`svcnet up --trace\``
          : help,
    );
    this.#ring.update();
    const frame = frameOf(rows, marksOf(events), model);
    for (const [i, data] of clusterCharts(rows).entries()) {
      const chart = this.#charts[i];
      if (chart === undefined) continue;
      // Nodes that share a process report nothing about it. What was shown stays: the page would jump.
      if (hasValues(data)) chart.root.hidden = false;
      chart.update(data, frame);
    }
    this.#nodes.show(model.nodes.map((node, place) => nodeRow(node, place, model)));
    this.#showLinks();
    showEvents(this.#events, model);
    showMessages(this.#messages, model);
    this.#time.update(model.time, cluster);
    this.#drawer.update(model);
  }

  /** Clusters of a record may have messages, or none. */
  #offerLinks(): void {
    const { cluster, messages } = this.#model;
    const isHeard = cluster.played === undefined || messages !== undefined;
    const modes = cluster.isAsked ? LINK_MODES : isHeard ? SEEN_LINK_MODES : KNOWN_LINK_MODES;
    if (modes === this.#linkModes) return;
    this.#linkModes = modes;
    this.#modes.links = isHeard ? 'traffic' : 'all';
    const onChoice = (mode: RingModes['links']) => {
      this.#modes.links = mode;
      this.#ring.update();
    };
    this.#linkChoice.replaceChildren(choice('Links', modes, onChoice));
  }

  #showLinks(): void {
    const { nodes, links } = this.#model;
    const sorted = [...links.values()].toSorted((a, b) => importance(b) - importance(a));
    const shown = sorted.slice(0, LINKS_SHOWN);
    setText(
      this.#linksNote,
      sorted.length > shown.length
        ? `The ${shown.length} links with the most cheques and debts, of ${sorted.length}. Debts are in accounting units; by cheque nodes pay what time does not forgive.`
        : 'Debts are in accounting units; by cheque nodes pay what time does not forgive.',
    );
    this.#links.show(
      shown.map((link) => ({
        key: `${link.a}-${link.b}`,
        cells: [
          `${nodes[link.a]?.name ?? ''} – ${nodes[link.b]?.name ?? ''}`,
          link.connected ? quantity(link.latencyMs, 'ms') : 'not connected',
          debtText(link, nodes),
          quantity(link.flow, 'count'),
          tokens(link.paidByA),
          tokens(link.paidByB),
        ],
      })),
    );
  }
}

function importance({
  paidByA,
  paidByB,
  balance,
}: {
  paidByA: string;
  paidByB: string;
  balance: string;
}): number {
  return (Number(paidByA) + Number(paidByB)) * 1e6 + Math.abs(Number(balance));
}

function nodeRow(node: NodeView, place: number, model: Model): TableRow {
  const trouble = troubleOf(node);
  const { chequebook } = node;
  return {
    key: node.name,
    bad: trouble !== undefined,
    cells: [
      node.name,
      trouble ?? 'runs',
      `${node.flavour} ${node.mode}`,
      node.overlay.slice(0, 8),
      orNothing(node.storageRadius),
      orNothing(node.depth),
      reserveText({ ...node, capacity: null }),
      orNothing(model.figure(place, 'queue')),
      orNothing(node.peers),
      quantity(model.figure(place, 'requests'), '1/s'),
      quantity(model.figure(place, 'cpu'), '%'),
      quantity(model.figure(place, 'memory'), 'bytes'),
      chequebook === null ? NOTHING : tokens(chequebook.available),
    ],
  };
}

function showEvents(list: HTMLOListElement, { events, cluster }: Model): void {
  const { startedAt, isAsked, played } = cluster;
  // Each cluster of a record counts its own.
  const newest = `${played?.part ?? 0}-${events.at(-1)?.number ?? 0}`;
  if (list.dataset['newest'] === newest) return;
  list.dataset['newest'] = newest;
  const shown = events.slice(-EVENTS_SHOWN).toReversed();
  list.replaceChildren(
    ...shown.map(({ at, kind, text }) =>
      element(
        'li',
        { class: kind },
        element(
          'time',
          { datetime: new Date(at).toISOString(), title: moment(at) },
          clock(at - startedAt, 0),
        ),
        element('span', {}, text),
      ),
    ),
  );
  const none = played === undefined ? (isAsked ? NO_EVENT : NO_EVENT_YET) : NO_EVENT_PLAYED;
  if (shown.length === 0) list.append(element('li', { class: 'none' }, ...shownText(none)));
}

function showMessages(list: HTMLOListElement, { messages = [], cluster }: Model): void {
  list.replaceChildren(
    ...messages
      .toReversed()
      .map(({ at, from, to, protocol, bytes }) =>
        element(
          'li',
          {},
          element('time', { datetime: new Date(at).toISOString() }, clock(at - cluster.startedAt)),
          element('span', {}, `${from} → ${to}`),
          element('span', {}, protocol),
          element('span', {}, quantity(bytes, 'bytes')),
        ),
      ),
  );
}

function showLacks(at: HTMLDetailsElement, lacks: readonly string[]): void {
  const text = lacks.join('\n');
  if (at.dataset['text'] === text) return;
  at.dataset['text'] = text;
  at.hidden = lacks.length === 0;
  at.replaceChildren(
    element('summary', {}, `Not in this record (${lacks.length})`),
    element('ul', {}, ...lacks.map((lack) => element('li', {}, lack))),
  );
}

function showFacts(list: HTMLElement, facts: readonly (readonly [string, string])[]): void {
  const texts = facts.flatMap(([name, value]) => [value, name]).join('\n');
  if (list.dataset['texts'] === texts) return;
  list.dataset['texts'] = texts;
  list.replaceChildren(
    ...facts.map(([name, value]) =>
      element('li', {}, element('strong', {}, value), element('span', {}, name)),
    ),
  );
}

function choice<M extends Readonly<Record<string, { readonly text: string }>>>(
  title: string,
  modes: M,
  onChoice: (mode: keyof M) => void,
): HTMLElement {
  const options = Object.entries(modes).map(([value, { text }]) => element('option', { value }, text));
  const select = element('select', {}, ...options);
  select.addEventListener('change', () => onChoice(select.value));
  return element('label', {}, `${title}: `, select);
}

function setText(at: HTMLElement, text: string): void {
  const plain = piecesOf(text)
    .map(({ piece }) => piece)
    .join('');
  if (at.textContent !== plain) at.replaceChildren(...shownText(text));
}

/** A command stays in one line. */
function shownText(text: string): (HTMLElement | string)[] {
  return piecesOf(text).map(({ piece, isCommand }) =>
    isCommand ? element('span', { class: 'command' }, piece) : piece,
  );
}

function start(): void {
  const status = element('p', { class: 'connection connecting', role: 'status' }, CONNECTIONS.connecting);
  const title = element('h1', {}, 'svcnet');
  const notice = element('p', { class: 'notice', role: 'alert', hidden: true });
  const main = element(
    'main',
    {},
    element('p', { class: 'quiet' }, 'Waiting for the first look at the cluster …'),
  );
  document.body.append(element('header', { class: 'top' }, title, status), notice, main);
  let page: Page | undefined;
  let connection: Connection = 'connecting';
  let isPlayed = false;
  const showConnection = () => {
    status.className = `connection ${connection}`;
    setText(status, isPlayed && connection === 'live' ? RECORDED : CONNECTIONS[connection]);
  };
  const describe = (cluster: Snapshot['cluster']) => {
    const { name, driver, seed, phase, record, played } = cluster;
    isPlayed = played !== undefined;
    showConnection();
    setText(title, `svcnet · ${name}${played === undefined ? '' : ` · ${played.verdict}`}`);
    document.title = `${name} – svcnet`;
    title.title = `${driver} driver${seed === null ? '' : `, seed ${seed}`}`;
    notice.hidden = phase === 'here';
    setText(
      notice,
      phase === 'ended'
        ? `The run has ended. What is shown is its last state. Its report is in ${record}`
        : `The cluster '${name}' has been removed. What is shown is its last state. Start it again with: \`svcnet up --name ${name}\``,
    );
  };
  openStream({
    onSnapshot(snapshot) {
      describe(snapshot.cluster);
      if (page === undefined) page = new Page(new Model(snapshot), main);
      else page.replace(snapshot);
    },
    onDelta(delta) {
      if (delta.cluster !== undefined) describe(delta.cluster);
      page?.apply(delta);
    },
    onConnection(now) {
      connection = now;
      showConnection();
      document.body.classList.toggle('old', connection === 'stale' || connection === 'lost');
    },
  });
}

start();
