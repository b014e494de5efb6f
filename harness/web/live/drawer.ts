/** One node in detail. */

import { element } from '../base/dom.ts';
import { NOTHING, quantity } from '../base/format.ts';
import { TimeChart } from '../chart/time-chart.ts';
import { neighbourhoods } from '../network/layout.ts';
import type { NodeView } from '../picture/live.ts';
import { LiveTable } from './live-table.ts';
import { LogView } from './log-view.ts';
import { type Model, marksOf, troubleOf } from './model.ts';
import { frameOf, hasValues, nodeCharts } from './series.ts';
import { debtText, orNothing, reserveText, tokens } from './text.ts';

const COPIED_MS = 1500;

const PEER_COLUMNS = [
  { title: 'peer' },
  { title: 'latency', numeric: true },
  { title: 'balance, accounting units' },
  { title: 'cheques to it', numeric: true },
  { title: 'from it', numeric: true },
] as const;

export interface DrawerEvents {
  readonly onOpen: (name: string) => void;
  /** By a person. */
  readonly onClose: () => void;
}

export class Drawer {
  readonly root: HTMLElement;
  readonly #events: DrawerEvents;
  #open: OpenNode | undefined;

  constructor(events: DrawerEvents) {
    this.#events = events;
    this.root = element('aside', {
      class: 'drawer',
      role: 'dialog',
      'aria-labelledby': 'drawer-title',
      hidden: true,
    });
    this.root.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#events.onClose();
    });
  }

  get shown(): string | undefined {
    return this.#open?.name;
  }

  show(name: string | undefined, model: Model): void {
    this.#open?.close();
    this.#open = name === undefined ? undefined : new OpenNode(name, model, this.#events);
    this.root.replaceChildren(...(this.#open?.parts ?? []));
    this.root.hidden = this.#open === undefined;
    this.#open?.title.focus();
    this.update(model);
  }

  update(model: Model): void {
    this.#open?.update(model);
  }
}

class OpenNode {
  readonly name: string;
  readonly title: HTMLElement;
  readonly parts: readonly HTMLElement[];
  readonly #state = element('p', { class: 'drawer-state' });
  readonly #facts = element('dl', { class: 'facts' });
  readonly #peers: LiveTable;
  readonly #chartHost = element('div');
  readonly #log: LogView | undefined;
  #charts: readonly TimeChart[] = [];

  constructor(name: string, model: Model, { onOpen, onClose }: DrawerEvents) {
    this.name = name;
    this.title = element('h2', { id: 'drawer-title', tabindex: -1 }, name);
    const close = element('button', { type: 'button', class: 'close', 'aria-label': `Close ${name}` }, '✕');
    close.addEventListener('click', onClose);
    this.#peers = new LiveTable(`Peers of ${name}`, PEER_COLUMNS, onOpen);
    this.#log = model.cluster.logged ? new LogView(name) : undefined;
    this.parts = [
      element('header', {}, this.title, this.#state, close),
      this.#facts,
      element('h3', {}, 'Addresses'),
      addresses(model.node(name) as NodeView),
      this.#chartHost,
      element('h3', {}, 'Peers and balances'),
      this.#peers.root,
      element('h3', {}, 'Log'),
      this.#log?.root ??
        element('p', { class: 'quiet' }, 'svcnet has not started this node: what runs it has its log.'),
    ];
  }

  update(model: Model): void {
    const place = model.placeOf(this.name);
    const node = model.node(this.name);
    if (place === undefined || node === undefined) return;
    const trouble = troubleOf(node);
    this.#state.textContent = trouble ?? 'runs';
    this.#state.className = `drawer-state${trouble === undefined ? '' : ' trouble'}`;
    this.#showFacts(node, place, model);
    this.#peers.show(
      model.linksOf(place).map((link) => {
        const other = model.nodes[link.a === place ? link.b : link.a] as NodeView;
        const [to, from] = link.a === place ? [link.paidByA, link.paidByB] : [link.paidByB, link.paidByA];
        const latency = link.connected ? quantity(link.latencyMs, 'ms') : 'not connected';
        return {
          key: other.name,
          cells: model.cluster.isAsked
            ? [other.name, latency, debtText(link, model.nodes), tokens(to), tokens(from)]
            : [other.name, link.connected ? 'connected' : 'not connected', NOTHING, NOTHING, NOTHING],
        };
      }),
    );
    this.#showCharts(model, place);
  }

  close(): void {
    this.#log?.close();
    for (const chart of this.#charts) chart.destroy();
  }

  #showFacts(node: NodeView, place: number, model: Model): void {
    const area = neighbourhoods(model.nodes).find(({ nodes }) => nodes.includes(node.name));
    const { waiting, waitingFor } = node;
    const facts: [string, string][] = [
      ['Node', `${node.flavour} ${node.version ?? ''}, ${node.mode}`],
      [
        'Neighbourhood',
        area === undefined
          ? NOTHING
          : area.prefix === ''
            ? 'all addresses'
            : `${area.prefix}…, ${area.nodes.length} full nodes`,
      ],
      ['Storage radius, depth', `${orNothing(node.storageRadius)}, ${orNothing(node.depth)}`],
      ['Reserve', `${reserveText(node)} chunks`],
      ['Connected peers', orNothing(node.peers)],
      [
        'Waiting to be pushed',
        `${orNothing(model.figure(place, 'queue'))} chunks${waiting === null || waiting === 0 || waitingFor === null ? '' : ` (${waitingFor})`}`,
      ],
      ['API requests', quantity(model.figure(place, 'requests'), '1/s')],
      ...(model.cluster.isAsked ? asked(node, model.cluster.height) : []),
      ...(node.faults === undefined ? [] : [['Faults', node.faults.join('; ')] as [string, string]]),
      ...(node.problem === null ? [] : [['Problem', node.problem] as [string, string]]),
    ];
    const texts = [...this.#facts.querySelectorAll('dd')];
    if (texts.length === facts.length) {
      for (const [i, [, text]] of facts.entries()) {
        const at = texts[i];
        if (at !== undefined && at.textContent !== text) at.textContent = text;
      }
      return;
    }
    this.#facts.replaceChildren(
      ...facts.flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]),
    );
  }

  #showCharts(model: Model, place: number): void {
    const { rows } = model;
    const charts = nodeCharts(rows, place).filter(hasValues);
    const frame = frameOf(rows, marksOf(model.events, this.name), model);
    if (charts.length !== this.#charts.length) {
      for (const chart of this.#charts) chart.destroy();
      this.#charts = charts.map((data) => new TimeChart(data, frame));
      this.#chartHost.replaceChildren(...this.#charts.map(({ root }) => root));
      return;
    }
    for (const [i, data] of charts.entries()) this.#charts[i]?.update(data, frame);
  }
}

