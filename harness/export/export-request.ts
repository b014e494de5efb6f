import { parseDefinition } from '../plan/definition.ts';
import type { DefinitionInput } from '../plan/definition-input.ts';
import type { Definition } from '../plan/schema.ts';

/** What is exported is kept and run again, so that its seed is not drawn. */
export const DEFAULT_SEED = 42n;

/** A machine of a swarm. */
export interface Machine {
  /** Host name, as `docker node ls` shows it. */
  readonly name: string;
  /** Address or name under which its published ports are reached. */
  readonly address: string;
}

export interface ExportRequest {
  /** As it was written: what parses it again elsewhere has the same units and defaults. */
  readonly input: DefinitionInput;
  readonly definition: Definition;
  readonly seed: bigint;
  /** Reference of the image; undefined: the one that this package builds. */
  readonly image: string | undefined;
  /** Folder of this package's sources, relative to the place where the file will be. */
  readonly sources: string;
  /** Machines of a swarm, between which the nodes are divided; none: the swarm chooses. */
  readonly machines: readonly Machine[];
}

export interface ExportedFile {
  /** Relative to the folder of the export. */
  readonly path: string;
  readonly content: string;
  /** Holds private keys. */
  readonly secret?: boolean;
}

/** What an engine is given. The first file is the one that it reads. */
export interface Exported {
  readonly files: readonly ExportedFile[];
  /** What to do with it, a line each. */
  readonly next: readonly string[];
}

/** Exported nodes are containers, so that images and limits have an effect. @throws HarnessError `DEFINITION_INVALID` */
export function parseExported(input: object | null, source: string): Definition {
  return parseDefinition({ driver: 'docker', ...input }, source);
}
