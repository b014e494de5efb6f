import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Deployment } from '../../../../chain/deployment/deploy.ts';
import { readState, writeState } from '../../../../chain/state/state-folder.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const MODULE = pathToFileURL(join(import.meta.dirname, '../../../../chain/state/state-folder.ts')).href;
/** Stands in for a full disk: the system stores what fits and says how much that was. */
const FILE_SIZE_MAX_KIB = 1;

test('half a block line is an error, not half a line that the next one follows', () => {
  const folder = temporaryFolder('svcnet-chain-state');
  const script = `
      const { writeState } = await import('${MODULE}');
      const file = writeState(${JSON.stringify(folder)}, { identity: {}, deployment: {}, dump: Buffer.from('x') });
      file.append([{ transactions: [] }]);
      try {
        file.append([{ transactions: ['00'.repeat(${1024 * FILE_SIZE_MAX_KIB})] }]);
        console.log('taken');
      } catch (error) {
        console.log(error.code);
      }`;
  const { stdout, stderr } = spawnSync(
    'bash',
    [
      '-c',
      'ulimit -f "$1" && exec "$2" --input-type=module -e "$3"',
      'bash',
      String(FILE_SIZE_MAX_KIB),
      process.execPath,
      script,
    ],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  expect(stdout.trim()).toBe('EFBIG');
});

test('of blocks that a power failure has torn, those before them are read', () => {
  const folder = temporaryFolder('svcnet-chain-state');
  const state = { identity: {}, deployment: {} as Deployment, dump: gzipSync('x') };
  const file = writeState(folder, state);
  const block = (number: number) => ({ number, time: number, hash: '', transactions: [] });
  file.append([block(1), block(2)]);
  file.close();
  const blocks = readdirSync(folder).find((name) => name.endsWith('.blocks')) as string;
  appendFileSync(join(folder, blocks), `${'\0'.repeat(40)}\n${JSON.stringify(block(4))}\n`);
  expect(readState(folder)?.blocks).toEqual([block(1), block(2)]);
});

test('a state that cannot be written leaves neither files nor open ones', () => {
  const folder = temporaryFolder('svcnet-chain-state');
  const state = { identity: {}, deployment: {} as Deployment, dump: Buffer.from('x') };

  writeState(folder, state).close();
  rmSync(join(folder, 'state.json'));
  // The last step fails.
  mkdirSync(join(folder, 'state.json/x'), { recursive: true });
  const before = readdirSync(folder);
  const opened = readdirSync('/dev/fd').length;
  for (let blocks = 0; blocks < 3; blocks++) expect(() => writeState(folder, state)).toThrow('EISDIR');
  expect(readdirSync(folder)).toEqual(before);
  expect(readdirSync('/dev/fd')).toHaveLength(opened);
});