function asked({ block, chequebook }: NodeView, height: number | null): [string, string][] {
  return [
    ['Block', `${orNothing(block)}${height === null ? '' : ` of ${orNothing(height)}`}`],
    [
      'Chequebook',
      chequebook === null
        ? 'none'
        : `${tokens(chequebook.available)} of ${tokens(chequebook.total)} tokens left`,
    ],
  ];
}

function addresses({ overlay, api, debug, p2p, ethereum, container }: NodeView): HTMLElement {
  const known: [string, string][] = [
    ['overlay', overlay],
    ['API', api],
    ...(debug === api ? [] : [['debug', debug] as [string, string]]),
    ['underlay', p2p],
    ['account', ethereum === '' ? '' : `0x${ethereum}`],
    ['container', container ?? ''],
  ];
  const rows = known
    .filter(([, text]) => text !== '')
    .flatMap(([name, text]) => [
      element('dt', {}, name),
      element('dd', {}, element('code', {}, text), copyButton(name, text)),
    ]);
  return element('dl', { class: 'addresses' }, ...rows);
}

function copyButton(name: string, text: string): HTMLButtonElement {
  const button = element('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${name}` }, 'copy');
  const say = (words: string) => {
    button.textContent = words;
    setTimeout(() => (button.textContent = 'copy'), COPIED_MS);
  };
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(text).then(
      () => say('copied'),
      () => say('not allowed'),
    );
  });
  return button;
}
