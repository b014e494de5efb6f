import { z } from 'zod';
import { describeOptions } from '../../../../node/options.ts';
import { flavourFile } from '../../../flavours/declared/file.ts';
import { RESERVED_OPTIONS } from '../../../flavours/svc-options.ts';
import { schema } from '../schema.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

export function definitionSchema(): JsonSchema {
  const derived = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ jsonSchema, path }) {
      if (jsonSchema.anyOf !== undefined)
        jsonSchema.anyOf = jsonSchema.anyOf.filter((one) => Object.keys(one).length > 0);
      if (path.at(-1) === 'options') jsonSchema.properties = nodeOptions(jsonSchema);
    },
  });
  return { ...derived, title: 'svcnet cluster', description: 'A cluster of svcnet.' };
}

/** Dotted paths of all keys, such as `nodes.batches.depth`. */
export function keyPaths(): string[] {
  return [...keySchemas().keys()];
}

export function keySchemas(at: JsonSchema = definitionSchema(), path = ''): Map<string, JsonSchema> {
  const own = Object.entries(at.properties ?? {}).flatMap(([key, value]) => {
    const inner = path === '' ? key : `${path}.${key}`;
    const one: [string, JsonSchema] = [inner, value as JsonSchema];
    // The option table names these; flavour files have their own page.
    return inner === OPTIONS_PATH || inner === FLAVOURS_PATH ? [one] : [one, ...keySchemas(one[1], inner)];
  });
  const others = [...(at.anyOf ?? []), ...(isSchema(at.items) ? [at.items] : [])];
  return new Map([...own, ...others.flatMap((one) => [...keySchemas(one, path)])]);
}

const OPTIONS_PATH = 'nodes.options';
const FLAVOURS_PATH = 'flavours';

export function flavourSchemas(): Map<string, JsonSchema> {
  return keySchemas(z.toJSONSchema(flavourFile, { io: 'input', unrepresentable: 'any' }));
}

export function keysAt(path: readonly PropertyKey[]): string[] {
  const inFlavour = path[0] === FLAVOURS_PATH;
  const inside = inFlavour ? path.slice(1) : path;
  const before = inside.flatMap((part) => (typeof part === 'string' ? [`${part}.`] : [])).join('');
  const known = inFlavour ? [...flavourSchemas().keys()] : keyPaths();
  return known
    .filter((key) => key.startsWith(before))
    .map((key) => key.slice(before.length))
    .filter((key) => !key.includes('.'));
}

function isSchema(items: JsonSchema['items']): items is JsonSchema {
  return typeof items === 'object' && !Array.isArray(items);
}

/** Suggestions for an editor; a Bee has other options. */
function nodeOptions({ additionalProperties }: JsonSchema): Record<string, JsonSchema> {
  const reserved: readonly string[] = RESERVED_OPTIONS;
  return Object.fromEntries(
    describeOptions()
      .filter(({ name }) => !reserved.includes(name))
      .map(({ name, help, unit, default: fallback }) => [
        name,
        {
          ...(additionalProperties as JsonSchema),
          description: `${help}${unit === '' ? '' : ` (${unit})`}; default: ${fallback}`,
        },
      ]),
  );
}
