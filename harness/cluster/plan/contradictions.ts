import { DEPLOYER_KEY } from '../../../chain/deployer-key.ts';
import { plural } from '../../base/format.ts';
import { BEHAVIOUR_NAMES, SPOILS_CONNECTIONS } from '../../flavours/dishonest/names.ts';
import { isOurs } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { creditOf, hasPublicNode, isEmbeddable, nodeCount } from './facts.ts';
import { networkMistakes } from './options/network.ts';
import { NODES_MAX, REAL_NODES_MAX } from './options/nodes.ts';
import { wantedPorts } from './ports.ts';
import { preparationContradictions } from './prepare-rules.ts';
import type { Definition, NodeGroup } from './schema.ts';
import { expectedTries } from './seed.ts';
import { topologyMistakes } from './topology.ts';

const PORT_MAX = 65_535;
const PORTS_WITH_DEBUG = 3;
/** Mining a cluster's overlays may take as many keys on average: about ten seconds. */
const MINED_KEYS_MAX = 200_000;

/** @returns a line each, with key, value and expectation */
export function contradictions(definition: Definition): string[] {
  return [
    ...definition.nodes.flatMap((entry, index) =>
      [...groupContradictions(entry), ...programContradictions(entry, definition)].map(
        (text) => `nodes[${index}]${text}`,
      ),
    ),
    ...Object.entries(definition.upgraded ?? {}).flatMap(([node, entry]) =>
      [...groupContradictions(entry), ...programContradictions(entry, definition)].map(
        (text) => `upgraded.${node}${text}`,
      ),
    ),
    ...nodesContradictions(definition),
    ...keyContradictions(definition),
    ...neighbourhoodContradictions(definition),
    ...topologyContradictions(definition),
    ...storeContradictions(definition),
    ...engineContradictions(definition),
    ...tamperingContradictions(definition),
    ...tapContradictions(definition),
    ...underlayContradictions(definition),
    ...simulationContradictions(definition),
    ...networkContradictions(definition),
    ...oddContradictions(definition),
    ...portContradictions(definition),
    ...publicContradictions(definition),
    ...preparationContradictions(definition),
  ];
}

function storeContradictions({ driver, store }: Definition): string[] {
  return store === 'memory' && !DRIVER_FACTS[driver].shared
    ? [
        `store: got 'memory' with driver ${driver}, expected disk: only embedded nodes keep their data in memory`,
      ]
    : [];
}

function engineContradictions({ driver, chain }: Definition): string[] {
  return DRIVER_FACTS[driver].images && chain.engine !== 'anvil'
    ? [
        `chain.engine: got '${chain.engine}' with driver docker, expected anvil, or driver process or embedded`,
      ]
    : [];
}

function tamperingContradictions({ driver, machineFaults, nodes }: Definition): string[] {
  if (!DRIVER_FACTS[driver].images) return [];
  const lines = nodes.flatMap(({ flavour }, index) =>
    flavour === 'dishonest'
      ? [`nodes[${index}].flavour: got dishonest with driver ${driver}, expected driver process or embedded`]
      : [],
  );
  return machineFaults
    ? [...lines, `machineFaults: got true with driver ${driver}, expected driver process or embedded`]
    : lines;
}

/** Elsewhere neither proxy nor memory is between nodes. */
function tapContradictions(definition: Definition): string[] {
  const { driver, tap } = definition;
  const { tappable, shared } = DRIVER_FACTS[driver];
  if (!tap) return [];
  if (!tappable) {
    return [
      `tap: got true with driver ${driver}, expected driver process, embedded or simulated: only there can a tap read links`,
    ];
  }
  return shared && !isEmbeddable(definition)
    ? [
        `tap: got true with driver ${driver} and nodes that it cannot embed, expected driver process: a tap has to know which node opened a connection`,
      ]
    : [];
}

/** Memory has no sockets, containers no files of this machine; a proxy serves one port, and a tap reads plain TCP. */
function underlayContradictions({ driver, nodes, underlays, tap, linkFaults }: Definition): string[] {
  const other = underlays.find((name) => name !== 'tcp');
  if (other === undefined) return [];
  const got = `underlays: got ${underlays.join(', ')}`;
  const { images, shared, simulated } = DRIVER_FACTS[driver];
  const lines: string[] = [];
  if (images || shared || simulated)
    lines.push(`${got} with driver ${driver}, expected driver process, or tcp`);
  if (tap) lines.push(`${got} with tap, expected tcp: a tap reads plain TCP alone`);
  if (linkFaults && underlays.includes('wss')) {
    lines.push(`${got} with linkFaults, expected tcp and ws: the proxy does not stand before wss`);
  }
  const stranger = nodes.find((group) => !isOurs(group) && group.flavour !== 'bee');
  if (stranger !== undefined) {
    lines.push(
      `${got} with flavour ${stranger.flavour}, expected tcp: a flavour file cannot say how to turn on others`,
    );
  }
  return lines;
}

