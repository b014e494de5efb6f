/**
 * Shapes of the bodies that routes name, for the OpenAPI document and for the tests that check answers against them.
 * Routes refer to them by name, so that a node that never serves the document never loads this file.
 */
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
