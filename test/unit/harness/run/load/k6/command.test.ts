import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandOf, folderBeside } from '../../../../../../harness/run/load/k6/command.ts';
import { findScript, SCRIPT_NAMES } from '../../../../../../harness/run/load/scripts.ts';

const IMAGE = { kind: 'container', where: 'grafana/k6:2.2.0', version: '2.2.0' } as const;

function foldersSeen(script: string): string[] {
  const command = commandOf(IMAGE, ['run'], { folder: '/load', beside: folderBeside(findScript(script)) });
  return command.filter((_, at) => command[at - 1] === '--volume');
}

test.each(SCRIPT_NAMES)('a container for %s sees the folder of the load alone', (name) => {
  expect(foldersSeen(name)).toEqual(['/load:/load']);
});

test('a container lacks privileges, and writes to the folder of the load and /tmp alone', () => {
  const text = commandOf(IMAGE, ['run'], { folder: '/load', beside: undefined }).join(' ');
  expect(text).toContain('--cap-drop ALL --security-opt no-new-privileges --read-only --tmpfs /tmp:');
  expect(text).toMatch(/ --pids-limit 1024 .*grafana\/k6:2\.2\.0 run$/);
});

test("a container for a user's own script can read what lies beside it", () => {
  const folder = import.meta.dirname;
  expect(foldersSeen(join(folder, 'command.test.ts'))).toEqual([`${folder}:${folder}:ro`, '/load:/load']);
});