/** It has our own nodes, in memory, at addresses that nothing of the machine can have taken. */
function simulationContradictions({ driver, store, ports, chain, nodes }: Definition): string[] {
  if (!DRIVER_FACTS[driver].simulated) return [];
  const lines = nodes.flatMap((group, index) => {
    const { flavour, binary, declared } = group;
    if (flavourOf(group).embedded !== undefined) return [];
    if (flavour === 'svc')
      return [
        `nodes[${index}].binary: got '${binary}' with driver ${driver}, expected none, or driver process: a simulation has the nodes of this package alone`,
      ];
    const other = declared === undefined ? 'process or docker' : 'process or embedded';
    return [
      `nodes[${index}].flavour: got ${flavour} with driver ${driver}, expected svc, or driver ${other}`,
    ];
  });
  for (const [index, { dishonest = [] }] of nodes.entries()) {
    const spoils = dishonest.filter((name) => SPOILS_CONNECTIONS.includes(name));
    if (spoils.length > 0)
      lines.push(
        `nodes[${index}].dishonest: got ${spoils.join(', ')} with driver ${driver}, expected other behaviours: its nodes have no connections to spoil`,
      );
  }
  if (store === 'disk') lines.push(`store: got 'disk' with driver ${driver}, expected memory or none`);
  if (ports !== 'free')
    lines.push(`ports: got ${ports.first} with driver ${driver}, expected none: nothing listens`);
  if (chain.port !== 0)
    lines.push(`chain.port: got ${chain.port} with driver ${driver}, expected none: nothing listens`);
  return lines;
}

function networkContradictions({ driver, network }: Definition): string[] {
  if (network === undefined) return [];
  return DRIVER_FACTS[driver].simulated
    ? networkMistakes(network).map((line) => `network${line}`)
    : [
        `network: got a map with driver ${driver}, expected driver simulated, or none: link faults make real links slow`,
      ];
}

/** Other nodes have the machine's clock, network and disk. */
function oddContradictions({ driver, odd }: Definition): string[] {
  if (odd.length === 0 || DRIVER_FACTS[driver].simulated) return [];
  return [`odd: got ${odd.join(', ')} with driver ${driver}, expected driver simulated, or none`];
}

function groupContradictions(group: NodeGroup): string[] {
  const { flavour: name, mode, options, dishonest } = group;
  const flavour = flavourOf(group);
  const lines = Object.keys(options)
    .filter((option) => flavour.reserved.includes(option))
    .map((option) => `.options: '${option}' is set by the testbed and cannot be chosen`);
  lines.push(...(flavour.optionMistakes?.(options) ?? []));
  if (!flavour.modes.includes(mode)) {
    lines.push(`.mode: got '${mode}', flavour ${name} can be ${flavour.modes.join(', ')}`);
  }
  if (name === 'dishonest' && dishonest === undefined) {
    lines.push(`.dishonest: expected what the nodes do: one or more of ${BEHAVIOUR_NAMES.join(', ')}`);
  }
  if (!isOurs(group) && dishonest !== undefined) {
    lines.push(`.dishonest: expected none for flavour ${name}: only nodes of our own can be made dishonest`);
  }
  return lines;
}

/** Containers run images, other drivers programs. */
function programContradictions(entry: NodeGroup, { driver }: Definition): string[] {
  const { flavour: name, binary, image, resources } = entry;
  const variable = flavourOf(entry).binaryVariable;
  const lines = [];
  if (DRIVER_FACTS[driver].images && entry.declared !== undefined) {
    return [
      `.flavour: got ${name} with driver ${driver}, expected driver process or embedded: its flavour file names a program of this machine`,
    ];
  }
  if (DRIVER_FACTS[driver].images) {
    if (binary !== undefined) {
      lines.push(
        `.binary: got '${binary}' with driver docker, expected none: a container cannot run a program of this machine; name an image instead`,
      );
    }
    if (variable !== undefined && image === undefined) {
      lines.push(`.image: flavour ${name} needs the image of its program with driver docker`);
    }
    return lines;
  }
  if (image !== undefined) {
    lines.push(`.image: got '${image}' with driver ${driver}, expected none: only driver docker has images`);
  }
  if (resources !== undefined) {
    lines.push(
      `.resources: expected none with driver ${driver}: only containers have limits (driver docker)`,
    );
  }
  if (name === 'dishonest' && binary !== undefined) {
    lines.push(`.binary: got '${binary}', expected none: only nodes of this package can be made dishonest`);
  }
  if (variable !== undefined && binary === undefined) {
    lines.push(
      `.binary: flavour ${name} needs the path of its program: binary, --${name}-binary or ${variable}`,
    );
  }
  return lines;
}

