import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { isAlive } from '../../base/machine/processes.ts';
import {
  type Capability,
  type ClusterParts,
  capabilitiesOf,
  type Driver,
  type Observed,
} from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { createDriver } from '../../places/table.ts';
import { isEmbeddable, networkOf, storeOf } from '../plan/facts.ts';
import type { Definition } from '../plan/schema.ts';
import { compileCacheDir } from '../state/compile-cache.ts';
import { expectHere, whyElsewhere } from '../state/elsewhere.ts';
import { type ClusterRecord, clusterFolder, readRecord, runRecords } from '../state/state.ts';

/**
 * @param stopWithParent whether what it starts ends with this process
 * @param isAgain the cluster starts again with its data
 * @param clock default: the machine's
 * @param frames whether a simulation writes down every frame
 */
export function driverOf(
  stateDir: string,
  {
    driver,
    token,
    name,
    seed,
    definition,
  }: Pick<ClusterRecord, 'driver' | 'token' | 'name' | 'seed' | 'definition'>,
  {
    stopWithParent,
    isAgain = false,
    clock = MACHINE_CLOCK,
    frames = false,
  }: { stopWithParent: boolean; isAgain?: boolean; clock?: Clock; frames?: boolean },
): Driver {
  return createDriver(driver, clock, () => {
    const planned = definition as Definition;
    return {
      clock,
      token,
      seed: seed ?? '',
      name,
      frames,
      stopWithParent,
      isAgain,
      listen: planned.listen,
      machineFaults: planned.machineFaults,
      linkFaults: planned.linkFaults,
      tap: planned.tap,
      network: networkOf(planned),
      odd: planned.odd,
      compileCache: (of) => compileCacheDir(stateDir, of),
      folder: clusterFolder(stateDir, name).path,
      embedded: {
        transport: isEmbeddable(planned) ? 'memory' : 'tcp',
        store: storeOf({ ...planned, driver }),
        shareResults: planned.shareResults,
      },
    };
  });
}

export function plannedCapabilities(definition: Definition): ReadonlySet<Capability> {
  const { driver } = definition;
  const record = { driver, definition, name: 'planned', token: '', seed: '' };
  return capabilitiesOf(driverOf('', record, { stopWithParent: false }));
}

/** None of another namespace: their ids are those of other processes here. */
export function partsOf(
  stateDir: string,
  { name, token }: Pick<ClusterRecord, 'name' | 'token'>,
): ClusterParts {
  const record = readRecord(stateDir, name);
  const areIts = record?.token === token && whyElsewhere(record) === undefined;
  return { token, parts: areIts ? runRecords(stateDir, name) : [] };
}

/** Whether a part of the cluster or the process that starts it may run; an attached network is until forgotten. */
export async function isInUse(stateDir: string, record: ClusterRecord): Promise<boolean> {
  if (whyElsewhere(record) !== undefined) return true;
  if ((record.phase === 'starting' || record.ephemeral) && isAlive(record.owner)) return true;
  if (!DRIVER_FACTS[record.driver].owned) return record.phase === 'running';
  return (await statesOf(stateDir, record)).some((state) => state !== 'gone');
}

/** `gone`: nothing runs. `silent`: attached, no node answers. `elsewhere`: cannot be told from here. */
export type ClusterState = ClusterRecord['phase'] | 'gone' | 'silent' | 'elsewhere';

export async function stateOf(stateDir: string, record: ClusterRecord): Promise<ClusterState> {
  if (whyElsewhere(record) !== undefined) return 'elsewhere';
  if (!(await isInUse(stateDir, record))) return 'gone';
  if (DRIVER_FACTS[record.driver].owned || record.phase !== 'running') return record.phase;
  const names = new Set(record.nodes.map(({ name }) => name));
  const states = await statesOf(stateDir, record, (part) => names.has(part));
  return states.every((state) => state === 'silent') ? 'silent' : record.phase;
}

async function statesOf(
  stateDir: string,
  record: ClusterRecord,
  isMeant: (part: string) => boolean = () => true,
): Promise<Observed['state'][]> {
  const driver = driverOf(stateDir, record, { stopWithParent: false });
  try {
    const parts = runRecords(stateDir, record.name).filter(({ name }) => isMeant(name));
    const observed = await Promise.all(parts.map(({ handle }) => driver.observe(handle)));
    return observed.map(({ state }) => state);
  } finally {
    await driver.close();
  }
}

type Simulated = Pick<ClusterRecord, 'name' | 'driver' | 'owner'>;

/** Process id; undefined: no other process simulates it. */
export function simulatingProcess({ driver, owner }: Omit<Simulated, 'name'>): number | undefined {
  if (!DRIVER_FACTS[driver].simulated || owner.pid === process.pid) return undefined;
  return isAlive(owner) ? owner.pid : undefined;
}

/** Nothing here reaches its nodes, or tells whether they run. */
export function isElsewhere(record: Simulated): boolean {
  return simulatingProcess(record) !== undefined || whyElsewhere(record) !== undefined;
}

/**
 * @param what cannot be done @param force even if nothing here can tell whether it runs
 * @throws HarnessError `NODE_STATE`
 */
export function expectNotElsewhere(record: Simulated, what: string, force = false): void {
  if (!force) expectHere(record, what);
  const pid = simulatingProcess(record);
  if (pid === undefined) return;
  throw new HarnessError(
    'NODE_STATE',
    `cannot ${what} cluster '${record.name}': it runs in virtual time in process ${pid}, which alone reaches its nodes`,
    {
      hint: `A run shows its own simulation: svcnet run … --ui\nThis one ends with its process: kill -INT ${pid}`,
    },
  );
}
