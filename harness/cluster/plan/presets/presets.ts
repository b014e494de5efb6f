import type { DefinitionInput } from '../definition-input.ts';
import { PRESET_NAMES } from './names.ts';

type PresetName = (typeof PRESET_NAMES)[number];

/** Accounts 5 to 9 of the public development mnemonic (`test test … junk`). */
export const PRESET_ACCOUNT_KEYS = [
  '8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba',
  '92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e',
  '4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356',
  'dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97',
  '2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6',
] as const;
const OPTIONS = {
  'withdrawal-addresses-whitelist': '0xd238ff944bacb478cbed5efcae784d7bf4f2ff80',
} as const;
const TOKEN = 10n ** 16n;
const COIN = 10n ** 18n;

/**
 * The ecosystem's five-node stack. Its height is beyond the second round of the storage game (152 blocks each), so that
 * everything uploaded before counts in a reserve sample.
 */
const factory: DefinitionInput = {
  seed: 1337,
  nodes: [
    { count: 2, keys: PRESET_ACCOUNT_KEYS.slice(0, 2), options: OPTIONS },
    { count: 1, keys: PRESET_ACCOUNT_KEYS.slice(2, 3), options: OPTIONS, batches: false },
    { count: 2, keys: PRESET_ACCOUNT_KEYS.slice(3), options: OPTIONS },
  ],
  dialect: 'swarm',
  chain: { chainId: 1337, networkId: 1337, port: 8545, blockTime: '1s', storagePrice: 24_000 },
  ports: { first: 1633, stride: 2, debug: 'free' },
  cors: '*',
  batches: { depth: 20, ttl: '30d' },
  swap: { deposit: 10n * TOKEN },
  funds: { native: COIN, tokens: 100n * TOKEN },
  credit: 'network',
  prepare: {
    uploads: [{ node: 'node-0', size: '1MiB' }],
    cheques: [
      { from: 'node-1', to: 'node-2' },
      { from: 'node-2', to: 'node-1' },
      { from: 'node-1', to: 'node-0' },
    ],
    height: 420,
  },
};

const PRESETS: Readonly<Record<PresetName, DefinitionInput>> = { factory };

/**
 * The input's keys override the preset's; `chain` is merged by key. Own ports drop the preset's chain port.
 * @returns the input itself if it names no known preset
 */
export function withPreset(input: unknown): unknown {
  if (!isMap(input)) return input;
  const name = PRESET_NAMES.find((one) => one === input['preset']);
  if (name === undefined) return input;
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  const { chain, ...preset } = PRESETS[name];
  const { port, ...elsewhere } = { ...chain };
  const ofPreset = given['ports'] === undefined ? { ...elsewhere, port } : elsewhere;
  const { chain: ofInput = {} } = given;
  return { ...preset, ...given, chain: isMap(ofInput) ? { ...ofPreset, ...ofInput } : ofInput };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
