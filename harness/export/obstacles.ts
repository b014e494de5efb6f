/** Only the testbed can provide these. */
import type { Definition, NodeGroup } from '../cluster/plan/schema.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { nameOf, type PublishedPorts, publishedPorts } from './published.ts';

export const TARGETS = ['compose', 'stack', 'kubernetes'] as const;
export type Target = (typeof TARGETS)[number];

export function obstacles(definition: Definition, target: Target): string[] {
  const { chain, driver, linkFaults, listen, machineFaults, ports, prepare, tap, topology } = definition;
  const lines = definition.nodes.flatMap((group, index) => groupObstacles(group, `nodes[${index}]`));
  if (DRIVER_FACTS[driver].shared) {
    lines.push(
      `driver: got '${driver}', expected another one or none: every node gets a container of its own`,
    );
  }
  if (chain.gate) {
    lines.push('chain.gate: got true, expected false: only the testbed opens and shuts the gate of a chain');
  }
  if (machineFaults)
    lines.push('machineFaults: got true, expected false: only the testbed makes machines fail');
  for (const [key, value] of Object.entries({ linkFaults, tap })) {
    if (value) lines.push(`${key}: got true, expected false: only the testbed puts a proxy between nodes`);
  }
  if (topology !== 'mesh') {
    lines.push(
      `topology: got ${shown(topology)}, expected mesh: nodes that nobody holds apart connect to each other`,
    );
  }
  if (prepare.uploads.length + prepare.cheques.length > 0 || prepare.height !== undefined) {
    lines.push('prepare: expected nothing: the testbed does it when it starts a cluster itself');
  }
  if (ports !== 'free' && ports.debug === 'free') {
    lines.push("ports.debug: got 'free', expected range: a published port has to be known beforehand");
  }
  if (target !== 'compose' && listen !== '127.0.0.1' && listen !== '0.0.0.0') {
    lines.push(`listen: got '${listen}', expected none: a ${target} export cannot choose an interface`);
  }
  if (target === 'kubernetes' && nameOf(definition).endsWith('-')) {
    lines.push(
      `name: got '${definition.name}', expected no hyphen at its end: it is the name of a namespace`,
    );
  }
  return [...lines, ...takenTwice(publishedPorts(definition))];
}

function groupObstacles({ flavour, image }: NodeGroup, at: string): string[] {
  if (flavour === 'svc') return [];
  if (flavour === 'dishonest')
    return [`${at}.flavour: got 'dishonest', expected svc: only the testbed runs it`];
  return [
    image === undefined
      ? `${at}.image: flavour ${flavour} needs the name of an image with its program`
      : `${at}.flavour: got '${flavour}', expected svc: which options a ${flavour} knows, only its program can say`,
  ];
}

function takenTwice({ chain, nodes }: PublishedPorts): string[] {
  const wanted = [
    { port: chain.rpc, by: 'the RPC endpoint of the chain' },
    { port: chain.control, by: 'the control endpoint of the chain' },
    ...nodes.flatMap(({ api, debug }, index) => [
      { port: api, by: `the API of node-${index}` },
      { port: debug, by: `the debug API of node-${index}` },
    ]),
  ].filter(({ port }) => port !== 0);
  const owners = new Map<number, string>();
  return wanted.flatMap(({ port, by }) => {
    const owner = owners.get(port);
    owners.set(port, owner ?? by);
    return owner === undefined ? [] : [`ports: ${owner} and ${by} would both be published at ${port}`];
  });
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}
