import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NodeClient } from '../../../../../harness/client/node-client.ts';
import { declaredFlavour, valuesLeftOut } from '../../../../../harness/flavours/declared/declared.ts';
import type { FlavourInput } from '../../../../../harness/flavours/declared/input.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

function flavour(script: string, more: Partial<FlavourInput>): FlavourInput {
  const program = join(temporaryFolder('svcnet-declared'), 'ant');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return { name: 'ant', program, keys: { libp2p: { type: 'ed25519' } }, ...more };
}

const version = { pattern: 'ant (\\d+)' };
const asked = (given: FlavourInput) =>
  declaredFlavour(given).check?.({ where: 'nodes[0]', binary: undefined, image: undefined, options: {} });

test('its version is among the first 4 KiB of what it prints', async () => {
  await asked(flavour('printf "%4000s" ""; echo ant 3', { version }));
  await expect(asked(flavour('printf "%5000s" ""; echo ant 3', { version }))).rejects.toThrow(
    "ant --version' printed nothing in its first 4 KiB that matches /ant (\\d+)/",
  );
});

test('values that it does not list are left out', async () => {
  const config = {
    path: 'c',
    format: 'yaml',
    values: { boot_nodes: 'x', bootNodes: 'x' },
    defaults: { cache: 1, gone: 2 },
    known: ['help'],
  } as const;
  const given = flavour('printf "%s\\n" "  -b, --boot_nodes LIST" "  --cache N"', { config });
  expect(await valuesLeftOut(given, given.program)).toEqual(['gone', 'bootNodes']);
});

test('it lacks the first answer that no line of its API gives', async () => {
  const answers = new Map([
    ['/status', '{"isWarmingUp":false}'],
    ['/metrics', 'healthy_x 1\nhealthy 0\n'],
  ]);
  const client = {
    text: (path: string) => Promise.resolve(answers.get(path) ?? ''),
  } as unknown as NodeClient;
  const well = [
    { path: '/status', pattern: '"isWarmingUp":false' },
    { path: '/metrics', pattern: '^healthy [1-9]' },
  ];
  const lacks = () => declaredFlavour(flavour('', { well })).lacking?.(client, AbortSignal.timeout(1000));
  expect(await lacks()).toBe('answers nothing at /metrics that matches /^healthy [1-9]/');
  answers.set('/metrics', 'healthy_x 0\nhealthy 2\n');
  expect(await lacks()).toBeUndefined();
  answers.set('/status', '{"isWarmingUp":true}');
  expect(await lacks()).toBe('answers nothing at /status that matches /"isWarmingUp":false/');
});
