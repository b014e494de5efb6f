/** Every route of the API. Order does not matter: literal segments win over variables. */
import type { Route } from '../route.ts';
import { BYTES_ROUTES } from './bytes.ts';
import { NODE_ROUTES } from './node.ts';
import { TECHNICAL_ROUTES } from './technical.ts';

export const ROUTES: readonly Route[] = [...BYTES_ROUTES, ...NODE_ROUTES, ...TECHNICAL_ROUTES];
