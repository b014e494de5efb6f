import { parseDefinition } from '../cluster/plan/definition.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import type { Definition } from '../cluster/plan/schema.ts';

/** Exports are kept and run repeatedly, so the seed is fixed rather than drawn. */
export const DEFAULT_SEED = 42n;

/** A machine of a swarm. */
export interface Machine {
  /** Host name, as `docker node ls` shows it. */
  readonly name: string;
  /** Address or name at which its published ports are reached. */
  readonly address: string;
}

export interface ExportRequest {
  /** As it was written: it is parsed again elsewhere, with the same units and defaults. */
  readonly input: DefinitionInput;
  readonly definition: Definition;
  readonly seed: bigint;
  /** Reference of the image; undefined: the one that this package builds. */
  readonly image: string | undefined;
  /** Folder of this package's sources, relative to where the file will be. */
  readonly sources: string;
  /** Machines of a swarm among which the nodes are divided; none: the swarm chooses. */
  readonly machines: readonly Machine[];
}

export interface ExportedFile {
  /** Relative to the folder of the export. */
  readonly path: string;
  readonly content: string;
  /** Holds private keys. */
  readonly secret?: boolean;
}

/** The input of an engine. It reads the first file. */
export interface Exported {
  readonly files: readonly ExportedFile[];
  /** What to do with it, one line each. */
  readonly next: readonly string[];
}

/** Exported nodes are containers, so images and limits apply. @throws HarnessError `DEFINITION_INVALID` */
export function parseExported(input: object | null, source: string): Definition {
  return parseDefinition({ driver: 'docker', ...input }, source);
}
