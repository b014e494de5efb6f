import { describe, expect, test } from 'vitest';
import { apiPorts, chainPort, PRESET, presetFile, svcnet } from './kit.ts';

function inUse(port: number | undefined, wants: string, has: string): RegExp {
  const where = `port ${port} of 127\\.0\\.0\\.1 is in use`;
  return new RegExp(`^error: ${where}: ${wants} wants it, process \\d+ has it \\(${has}\\)$`, 'm');
}

export function portTests(): void {
  describe('a second network of the preset', () => {
    test('is refused because the port of the chain is in use, with the process that uses it', async () => {
      const { code, stderr } = await svcnet('up', ...PRESET, '--name', 'second');
      expect(code).toBe(2);
      expect(stderr).toMatch(inUse(chainPort, 'the RPC endpoint of the chain', '.*/chain/options.json.*'));
    });

    test('is refused in the same way for the port of a node when its chain is elsewhere', async () => {
      const { code, stderr } = await svcnet('up', '--file', presetFile('second', 0), '--name', 'second');
      expect(code).toBe(2);
      expect(stderr).toMatch(inUse(apiPorts[0], 'the API of node-0', '.+'));
    });
  });
}
