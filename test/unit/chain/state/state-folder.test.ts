import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const MODULE = pathToFileURL(join(import.meta.dirname, '../../../../chain/state/state-folder.ts')).href;
/** A limit of the file's size stands in for a full disk: the system stores what fits and says how much that was. */
const FILE_SIZE_MAX_KIB = 1;

test('half a block line is an error, not half a line that the next one follows', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-chain-state-'));
  try {
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
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
