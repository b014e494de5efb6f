/** The nodes of a record, as the page shows them. */
import type { NodeView } from '../../../web/picture/live.ts';
import { unheardOf } from '../network-observer.ts';
import type { RecordedPart } from './parts.ts';

const OVERLAY = /^[0-9a-f]{64}$/;

/** With what each had at the beginning; one whose overlay the record does not hold has no place on the ring. */
export function nodesOf(
  { scenarios, members }: RecordedPart,
  groups: readonly (readonly [string, string])[],
): Map<string, NodeView> {
  const pictured = new Map(
    scenarios.flatMap(({ picture }) => (picture?.nodes ?? []).map((node) => [node.name, node])),
  );
  const recorded = new Map((members?.nodes ?? []).map((node) => [node.name, node]));
  const seen = new Map(groups);
  const names = new Set([...seen.keys(), ...recorded.keys(), ...pictured.keys()]);
  const nodes = new Map<string, NodeView>();
  for (const name of names) {
    const { overlay = '', ethereum = '' } = recorded.get(name) ?? {};
    const picture = pictured.get(name);
    const [flavour = '', mode = 'full'] = (seen.get(name) ?? '').split(/-(?=[^-]*$)/);
    const at = picture?.overlay ?? overlay;
    if (!OVERLAY.test(at)) continue;
    const node = {
      name,
      flavour: picture?.flavour ?? recorded.get(name)?.flavour ?? flavour,
      mode: picture?.mode ?? mode,
      overlay: at,
      ethereum,
      api: '',
      debug: '',
      p2p: '',
      state: 'running',
    } as const;
    nodes.set(name, unheardOf(node));
  }
  return nodes;
}
