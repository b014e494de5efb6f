/** Programs of one flavour without a link: their versions may not understand each other. */
import { isOurs } from '../../flavours/flavour.ts';
import { type NodeAnswers, peersOf, valueOr } from './ask.ts';

export interface VersionGroup {
  readonly flavour: string;
  readonly version: string;
  readonly names: readonly string[];
}

interface Known {
  readonly group: VersionGroup;
  readonly overlays: ReadonlySet<string>;
  /** Overlays. */
  readonly peers: ReadonlySet<string>;
}

export function unlinkedVersions(
  nodes: readonly NodeAnswers[],
): (readonly [one: VersionGroup, other: VersionGroup])[] {
  const known = knownGroups(nodes);
  return known.flatMap((one, index) =>
    known
      .slice(index + 1)
      .filter((other) => other.group.flavour === one.group.flavour && isApart(one, other))
      .map((other) => [one.group, other.group] as const),
  );
}

function isApart(one: Known, other: Known): boolean {
  return one.peers.isDisjointFrom(other.overlays) && other.peers.isDisjointFrom(one.overlays);
}

function knownGroups(nodes: readonly NodeAnswers[]): Known[] {
  const reported = nodes.flatMap((node) => {
    const version = node.replies && valueOr(node.replies.health, undefined)?.version;
    const peers = peersOf(node);
    if (version === undefined || peers === undefined || node.mode !== 'full' || isOurs(node)) return [];
    return [{ node, version, peers }];
  });
  const groups = Map.groupBy(reported, ({ node, version }) => `${node.flavour} ${version}`);
  return [...groups.values()].map((members) => {
    const [
      {
        node: { flavour },
        version,
      },
    ] = members as [(typeof members)[number]];
    return {
      group: { flavour, version, names: members.map(({ node }) => node.name) },
      overlays: new Set(members.map(({ node }) => node.overlay)),
      peers: new Set(members.flatMap((member) => member.peers)),
    };
  });
}
