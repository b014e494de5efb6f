import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stateDir, svcnet } from './kit.ts';

export function portTests(): void {
  describe('a second network of the preset', () => {
    test('is refused because the port of the chain is in use, with the process that uses it', async () => {
      const { code, stderr } = await svcnet('up', '--preset', 'factory', '--name', 'second');
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^error: port 8545 of 127\.0\.0\.1 is in use: the RPC endpoint of the chain wants it, process \d+ has it \(.*chain\/main.*\)$/m,
      );
    });

    test('is refused in the same way for the port of a node when its chain is elsewhere', async () => {
      const file = join(stateDir, 'second.yaml');
      writeFileSync(file, 'preset: factory\nname: second\nchain: { port: 0 }\n');
      const { code, stderr } = await svcnet('up', '--file', file);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^error: port 1633 of 127\.0\.0\.1 is in use: the API of node-0 wants it, process \d+ has it \(.+\)$/m,
      );
    });
  });
}
