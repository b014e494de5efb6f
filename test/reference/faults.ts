import { FAULT_KINDS } from '../../harness/cluster/faults/table.ts';
import { BEHAVIOURS } from '../../harness/flavours/dishonest/table.ts';
import type { Capability } from '../../harness/places/driver.ts';
import { LINK_PROFILES, type LinkConditions } from '../../harness/places/links/conditions.ts';
import { code, page, table } from './markdown.ts';

const MACHINE_FAULTS = '`--machine-faults`';

const NEEDS: Readonly<Partial<Record<Capability, string>>> = {
  linkFaults: '`--link-faults`',
  tap: '`--tap`',
  clock: MACHINE_FAULTS,
  disk: MACHINE_FAULTS,
  power: `${MACHINE_FAULTS}, driver simulated`,
  memory: 'driver docker',
};

export function faultsPage(): string {
  const kinds = FAULT_KINDS.map(({ name, layer, capability, about }) => [
    `[${code(name)}](commands.md#fault-${name})`,
    layer,
    // Only its gate can change a chain's answers.
    name.startsWith('rpc-') ? MACHINE_FAULTS : (NEEDS[capability ?? 'kill'] ?? ''),
    about,
  ]);
  const profiles = Object.entries(LINK_PROFILES).map(([name, conditions]) => {
    const { latencyMs, jitterMs, bytesPerSecond, loss }: LinkConditions = conditions;
    return [
      code(name),
      `${latencyMs} ms`,
      jitterMs === undefined ? '' : `${jitterMs} ms`,
      bytesPerSecond === undefined ? '' : `${bytesPerSecond / 125_000} Mbit/s`,
      loss === undefined ? '' : `${loss * 100} %`,
    ];
  });
  return page(
    'Faults, link profiles, dishonest nodes',
    'the tables of faults and behaviours',
    '[Faults](../faults.md) explains how to use them.',
    '## Kinds of faults',
    'A kind links to its arguments and options.',
    table(['Kind', 'Layer', 'Needs', 'What it does'], kinds),
    '## Link profiles',
    'Conditions that `svcnet fault link --profile NAME` sets. The jitter lengthens or shortens each round trip by up to that much.',
    table(['Profile', 'Round trip', 'Jitter', 'Bandwidth', 'Loss'], profiles),
    '## Behaviours of dishonest nodes',
    'Behaviours that `svcnet up --dishonest NAME` gives to a node.',
    table(
      ['Behaviour', 'What such a node does'],
      Object.entries(BEHAVIOURS).map(([name, { about }]) => [code(name), about]),
    ),
  );
}
