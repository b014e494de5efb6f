/** Shapes of bodies, for the OpenAPI document and tests. Named by routes, so that only the document loads this file. */
import type { Dialect } from '../dialect.ts';
import { chainShapes } from './shapes/chain.ts';
import { contentShapes } from './shapes/content.ts';
import { moneyShapes } from './shapes/money.ts';
import { networkShapes } from './shapes/network.ts';
import { nodeShapes } from './shapes/node.ts';

export type SchemaName = keyof ReturnType<typeof schemas>;

export function schemas(dialect: Dialect) {
  return {
    ...contentShapes(dialect),
    ...nodeShapes(dialect),
    ...networkShapes(dialect),
    ...moneyShapes(dialect),
    ...chainShapes(dialect),
  };
}
