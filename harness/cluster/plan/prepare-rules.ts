import { existsSync } from 'node:fs';
import { batchesOf, groupsByNumber, nodeCount } from './facts.ts';
import type { Definition, NodeGroup } from './schema.ts';
import { linksOf } from './topology.ts';

const SWAP_OPTIONS = ['swap-enable', 'chequebook-enable'] as const;

/** @returns a line each, with key, value and expectation */
export function preparationContradictions(definition: Definition): string[] {
  return [
    ...uploadContradictions(definition),
    ...chequeContradictions(definition),
    ...heightContradictions(definition),
  ];
}

function uploadContradictions(definition: Definition): string[] {
  return definition.prepare.uploads.flatMap((upload, index) => {
    const key = `prepare.uploads[${index}]`;
    const lines = withNode(definition, `${key}.node`, upload.node, (group) =>
      hasBatch(definition, group) ? [] : ['expected a node with a batch'],
    );
    if ('path' in upload && !existsSync(upload.path)) {
      lines.push(`${key}.path: no file or folder '${upload.path}'`);
    }
    return lines;
  });
}

function chequeContradictions(definition: Definition): string[] {
  const { prepare, swap, credit } = definition;
  if (prepare.cheques.length === 0) return [];
  const lines = prepare.cheques.flatMap(({ from, to }, index) => {
    const key = `prepare.cheques[${index}]`;
    return [
      ...withNode(definition, `${key}.from`, from, (group) => payerProblems(definition, group)),
      ...withNode(definition, `${key}.to`, to, payeeProblems),
      ...(from === to ? [`${key}: got ${from} twice, expected two nodes`] : []),
    ];
  });
  lines.push(...chequeLinkContradictions(definition, definition.seed));
  if (swap === false) lines.push('swap: got false, expected true: prepare.cheques asks for cheques');
  if (credit === 'high') {
    lines.push(`credit: got 'high', expected network or low: with so much credit nobody sends a cheque`);
  }
  return lines;
}

/** Nodes owe only connected nodes. @param seed undefined: drawn links are not checked */
export function chequeLinkContradictions(definition: Definition, seed: bigint | undefined): string[] {
  const { topology, prepare } = definition;
  const count = nodeCount(definition);
  const drawn = typeof topology === 'object' && 'random' in topology;
  if (drawn && (seed === undefined || topology.random >= count)) return [];
  const links = linksOf(topology, count, seed ?? 0n);
  if (links === undefined) return [];
  const linked = new Set(
    links.flatMap(([one, other]) => [`node-${one} node-${other}`, `node-${other} node-${one}`]),
  );
  return prepare.cheques.flatMap(({ from, to }, index) => {
    return linked.has(`${from} ${to}`) || [from, to].some((name) => !isNode(name, count)) || from === to
      ? []
      : [
          `prepare.cheques[${index}]: got ${from} and ${to}, expected two nodes that the topology connects${drawn ? ` with seed ${seed}` : ''}`,
        ];
  });
}

function isNode(name: string, count: number): boolean {
  const index = Number(name.replace('node-', ''));
  return name === `node-${index}` && index < count;
}

/** A payer needs a chequebook, and anybody's stamps for the chunks that put it in debt. */
function payerProblems(definition: Definition, group: NodeGroup): string[] {
  const off = SWAP_OPTIONS.filter((option) => isOff(group, option));
  return [
    ...off.map((option) => `expected a node that sends cheques: ${option} of its group is false`),
    ...(group.mode === 'boot'
      ? ['expected a full or light node: a boot node sends no chunks, so it owes nothing']
      : []),
    ...(definition.nodes.some((other) => hasBatch(definition, other))
      ? []
      : ['expected a batch on any node: what it is to owe for are chunks with stamps']),
  ];
}

function payeeProblems(group: NodeGroup): string[] {
  if (group.mode !== 'full') return [`expected a full node: a ${group.mode} node stores nothing for others`];
  return isOff(group, 'swap-enable')
    ? ['expected a node that takes cheques: swap-enable of its group is false']
    : [];
}

function heightContradictions(definition: Definition): string[] {
  const { height } = definition.prepare;
  if (height === undefined) return [];
  const { blockTime } = definition.chain;
  const lifetimes = definition.nodes
    .flatMap((group) => batchesOf(definition, group))
    .map(({ ttl }) => Math.ceil(ttl / Math.max(blockTime, 1)));
  const shortest = Math.min(...lifetimes);
  return height < shortest
    ? []
    : [
        `prepare.height: got ${height}, expected less than ${shortest}: a batch lasts no more blocks than that`,
      ];
}

function withNode(
  definition: Definition,
  key: string,
  name: string,
  problems: (group: NodeGroup) => readonly string[],
): string[] {
  const groups = groupsByNumber(definition);
  const group = groups.find((_, index) => name === `node-${index}`);
  if (group !== undefined) return problems(group).map((problem) => `${key}: got '${name}', ${problem}`);
  const last = nodeCount(definition) - 1;
  return [`${key}: got '${name}', expected ${last === 0 ? 'node-0' : `one of node-0 to node-${last}`}`];
}

function hasBatch(definition: Definition, group: NodeGroup): boolean {
  return batchesOf(definition, group).length > 0;
}

function isOff({ options }: NodeGroup, option: string): boolean {
  return String(options[option] ?? true) === 'false';
}
