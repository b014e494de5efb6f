import type { Flavour, NodePlan, NodePorts } from '../../../flavours/flavour.ts';
import { DATA_FOLDER, hostNames, LISTEN, NODE_PORTS } from '../../../flavours/inside-image.ts';
import { LINK_PROXY, type Place, type Site } from '../../driver.ts';
import { reachedAt, urlAt } from '../addresses.ts';
import type { PartContainer } from '../container.ts';
import { type Owner, partName } from '../names.ts';

const FOLDER = 'node';

export function placeNode(
  { name, ports }: Site,
  options: Owner & { readonly listen: string; readonly linkFaults: boolean },
): Place {
  const { listen, linkFaults } = options;
  const host = reachedAt(listen);
  const own = { host: name, port: NODE_PORTS.p2p };
  return {
    api: urlAt(listen, ports.api),
    debug: urlAt(listen, ports.debug),
    p2p: { host, port: ports.p2p },
    // The proxy has its own address, where these distinct ports are free.
    ...(linkFaults ? { peers: { host: LINK_PROXY, port: ports.p2p }, behind: own } : { peers: own }),
    listen: LISTEN,
    ports: NODE_PORTS,
    dataDir: `${DATA_FOLDER}/${FOLDER}`,
    hosts: hostNames(name, host),
    container: partName(options, name),
  };
}

export async function nodeContainer(
  plan: NodePlan,
  flavour: Flavour,
  ports: NodePorts,
): Promise<PartContainer> {
  // The debug API may be part of the API.
  const inside = new Map((['debug', 'p2p', 'api'] as const).map((key) => [ports[key], plan.ports[key]]));
  return {
    part: plan.name,
    image: plan.image,
    command: flavour.containerCommand({ dataDir: plan.dataDir, apiPort: plan.ports.api }),
    ports: Array.from(inside, ([outside, port]) => ({ inside: port, outside })),
    resources: plan.resources,
    files: (await flavour.files(plan)).map((file) => ({ ...file, path: `${FOLDER}/${file.path}` })),
  };
}
