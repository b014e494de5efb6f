import type { FlavourName } from '../../flavours/flavour.ts';

interface Running {
  readonly flavour: FlavourName;
  readonly binary?: string | undefined;
}

/**
 * The end of the path of a node's program, long enough to tell it from others of its flavour.
 * @returns undefined for the flavour's own program, and where all nodes of the flavour have the same
 */
export function programNames(nodes: readonly Running[]): (node: Running) => string | undefined {
  const byFlavour = Map.groupBy(nodes, ({ flavour }) => flavour);
  return ({ flavour, binary }) => {
    const all = new Set((byFlavour.get(flavour) ?? []).map((node) => node.binary));
    if (binary === undefined || all.size < 2) return undefined;
    const others = [...all].filter((one) => one !== undefined && one !== binary) as string[];
    const parts = binary.split('/');
    const ends = parts.map((_, index) => parts.slice(parts.length - 1 - index).join('/'));
    return ends.find((end) => others.every((other) => other !== end && !other.endsWith(`/${end}`))) ?? binary;
  };
}
