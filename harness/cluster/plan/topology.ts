import type { NodeMode } from '../../flavours/flavour.ts';
import { numberOf } from './planned-node.ts';
import type { Definition } from './schema.ts';
import { derive } from './seed.ts';

type Topology = Definition['topology'];
export type Link = readonly [number, number];

/** Undefined: all nodes may connect. */
export function linksOf(topology: Topology, nodes: number, seed: bigint): Link[] | undefined {
  if (topology === 'mesh') return undefined;
  if (typeof topology === 'object' && 'random' in topology) return randomLinks(topology.random, nodes, seed);
  return fixedLinks(topology, nodes);
}

function fixedLinks(topology: Topology, nodes: number): Link[] | undefined {
  if (topology === 'ring')
    return Array.from({ length: nodes }, (_, index) => link(index, (index + 1) % nodes));
  if (topology === 'star') return Array.from({ length: nodes - 1 }, (_, index) => link(0, index + 1));
  if (typeof topology !== 'object' || 'random' in topology) return undefined;
  return topology.links.map(([one, other]) => link(numberOf(one), numberOf(other)));
}

/** Connected: each node joins a random earlier one, then those with too few peers draw more. */
function randomLinks(peers: number, nodes: number, seed: bigint): Link[] {
  let drawn = 0;
  const below = (bound: number) =>
    Number(Buffer.from(derive(seed, 'topology', drawn++)).readBigUInt64BE() % BigInt(bound));
  const neighbours = Array.from({ length: nodes }, () => new Set<number>());
  const join = (one: number, other: number) => {
    neighbours[one]?.add(other);
    neighbours[other]?.add(one);
  };
  for (let index = 1; index < nodes; index++) join(index, below(index));
  for (const [index, own] of neighbours.entries()) {
    while (own.size < peers) {
      const others = Array.from({ length: nodes }, (_, other) => other).filter(
        (other) => other !== index && !own.has(other),
      );
      join(index, others[below(others.length)] as number);
    }
  }
  return neighbours.flatMap((own, index) =>
    [...own].filter((other) => other > index).map((other): Link => [index, other]),
  );
}

export function topologyMistakes(topology: Topology, modes: readonly NodeMode[]): string[] {
  if (topology === 'mesh') return [];
  const nodes = modes.length;
  const lines: string[] = [];
  if (modes.includes('boot'))
    lines.push(
      `${shown(topology)}: got a boot node beside it, expected none: it introduces nodes to each other`,
    );
  if (topology === 'ring' && nodes < RING_MIN)
    return [...lines, `ring: got ${nodes} nodes, expected at least ${RING_MIN}`];
  if (typeof topology === 'object' && 'random' in topology) {
    if (topology.random >= nodes)
      lines.push(`random: got ${topology.random}, expected at most ${nodes - 1}: so many others there are`);
    if (modes.includes('light'))
      lines.push('random: got a light node beside it, expected full nodes: a light one forwards nothing');
    return lines;
  }
  const links = fixedLinks(topology, nodes) ?? [];
  lines.push(...linkMistakes(links, nodes));
  return lines.length > 0 ? lines : partMistakes(shown(topology), links, modes);
}

/** A ring of two would be linked twice. */
const RING_MIN = 3;

function linkMistakes(links: readonly Link[], nodes: number): string[] {
  const seen = new Set<string>();
  return links.flatMap(([one, other], index) => {
    const at = `links[${index}]`;
    const name = `${one}-${other}`;
    if (one === other) return [`${at}: got node-${one} twice, expected two nodes`];
    if (other >= nodes) return [`${at}: got node-${other}, expected node-0 to node-${nodes - 1}`];
    if (seen.has(name)) return [`${at}: got node-${one} and node-${other} again, expected each link once`];
    seen.add(name);
    return [];
  });
}

/** Light nodes forward nothing: full ones must connect among themselves. */
function partMistakes(topology: string, links: readonly Link[], modes: readonly NodeMode[]): string[] {
  const lights = links.find(([one, other]) => modes[one] === 'light' && modes[other] === 'light');
  if (lights !== undefined)
    return [
      `${topology}: got node-${lights[0]} linked to node-${lights[1]}, expected one of them to be full: light nodes serve nobody`,
    ];
  const first = modes.indexOf('full');
  const reached = new Set([first]);
  for (const from of reached) {
    if (modes[from] !== 'full') continue;
    for (const [one, other] of links) {
      if (one === from) reached.add(other);
      if (other === from) reached.add(one);
    }
  }
  const apart = modes.findIndex((_, index) => !reached.has(index));
  return apart === -1
    ? []
    : [
        `${topology}: got no way from node-${first} to node-${apart} through full nodes, expected one between all nodes`,
      ];
}

function shown(topology: Topology): string {
  return typeof topology === 'string' ? topology : Object.keys(topology).join();
}

function link(one: number, other: number): Link {
  return one < other ? [one, other] : [other, one];
}
