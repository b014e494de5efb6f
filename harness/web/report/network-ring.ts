import { element } from '../base/dom.ts';
import type { RingContent } from '../network/drawing.ts';
import { stateText } from '../network/layout.ts';
import { Ring } from '../network/ring.ts';
import type { NetworkPicture } from '../picture/picture.ts';

const CHOOSE = 'Choose a node to see its links and what is known of it.';

export function networkRing(picture: NetworkPicture): HTMLElement {
  const content = ringContent(picture);
  const facts = element('p', { class: 'ring-facts', 'aria-live': 'polite' }, CHOOSE);
  let chosen: string | undefined;
  const choose = (name: string | undefined) => {
    chosen = name;
    ring.select(name);
    tell(name);
  };
  const tell = (name: string | undefined) => {
    facts.textContent = ring.factsOf(name) ?? CHOOSE;
  };
  const ring = new Ring(() => content, {
    onPress: (name) => choose(name === chosen ? undefined : name),
    onKey: choose,
    onPoint: (name) => tell(name ?? chosen),
  });
  return element('div', { class: 'ring' }, ring.root, facts, ring.legend);
}

function ringContent({ nodes, links }: NetworkPicture): RingContent {
  const places = new Map(nodes.map(({ name }, place) => [name, place]));
  const paid = links.map(({ a, b, connected, chequesFromA, chequesFromB }) => ({
    a: places.get(a) as number,
    b: places.get(b) as number,
    connected,
    weight: Number(chequesFromA) + Number(chequesFromB),
    title: `Cheques between ${a} and ${b}`,
  }));
  return {
    nodes: nodes.map((node) => ({
      ...node,
      state: !node.answers && node.state === 'running' ? 'silent' : node.state,
      trouble: node.answers ? undefined : stateText(node.state),
      peers: node.peers?.length ?? null,
      weight: node.reserve ?? 0,
    })),
    links: paid,
    connections: true,
    colour: '--series-2',
    legend: [
      { text: 'neighbourhood', colour: '--phase-line', width: 6 },
      { text: 'link', colour: '--phase-line' },
      ...(paid.some(({ weight }) => weight > 0)
        ? [{ text: 'link with cheques, wider with more', colour: '--series-2', width: 3 }]
        : []),
      { text: 'larger: more chunks in reserve' },
    ],
  };
}
