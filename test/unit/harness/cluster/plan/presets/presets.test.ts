import { HDNodeWallet, Mnemonic } from 'ethers';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../../harness/cluster/plan/definition-input.ts';
import { creditOf } from '../../../../../../harness/cluster/plan/facts.ts';
import { planCluster } from '../../../../../../harness/cluster/plan/plan.ts';
import { chainPort, wantedPorts } from '../../../../../../harness/cluster/plan/ports.ts';
import { PRESET_ACCOUNT_KEYS, withPreset } from '../../../../../../harness/cluster/plan/presets/presets.ts';

const parse = (input: DefinitionInput) => parseDefinition(input, 'options');
const factory = (input: DefinitionInput = {}) => parse({ preset: 'factory', ...input });

test('factory has the ports of the five-node stack, and no others', () => {
  expect(wantedPorts(factory()).map(({ port }) => port)).toEqual([
    8545,
    ...[1633, 1635, 1637, 1639, 1641].flatMap((api) => [api, api + 1]),
  ]);
});

test('factory has accounts 5 to 9 of the development mnemonic', () => {
  const mnemonic = Mnemonic.fromPhrase(`${'test '.repeat(11)}junk`);
  const keys = [5, 6, 7, 8, 9].map(
    (index) => HDNodeWallet.fromMnemonic(mnemonic, `m/44'/60'/0'/0/${index}`).privateKey,
  );
  expect(PRESET_ACCOUNT_KEYS.map((key) => `0x${key}`)).toEqual(keys);
});

test('factory has the chain and the money of the stack', () => {
  const definition = factory();
  const { chain } = planCluster(definition, definition.seed ?? 0n);
  expect(chain).toMatchObject({ port: 8545, chainId: 1337, networkId: 1337, blockTimeMs: 1000 });
  expect(chain.accounts.slice(0, 5).map(({ native, tokens }) => [native, tokens])).toEqual(
    Array.from({ length: 5 }, () => [(10n ** 18n).toString(), (100n * 10n ** 16n).toString()]),
  );
  expect(chain.chequebooks.map(({ deposit }) => deposit)).toEqual(
    Array(5).fill((10n * 10n ** 16n).toString()),
  );
  const owners = new Set(chain.batches.map(({ owner }) => owner));
  expect(chain.accounts.slice(0, 5).map(({ address }) => owners.has(address))).toEqual([
    true,
    true,
    false,
    true,
    true,
  ]);
  expect([definition.dialect, creditOf(definition), definition.cors]).toEqual(['swarm', 'network', ['*']]);
});

test('keys beside a preset win over it, for the chain key by key', () => {
  const definition = factory({ seed: 7, driver: 'embedded', chain: { blockTime: '5s' } });
  expect([definition.seed, definition.driver, definition.dialect]).toEqual([7n, 'embedded', 'swarm']);
  expect(definition.chain).toMatchObject({ blockTime: 5000, chainId: 1337, port: 8545 });
});

test('different ports for the nodes also move the chain, unless it has its own port', () => {
  expect(chainPort(factory({ ports: 'free' }))).toBe(0);
  expect(chainPort(factory({ ports: 17_000 }))).toBe(17_009);
  expect(chainPort(factory({ ports: 17_000, chain: { port: 8545 } }))).toBe(8545);
});

test('an input whose preset is filled in already stays the same', () => {
  const once = withPreset({ preset: 'factory', ports: 17_000, seed: undefined });
  expect(once).toMatchObject({ ports: 17_000, seed: 1337, chain: { chainId: 1337 } });
  expect(withPreset(once)).toEqual(once);
});

test('an unknown preset is refused with the nearest one', () => {
  expect(() => parseDefinition({ preset: 'factry' }, 'cluster.yaml')).toThrow(
    "cluster.yaml: preset: got 'factry', expected one of factory, did you mean 'factory'?",
  );
});

test('mistakes beside a preset are reported as without one', () => {
  expect(() => parse({ preset: 'factory', chain: 5 } as unknown as DefinitionInput)).toThrow(
    'options: chain: got 5, expected a map',
  );
  expect(() => factory({ nodes: 2 })).toThrow(
    "prepare.cheques[0].to: got 'node-2', expected one of node-0 to node-1",
  );
});
