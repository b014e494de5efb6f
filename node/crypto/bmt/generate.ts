/**
 * Compiles `assembly/index.ts` and writes the module as `bmt-wasm.gen.ts`.
 *
 *     node node/crypto/bmt/generate.ts            writes the file
 *     node node/crypto/bmt/generate.ts --check    writes nothing, fails when the file is not current
 */
import { readFile, writeFile } from 'node:fs/promises';
import { main as compile } from 'assemblyscript/asc';

const SOURCE = new URL('./assembly/index.ts', import.meta.url);
const ARTEFACT = new URL('./bmt-wasm.gen.ts', import.meta.url);
/** `stub`: the module allocates nothing, so it needs no collector. */
const FLAGS = ['-O3', '--converge', '--noAssert', '--enable', 'simd', '--runtime', 'stub'];

/** Text of the generated file for the source as it is now. @throws Error with the compiler's output */
export async function generate(): Promise<string> {
  const source = await readFile(SOURCE, 'utf8');
  let wasm: string | Uint8Array = '';
  const messages: string[] = [];
  const { error } = await compile(['index.ts', '--outFile', 'index.wasm', ...FLAGS], {
    readFile: (name) => (name === 'index.ts' ? source : null),
    writeFile: (_name, contents) => {
      wasm = contents;
    },
    listFiles: () => [],
    stderr: { write: (text) => messages.push(String(text)) > 0 },
  });
  if (error !== null)
    throw new Error(`assembly/index.ts does not compile\n${messages.join('')}`, { cause: error });
  const lines =
    Buffer.from(wasm)
      .toString('base64')
      .match(/.{1,108}/g) ?? [];
  return [
    '// Generated from assembly/index.ts by `node node/crypto/bmt/generate.ts`; a test checks that it is current.',
    'export const BMT_WASM_BASE64 = `',
    ...lines,
    '`;',
    '',
  ].join('\n');
}

/** Whether the file on disk is what the source gives. */
export async function isCurrent(): Promise<boolean> {
  return (await readFile(ARTEFACT, 'utf8')) === (await generate());
}

if (import.meta.main) {
  if (!process.argv.includes('--check')) await writeFile(ARTEFACT, await generate());
  else if (!(await isCurrent())) {
    process.stderr.write('bmt-wasm.gen.ts is not current: run node node/crypto/bmt/generate.ts\n');
    process.exitCode = 1;
  }
}
