/** Bodies' shapes for the OpenAPI document and tests. Referred to by name, so that most nodes never load this. */
import type { Dialect } from '../dialect.ts';
import { chainShapes } from './shapes/chain.ts';
import { contentShapes } from './shapes/content.ts';
import { moneyShapes } from './shapes/money.ts';
import { networkShapes } from './shapes/network.ts';
import { nodeShapes } from './shapes/node.ts';

export type SchemaName = keyof ReturnType<typeof schemas>;

/** Every shape with the names of one dialect. */
export function schemas(dialect: Dialect) {
  return {
    ...contentShapes(dialect),
    ...nodeShapes(dialect),
    ...networkShapes(dialect),
    ...moneyShapes(dialect),
    ...chainShapes(dialect),
  };
}
