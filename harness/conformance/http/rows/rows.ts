/** In the order of checking. */
import type { Row } from '../../row.ts';
import type { Names } from '../names.ts';
import type { HttpSubject } from '../subject.ts';
import { bytesRows } from './bytes.ts';
import { chunkRows } from './chunks.ts';
import { fileRows } from './files.ts';
import { keepingRows } from './keeping.ts';
import { moneyRows } from './money.ts';
import { nodeRows } from './node.ts';
import { readRows } from './reads.ts';
import { refusalRows } from './refusals.ts';
import { transportRows } from './transport.ts';

const TABLES = [
  readRows,
  transportRows,
  refusalRows,
  bytesRows,
  chunkRows,
  fileRows,
  keepingRows,
  nodeRows,
  moneyRows,
];

export function httpRows(names: Names): readonly Row<HttpSubject>[] {
  return TABLES.flatMap((rows) => rows(names));
}
