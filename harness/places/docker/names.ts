/** Names and labels of a cluster's objects, so that they are found without a record. */

/** The cluster that a driver is for. */
export interface Owner {
  /** Tells one cluster from all others. */
  readonly token: string;
  readonly name: string;
}

const LABEL = { cluster: 'svcnet.cluster', name: 'svcnet.name', node: 'svcnet.node' } as const;
/** Digits of the token; clusters of one name in different state folders may share an engine. */
const TOKEN_SHOWN = 8;

/** The cluster's network; parts add their name. */
export function networkName({ name, token }: Owner): string {
  return `svcnet-${name}-${token.slice(0, TOKEN_SHOWN)}`;
}

/** Name of a container, its volume and its network. @param part a node's name, `chain` or `link-proxy` */
export function partName(owner: Owner, part: string): string {
  return `${networkName(owner)}-${part}`;
}

export function labelsOf({ name, token }: Owner, part?: string): Record<string, string> {
  return {
    [LABEL.cluster]: token,
    [LABEL.name]: name,
    ...(part === undefined ? {} : { [LABEL.node]: part }),
  };
}

/** @returns a node's name, `chain` or `link-proxy`; empty: no part */
export function partOf(labels: Readonly<Record<string, string>>): string {
  return labels[LABEL.node] ?? '';
}

/** Filter for lists of containers, networks and volumes. */
export function ownedBy(token: string): { readonly label: string[] } {
  return { label: [`${LABEL.cluster}=${token}`] };
}
