/**
 * The definition's shape as a JSON schema, for editors: derived from the schema used for validation, with a
 * description for every key.
 */
import { z } from 'zod';
import { describeOptions } from '../../../../node/options.ts';
import { RESERVED_OPTIONS } from '../../../flavours/svc-options.ts';
import { schema } from '../schema.ts';
import { DESCRIPTIONS } from './descriptions.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What people may write; numbers too large for JSON are text. */
export function definitionSchema(): JsonSchema {
  const derived = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const described = describe(derived, '');
  return { ...described, title: 'svcnet cluster', description: 'A cluster of svcnet.' };
}

/** Dotted paths of all keys, as in `DESCRIPTIONS`. */
export function keyPaths(at: JsonSchema = definitionSchema(), path = ''): string[] {
  const own = Object.entries(at.properties ?? {}).flatMap(([key, value]) => {
    const inner = path === '' ? key : `${path}.${key}`;
    // The node's option table names the keys below.
    return inner === OPTIONS_PATH ? [inner] : [inner, ...keyPaths(value as JsonSchema, inner)];
  });
  const others = [...(at.anyOf ?? []), ...(isSchema(at.items) ? [at.items] : [])];
  return [...new Set([...own, ...others.flatMap((one) => keyPaths(one, path))])];
}

const OPTIONS_PATH = 'nodes.options';

function describe(at: JsonSchema, path: string): JsonSchema {
  const { properties, anyOf, items } = at;
  const about = DESCRIPTIONS[path];
  return {
    ...at,
    ...(about === undefined || path === '' ? {} : { description: about }),
    ...(path === OPTIONS_PATH ? { properties: nodeOptions(at) } : {}),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, value]) => [
              key,
              describe(value as JsonSchema, path === '' ? key : `${path}.${key}`),
            ]),
          ),
        }),
    // Numbers beyond JSON's range have a schema that allows anything; they are written as text.
    ...(anyOf === undefined
      ? {}
      : {
          anyOf: anyOf
            .filter((one) => Object.keys(one).length > 0)
            .map((one) => withoutDescription(describe(one, path))),
        }),
    ...(isSchema(items) ? { items: withoutDescription(describe(items, path)) } : {}),
  };
}

/** The key itself already has this description. */
function withoutDescription({ description: _description, ...others }: JsonSchema): JsonSchema {
  return others;
}

function isSchema(items: JsonSchema['items']): items is JsonSchema {
  return typeof items === 'object' && !Array.isArray(items);
}

/** The options of our own nodes, which an editor can suggest; a Bee has others. */
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
