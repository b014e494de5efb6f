/**
 * Compiles contracts/*.sol to artifacts/<Contract>.json, which are committed: users need no compiler. With `--check` it only
 * names outdated ones (exit code 1).
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const CONTRACTS = new URL('contracts/', import.meta.url);
const ARTIFACTS = new URL('artifacts/', import.meta.url);

const DEPLOYED = [
  'TestToken',
  'PostageStamp',
  'PriceOracle',
  'StakeRegistry',
  'Redistribution',
  'SimpleSwapFactory',
  'ERC20SimpleSwap',
  'SwapPriceOracle',
];

interface CompiledContract {
  abi: unknown[];
  evm: { bytecode: { object: string }; deployedBytecode: { object: string } };
}

interface CompilerMessage {
  formattedMessage: string;
  sourceLocation?: { file: string };
}

interface CompilerOutput {
  contracts: Record<string, Record<string, CompiledContract>>;
}

interface Compiler {
  compile(input: string, callbacks: { import: (path: string) => { contents: string } }): string;
}

export function compileContracts(): Map<string, CompiledContract> {
  const output: CompilerOutput = compileSources([
    'abi',
    'evm.bytecode.object',
    'evm.deployedBytecode.object',
  ]);
  return new Map(
    DEPLOYED.map((name) => {
      const contract = output.contracts[`${name}.sol`]?.[name];
      if (contract === undefined) throw new Error(`the sources hold no contract ${name}`);
      return [name, contract] as const;
    }),
  );
}

/**
 * @returns the compiler's answer, shaped by the outputs
 * @throws Error with its messages, also warnings about our sources
 */
export function compileSources(outputs: readonly string[]) {
  const sources = readdirSync(CONTRACTS).filter((name) => name.endsWith('.sol'));
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      sources.map((name) => [name, { content: readFileSync(new URL(name, CONTRACTS), 'utf8') }]),
    ),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 1000 },
      // Without the hash of the metadata, artifacts change only when code changes.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': outputs } },
    },
  };
  const compiler: Compiler = require('solc');
  const output = JSON.parse(
    compiler.compile(JSON.stringify(input), {
      import: (path) => ({ contents: readFileSync(require.resolve(path), 'utf8') }),
    }),
  );
  const messages: CompilerMessage[] = output.errors ?? [];
  const problems = messages.filter(({ sourceLocation }) => !sourceLocation?.file.startsWith('@'));
  if (problems.length > 0) throw new Error(problems.map((e) => e.formattedMessage).join('\n'));
  return output;
}

export function renderArtifacts(compiled: Map<string, CompiledContract>): { path: URL; text: string }[] {
  return [...compiled].map(([name, { abi, evm }]) => {
    const artifact = {
      contract: name,
      abi,
      bytecode: `0x${evm.bytecode.object}`,
      deployedBytecode: `0x${evm.deployedBytecode.object}`,
    };
    return { path: new URL(`${name}.json`, ARTIFACTS), text: `${JSON.stringify(artifact, null, 1)}\n` };
  });
}

export function staleArtifacts(artifacts: { path: URL; text: string }[]): string[] {
  const present = new Set(readdirSync(ARTIFACTS));
  return artifacts
    .map(({ path, text }) => ({ path, text, name: path.pathname.slice(ARTIFACTS.pathname.length) }))
    .filter(({ path, text, name }) => !present.has(name) || readFileSync(path, 'utf8') !== text)
    .map(({ name }) => name);
}

function main(args: string[]): number {
  if (args.some((arg) => arg !== '--check')) {
    process.stderr.write('usage: node chain/compile.ts [--check]\n');
    return 2;
  }
  const artifacts = renderArtifacts(compileContracts());
  if (args.includes('--check')) {
    const stale = staleArtifacts(artifacts);
    if (stale.length > 0) process.stderr.write(`not current: ${stale.join(', ')}\n`);
    return stale.length > 0 ? 1 : 0;
  }
  for (const { path, text } of artifacts) writeFileSync(path, text);
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.exitCode = main(process.argv.slice(2));
