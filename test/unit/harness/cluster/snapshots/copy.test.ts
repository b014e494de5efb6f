import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { copyFolder } from '../../../../../harness/cluster/snapshots/copy.ts';
import {
  readControl,
  readCounts,
  readFaults,
  tamperedOf,
  writeControl,
  writeCounts,
  writeFault,
  writeTampered,
} from '../../../../../harness/flavours/tampered/settings.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let folder = '';
beforeEach(() => void (folder = temporaryFolder('svcnet-copy')));

test('faults and what they have done stay with the cluster, because nobody could heal them in a copy', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  writeTampered(from, { behaviours: [] });
  writeFault(from, 'f1', { layer: 'disk', what: 'full' });
  writeCounts(from, 'f1', { refused: 3 });
  writeControl(from, { port: 1, token: 'x', pid: process.pid });
  mkdirSync(join(from, 'chunks', 'faults'), { recursive: true });
  writeFileSync(join(from, 'chunks', 'faults', 'data'), 'kept');
  await copyFolder(from, to);
  expect(readFaults(to)).toEqual(new Map());
  expect(readCounts(to, 'f1')).toEqual({});
  expect(readControl(to)).toBeUndefined();
  expect(tamperedOf(to)).toEqual({ behaviours: [] });
  expect(readFileSync(join(to, 'chunks', 'faults', 'data'), 'utf8')).toBe('kept');
});

test('an interrupted copy ends before the next file', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  mkdirSync(from);
  writeFileSync(join(from, 'data'), 'x');
  await expect(copyFolder(from, to, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(existsSync(to)).toBe(false);
});
