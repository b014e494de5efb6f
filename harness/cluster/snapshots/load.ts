import { HarnessError } from '../../base/errors.ts';
import { contradictions } from '../plan/contradictions.ts';
import { parseDefinition } from '../plan/definition.ts';
import type { DefinitionInput } from '../plan/definition-input.ts';
import { CLUSTER_OPTIONS } from '../plan/options/table.ts';
import type { Definition } from '../plan/schema.ts';
import { readDefinition } from '../plan/schema.ts';
import { clusterFolder } from '../state/state.ts';
import { copyFolder } from './copy.ts';
import { checkUsable, findSnapshot, inside, type Snapshot } from './snapshot.ts';

const CHOOSABLE = new Set(
  Object.entries(CLUSTER_OPTIONS).flatMap(([name, option]) => ('besideSnapshot' in option ? [name] : [])),
);

export interface LoadedSnapshot {
  readonly snapshot: Snapshot;
  readonly definition: Definition;
  readonly seed: bigint;
}

/**
 * @param beside other keys of a definition @param source of them, for messages
 * @throws HarnessError `USAGE`, `SNAPSHOT_NOT_FOUND`, `SNAPSHOT_REFUSED`, `DEFINITION_INVALID`
 */
export function openSnapshot(
  stateDir: string,
  name: string,
  { beside, source }: { beside: DefinitionInput; source: string },
): LoadedSnapshot {
  const given = Object.entries(beside).filter(([, value]) => value !== undefined);
  const extra = given.find(([key]) => !CHOOSABLE.has(key));
  if (extra !== undefined) {
    throw new HarnessError(
      'USAGE',
      `${extra[0]}: a snapshot has its own; only ${[...CHOOSABLE].join(' and ')} can be given beside it`,
    );
  }
  const snapshot = findSnapshot(stateDir, name, 'snapshot');
  checkUsable(snapshot);
  const chosen = parseDefinition(Object.fromEntries(given), source);
  const saved = readDefinition(snapshot.record.definition);
  // The saved cluster may still hold its fixed ports.
  const chain = { ...saved.chain, port: 0 };
  const definition: Definition = { ...saved, chain, ports: chosen.ports, name: chosen.name };
  const mistakes = contradictions(definition);
  if (mistakes.length === 0) return { snapshot, definition, seed: BigInt(snapshot.record.seed) };
  throw new HarnessError('DEFINITION_INVALID', mistakes.map((mistake) => `${source}: ${mistake}`).join('\n'));
}

export async function placeSnapshot(
  { path, record }: Snapshot,
  stateDir: string,
  cluster: string,
): Promise<void> {
  const folder = clusterFolder(stateDir, cluster);
  await Promise.all([
    copyFolder(inside.chain(path), folder.chainState()),
    ...record.nodes.map(({ name }) => copyFolder(inside.node(path, name), folder.dataDir(name))),
  ]);
}
