import { mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectMappable, fileSystemOf } from '../../../../node/store/disk/mapped-file.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const folder = realpathSync(temporaryFolder('svcnet-mapped'));

/** Some FUSE ones share files in memory and some do not. */
const [EXT4, FUSE] = [0xef53, 0x65735546];

test('a filesystem that cannot share files in memory is refused by folder and name, before the index is opened', () => {
  const open = () => expectMappable(folder, { typeOf: () => FUSE, maps: () => false });
  expect(open).toThrow(
    expect.objectContaining({
      code: 'DATA_DIR_UNUSABLE',
      message: `cannot keep data in ${folder}: its filesystem (${fileSystemOf(folder)}) cannot share files in memory, which the index needs; choose a folder on another one, such as a local disk or tmpfs`,
    }) as Error,
  );
});

test('a usual filesystem is not tried out, another one is, and nothing stays there', () => {
  const tried: string[] = [];
  const maps = (path: string) => tried.push(path) > 0;
  expectMappable(folder, { typeOf: () => EXT4, maps });
  expect(tried).toEqual([]);
  expectMappable(folder, { typeOf: () => FUSE, maps });
  expect(tried).toEqual([folder]);
  // A start that was cut off leaves them.
  writeFileSync(join(folder, 'mapped'), 'not a database');
  expectMappable(folder, { typeOf: () => FUSE });
  expect(readdirSync(folder)).toEqual([]);
});

test('the filesystem of a folder is that of the last mount above it', () => {
  const mounts = join(folder, 'mounts');
  const line = (point: string, type: string) => `36 35 0:1 / ${point} rw shared:1 - ${type} source rw`;
  const nameOf = (...lines: string[]) => {
    writeFileSync(mounts, `${lines.join('\n')}\n`);
    return fileSystemOf(folder, mounts);
  };
  expect(nameOf(line('/', 'ext4'))).toBe('ext4');
  expect(nameOf(line('/', 'ext4'), line(folder, '9p'), line(`${folder}-else`, 'xfs'))).toBe('9p');
  expect(nameOf(line('/', 'ext4'), line(folder, '9p'), line(folder, 'fuse.sshfs'))).toBe('fuse.sshfs');
  const spaced = mkdtempSync(join(folder, 'a b-'));
  writeFileSync(mounts, `${line(spaced.replaceAll(' ', '\\040'), 'vboxsf')}\n`);
  expect(fileSystemOf(spaced, mounts)).toBe('vboxsf');
  expect(fileSystemOf(folder, join(folder, 'absent'))).toBe('unknown');
});
