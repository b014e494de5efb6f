import { HarnessError } from '../../base/errors.ts';
import { hiddenBy, type ProcessId } from '../../base/machine/processes.ts';
import { DRIVER_FACTS, type DriverName } from '../../places/facts.ts';

interface Recorded {
  readonly driver: DriverName;
  readonly owner: ProcessId;
}

/** Why nothing here can tell whether its processes run; undefined: it can be told, or it has none of its own. */
export function whyElsewhere({ driver, owner }: Recorded): string | undefined {
  const { local, simulated } = DRIVER_FACTS[driver];
  const kind = local || simulated ? hiddenBy(owner) : undefined;
  return kind && `its processes run in another ${kind} namespace (a container?): run this command there`;
}

export function endedHint(name: string): string {
  return `If that namespace has ended, remove what it left with: svcnet down --force --name ${name}`;
}

/** @param what cannot be done @throws HarnessError `NODE_STATE` */
export function expectHere(record: Recorded & { readonly name: string }, what: string): void {
  const why = whyElsewhere(record);
  if (why === undefined) return;
  throw new HarnessError('NODE_STATE', `cannot ${what} cluster '${record.name}': ${why}`, {
    hint: endedHint(record.name),
  });
}
