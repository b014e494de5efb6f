/** Objects of a cluster are found without a record. */

/** The cluster that a driver is for. */
export interface Owner {
  readonly token: string;
  readonly name: string;
}

const LABEL = { cluster: 'svcnet.cluster', name: 'svcnet.name', node: 'svcnet.node' } as const;
/** Clusters of one name in different state folders may share an engine. */
const TOKEN_SHOWN = 8;

export function networkName({ name, token }: Owner): string {
  return `svcnet-${name}-${token.slice(0, TOKEN_SHOWN)}`;
}

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

export function partOf(labels: Readonly<Record<string, string>>): string {
  return labels[LABEL.node] ?? '';
}

export function ownedBy(token: string): { readonly label: string[] } {
  return { label: [`${LABEL.cluster}=${token}`] };
}
