/**
 * Compiles the AssemblyScript sources below this folder into generated files.
 *
 *     node formats/crypto/generate.ts            writes the files
 *     node formats/crypto/generate.ts --check    writes nothing, fails when a file is not current
 */
import { readFile, writeFile } from 'node:fs/promises';
import { main as compile } from 'assemblyscript/asc';

interface WasmModule {
  readonly source: URL;
  readonly artefact: URL;
  readonly constant: string;
}

const MODULES: readonly WasmModule[] = [
  {
    source: new URL('./bmt/assembly/index.ts', import.meta.url),
    artefact: new URL('./bmt/bmt-wasm.gen.ts', import.meta.url),
    constant: 'BMT_WASM_BASE64',
  },
  {
    source: new URL('./erasure/assembly/index.ts', import.meta.url),
    artefact: new URL('./erasure/erasure-wasm.gen.ts', import.meta.url),
    constant: 'ERASURE_WASM_BASE64',
  },
];

/** `stub`: the modules allocate nothing, so they need no collector. */
const FLAGS = ['-O3', '--converge', '--noAssert', '--enable', 'simd', '--runtime', 'stub'];

/** @throws Error with the compiler's output */
async function generate({ source, constant }: WasmModule): Promise<string> {
  const text = await readFile(source, 'utf8');
  let wasm: string | Uint8Array = '';
  const messages: string[] = [];
  const { error } = await compile(['index.ts', '--outFile', 'index.wasm', ...FLAGS], {
    readFile: (file) => (file === 'index.ts' ? text : null),
    writeFile: (_file, contents) => {
      wasm = contents;
    },
    listFiles: () => [],
    stderr: { write: (line) => messages.push(String(line)) > 0 },
  });
  if (error !== null)
    throw new Error(`${source.pathname} does not compile\n${messages.join('')}`, { cause: error });
  const lines =
    Buffer.from(wasm)
      .toString('base64')
      .match(/.{1,108}/g) ?? [];
  return [
    '// Generated from assembly/index.ts by `node formats/crypto/generate.ts`; a test checks that it is current.',
    `export const ${constant} = \``,
    ...lines,
    '`;',
    '',
  ].join('\n');
}

/** Constants whose file on disk differs from the one generated from its source. */
export async function outdated(): Promise<string[]> {
  const constants: string[] = [];
  for (const module of MODULES)
    if ((await readFile(module.artefact, 'utf8')) !== (await generate(module)))
      constants.push(module.constant);
  return constants;
}

if (import.meta.main) {
  if (!process.argv.includes('--check'))
    for (const module of MODULES) await writeFile(module.artefact, await generate(module));
  else {
    const constants = await outdated();
    if (constants.length > 0) {
      process.stderr.write(`not current: ${constants.join(', ')}; run node formats/crypto/generate.ts\n`);
      process.exitCode = 1;
    }
  }
}
