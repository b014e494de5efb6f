/** A definition as JSON that can be read back, with marked bigints. */
import type { Definition } from './schema.ts';

interface Marked {
  readonly $bigint: string;
}

/** @returns JSON */
export function writtenDefinition(definition: unknown): unknown {
  const text = JSON.stringify(definition, (_key, value: unknown) =>
    typeof value === 'bigint' ? ({ $bigint: value.toString() } satisfies Marked) : value,
  );
  return JSON.parse(text) as unknown;
}

/** @param written by this version's `writtenDefinition` */
export function readDefinition(written: unknown): Definition {
  return JSON.parse(JSON.stringify(written), (_key, value: unknown) =>
    isMarked(value) ? BigInt(value.$bigint) : value,
  ) as Definition;
}

function isMarked(value: unknown): value is Marked {
  return typeof value === 'object' && value !== null && '$bigint' in value;
}
