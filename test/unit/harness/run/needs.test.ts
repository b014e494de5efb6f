import { expect, test } from 'vitest';
import { plannedCapabilities } from '../../../../harness/cluster/lifecycle/drivers.ts';
import { parseDefinition } from '../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../harness/cluster/plan/definition-input.ts';
import type { Capability } from '../../../../harness/places/driver.ts';
import { lackingCapability, type Present, unmetNeed } from '../../../../harness/run/needs.ts';

const NODES: Present['nodes'] = [{ flavour: 'svc', mode: 'full' }];

const driverWith = (...capabilities: Capability[]): Present['driver'] => ({
  name: 'embedded',
  capabilities: new Set(capabilities),
});

const planned = (definition: DefinitionInput) => plannedCapabilities(parseDefinition(definition, 'test'));

const chain = { controlled: true };

const needing = (...capabilities: Capability[]) => ({ needs: { nodes: 1, capabilities } });

test('a scenario whose driver can do everything it needs has no unmet need', () => {
  const driver = driverWith('kill', 'pause');
  expect(unmetNeed(needing('kill', 'pause'), { nodes: NODES, driver, chain })).toBeUndefined();
  expect(unmetNeed({ needs: { nodes: 1 } }, { nodes: NODES, driver: driverWith(), chain })).toBeUndefined();
});

test('a capability that the driver lacks is reported together with the driver', () => {
  const present = { nodes: NODES, driver: driverWith('pause'), chain };
  const reason = "needs the capability 'kill', which the embedded driver does not have";
  expect(unmetNeed(needing('pause', 'kill'), present)).toBe(reason);
  expect(lackingCapability(present.driver, 'kill')).toBe(reason);
  expect(lackingCapability(present.driver, 'pause')).toBeUndefined();
});

test('a missing capability is reported before a missing node, as another node would not help', () => {
  const scenario = { needs: { nodes: 1, capabilities: ['kill'], modes: ['light'] } } as const;
  expect(unmetNeed(scenario, { nodes: NODES, driver: driverWith(), chain })).toMatch(/capability 'kill'/);
  expect(unmetNeed(scenario, { nodes: NODES, driver: driverWith('kill'), chain })).toBe(
    'needs a node of mode light',
  );
});

test.each([
  ['process', ['kill', 'pause', 'data', 'copy']],
  ['embedded', ['kill', 'pause', 'data', 'copy', 'linkFaults']],
  ['docker', ['kill', 'pause', 'memory']],
  ['simulated', ['kill', 'pause', 'data', 'linkFaults']],
] as const)('a cluster of the %s driver would have the capabilities %j', (driver, has) => {
  expect(planned({ driver })).toEqual(new Set(has));
});

test('embedded nodes beside a process have no links that can fail, unless they were started for it', () => {
  const mixed: DefinitionInput = { driver: 'embedded', nodes: [{}, { flavour: 'bee', binary: '/bin/true' }] };
  expect(planned(mixed)).toEqual(planned({ driver: 'process' }));
  for (const definition of [mixed, { driver: 'process' }, { driver: 'docker' }] as const) {
    const able = planned({ ...definition, linkFaults: true });
    expect(able).toEqual(planned(definition).union(new Set(['linkFaults'])));
  }
});

test('nodes started for it have clocks and disks that can fail, wherever they run', () => {
  for (const driver of ['process', 'embedded'] as const) {
    const able = planned({ driver, machineFaults: true });
    expect(able).toEqual(planned({ driver }).union(new Set(['clock', 'disk'])));
  }
});

test('of simulated nodes the power can be cut as well', () => {
  const able = planned({ driver: 'simulated', machineFaults: true });
  expect(able).toEqual(planned({ driver: 'simulated' }).union(new Set(['clock', 'disk', 'power'])));
  const elsewhere = {
    name: 'process',
    capabilities: planned({ driver: 'process', machineFaults: true }),
  } as const;
  expect(unmetNeed(needing('power'), { nodes: NODES, driver: elsewhere, chain })).toBe(
    "needs the capability 'power', which the process driver does not have",
  );
});

test('a scenario that needs wrong clocks or bad disks says how to get such a cluster', () => {
  expect(unmetNeed(needing('disk'), { nodes: NODES, driver: driverWith('kill'), chain })).toMatch(
    /svcnet up --machine-faults/,
  );
});

test('a scenario can require a chain with a control endpoint, and nodes started by svcnet', () => {
  const driver = { name: 'attached', capabilities: new Set<Capability>() } as const;
  const present: Present = { nodes: NODES, driver, chain: { controlled: false } };
  expect(unmetNeed({ needs: { nodes: 1 } }, present)).toBeUndefined();
  expect(unmetNeed({ needs: { nodes: 1, control: true } }, present)).toMatch(/^needs the control endpoint/);
  expect(unmetNeed({ needs: { nodes: 1, control: true } }, { ...present, chain })).toBeUndefined();
  expect(unmetNeed({ needs: { nodes: 1, started: true } }, present)).toMatch(
    /^needs nodes that svcnet has started/,
  );
  expect(unmetNeed(needing('kill'), present)).toBe(
    "needs the capability 'kill', which the attached driver does not have",
  );
});

test('a simulation is told how its definition gives it disks that fail', () => {
  const present = (machineFaults: boolean) => {
    const driver = {
      name: 'simulated',
      capabilities: planned({ driver: 'simulated', machineFaults }),
    } as const;
    return { nodes: NODES, driver, chain };
  };
  expect(unmetNeed(needing('disk'), present(true))).toBeUndefined();
  expect(unmetNeed(needing('disk'), present(false))).toBe(
    'needs machine faults (disk): start the cluster with machineFaults: true',
  );
});

test.each([
  [{ nodes: 1, flavours: ['bee'] }, /^needs a node of flavour bee, which the simulated driver does not have/],
  [{ nodes: 1, reachable: true }, /^needs nodes that other programs reach/],
  [{ nodes: 1, capabilities: ['copy'] }, /^needs the capability 'copy', which the simulated driver/],
] as const)(
  'a simulation cannot have %j, and says so without naming an option that would not help',
  (needs, reason) => {
    const driver = { name: 'simulated', capabilities: planned({ driver: 'simulated' }) } as const;
    expect(unmetNeed({ needs }, { nodes: NODES, driver, chain })).toMatch(reason);
    const there = { name: 'process', capabilities: planned({ driver: 'process' }) } as const;
    expect(unmetNeed({ needs }, { nodes: NODES, driver: there, chain })).not.toEqual(
      expect.stringMatching(reason),
    );
  },
);
