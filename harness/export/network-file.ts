import type { ContainerNetwork } from './container-network.ts';
import type { ExportedFile } from './export-request.ts';
import type { NetworkUrls } from './published.ts';
import { annotatedYaml } from './yaml-text.ts';

export const NETWORK_FILE = 'network.yaml';

export function networkFile(
  { nodes, token }: ContainerNetwork,
  doors: NetworkUrls,
  notes: readonly string[] = [],
): ExportedFile {
  const document = {
    name: doors.name,
    chain: { ...doors.chain, token },
    nodes: nodes.map(({ name }, index) => ({ name, ...doors.nodes[index] })),
    batches: nodes.flatMap(({ name, batches }) => batches.map((id) => ({ id, node: name }))),
  };
  const content = annotatedYaml(document, [
    `Where the network is reached: svcnet attach -f ${NETWORK_FILE}`,
    ...notes,
  ]);
  return { path: NETWORK_FILE, content, secret: true };
}