function nodesContradictions(definition: Definition): string[] {
  const count = nodeCount(definition);
  const lines = [];
  const { driver } = definition;
  if (!DRIVER_FACTS[driver].simulated && count > REAL_NODES_MAX) {
    lines.push(
      `nodes: got ${count} in all groups, expected at most ${REAL_NODES_MAX}, or ${NODES_MAX} with driver simulated`,
    );
  } else if (count > NODES_MAX) {
    lines.push(`nodes: got ${count} in all groups, expected at most ${NODES_MAX}`);
  }
  if (definition.nodes.every(({ mode }) => mode !== 'full')) {
    const given = definition.nodes.map(({ mode, count: of }) => plural(of, `${mode} node`)).join(' and ');
    lines.push(
      `nodes: got ${given}, expected at least one of mode full: only full nodes store what others upload`,
    );
  }
  return lines;
}

/** Shows last digits only: keys may control funds elsewhere. */
function keyContradictions({ nodes }: Definition): string[] {
  const seen = new Map([[DEPLOYER_KEY.slice(2), 'the account that deploys the contracts']]);
  return nodes.flatMap(({ keys, count }, index) => {
    if (keys === undefined) return [];
    const at = `nodes[${index}].keys`;
    const lines =
      keys.length === count ? [] : [`${at}: got ${keys.length}, expected ${count}: one for each node`];
    for (const [place, key] of keys.entries()) {
      const other = seen.get(key);
      if (other !== undefined)
        lines.push(`${at}[${place}]: got the key of ${other} (…${key.slice(-4)}), expected one of its own`);
      else seen.set(key, `${at}[${place}]`);
    }
    return lines;
  });
}

function neighbourhoodContradictions({ nodes }: Definition): string[] {
  const lines = nodes.flatMap(({ neighbourhoods, keys, count }, index) => {
    const at = `nodes[${index}].neighbourhoods`;
    if (neighbourhoods !== undefined && keys !== undefined)
      return [`${at}: got it beside keys, expected one of them: an overlay follows from the key`];
    return typeof neighbourhoods === 'object' && neighbourhoods.length !== count
      ? [`${at}: got ${neighbourhoods.length}, expected ${count}: one for each node, or one text for all`]
      : [];
  });
  const tries = nodes
    .flatMap(({ neighbourhoods = [], count }) =>
      typeof neighbourhoods === 'string'
        ? Array.from({ length: count }, () => neighbourhoods)
        : neighbourhoods,
    )
    .reduce((sum, prefix) => sum + expectedTries(prefix), 0);
  if (tries > MINED_KEYS_MAX)
    lines.push(
      `nodes: neighbourhoods of so many bits take about ${tries} keys to find, expected at most ${MINED_KEYS_MAX} for all nodes: each bit less halves them`,
    );
  return lines;
}

function topologyContradictions(definition: Definition): string[] {
  const { topology, nodes } = definition;
  const modes = nodes.flatMap(({ mode, count }) => Array.from({ length: count }, () => mode));
  const lines = topologyMistakes(topology, modes);
  const free = nodes.findIndex((group) => !flavourOf(group).takesLinks);
  if (topology !== 'mesh' && free !== -1)
    lines.push(
      `got nodes of flavour ${nodes[free]?.flavour} beside it, expected mesh: they cannot be told whom to connect to`,
    );
  return lines.map((line) => `topology: ${line}`);
}

function portContradictions(definition: Definition): string[] {
  const wanted = wantedPorts(definition);
  const highest = Math.max(0, ...wanted.map(({ port }) => port));
  const lines = [];
  const { ports } = definition;
  if (highest > PORT_MAX && ports !== 'free') {
    lines.push(
      `ports: got ${ports.first}, expected at most ${ports.first - (highest - PORT_MAX)}: the range of ${plural(nodeCount(definition), 'node')} ends at ${highest}`,
    );
  }
  if (ports !== 'free' && ports.debug === 'range' && ports.stride < PORTS_WITH_DEBUG) {
    lines.push(
      `ports.stride: got ${ports.stride}, expected at least ${PORTS_WITH_DEBUG}, or debug: free: a node has an API, a p2p listener and a debug API`,
    );
  }
  const [ofChain, ...others] = wanted;
  const taken = others.find(({ port }) => port === ofChain?.port);
  if (taken !== undefined) {
    lines.push(`chain.port: got ${taken.port}, expected another port than that of ${taken.by}`);
  }
  return lines;
}

function publicContradictions(definition: Definition): string[] {
  if (!hasPublicNode(definition)) return [];
  const { blockTime } = definition.chain;
  const lines = [];
  if (blockTime < 1000 || blockTime % 1000 !== 0) {
    lines.push(`chain.blockTime: got ${blockTime}ms, expected whole seconds: a Bee knows no others`);
  }
  if (creditOf(definition) !== 'network') {
    lines.push(`credit: got '${definition.credit}', expected network: a Bee refuses other limits`);
  }
  return lines;
}
