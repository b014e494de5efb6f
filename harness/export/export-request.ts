import { parseDefinition } from '../cluster/plan/definition.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import type { Definition } from '../cluster/plan/schema.ts';

/** Exports run repeatedly: the seed is fixed. */
export const DEFAULT_SEED = 42n;

/** A machine of a swarm. */
export interface Machine {
  readonly name: string;
  /** Of its published ports. */
  readonly address: string;
}

export interface ExportRequest {
  /** As written: parsed again elsewhere, with the same units and defaults. */
  readonly input: DefinitionInput;
  readonly definition: Definition;
  readonly seed: bigint;
  /** Undefined: this package builds it. */
  readonly image: string | undefined;
  readonly sources: string;
  /** Of a swarm, which nodes are divided among; none: the swarm chooses. */
  readonly machines: readonly Machine[];
}

export interface ExportedFile {
  /** In the export's folder. */
  readonly path: string;
  readonly content: string;
  /** Holds private keys. */
  readonly secret?: boolean;
}

export interface Exported {
  readonly files: readonly ExportedFile[];
  /** Commands. @param at a file's path as its reader types it */
  readonly next: (at: (path: string) => string) => readonly string[];
}

/** Containers: images and limits apply. @throws HarnessError `DEFINITION_INVALID` */
export function parseExported(input: object | null, source: string): Definition {
  return parseDefinition({ driver: 'docker', ...input }, source);
}
