import type { Board } from './board.ts';
import { chaos } from './boards/chaos.ts';
import { durability } from './boards/durability.ts';
import { economics } from './boards/economics.ts';
import { node } from './boards/node.ts';
import { overview } from './boards/overview.ts';
import { push } from './boards/push.ts';
import { retrieval } from './boards/retrieval.ts';
import { storage } from './boards/storage.ts';
import { topology } from './boards/topology.ts';

export const BOARDS: readonly Board[] = [
  overview,
  push,
  retrieval,
  storage,
  topology,
  economics,
  durability,
  chaos,
  node,
];
