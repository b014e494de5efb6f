import { fileURLToPath, pathToFileURL } from 'node:url';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { guarded } from './guard.ts';
import { expectSource, mistakeIn, PACKAGE, SCRIPT } from './kept.ts';

const OWN_CODE = /^(?:harness|formats|node|chain)\//;

const MODULE_HINT =
  'A scenario is an ES module, and the package.json above it says otherwise: name the file .mts or .mjs, or set "type": "module" there';

const PACKAGE_HINT =
  "A scenario imports 'svcnet/scenario' from a folder above its own, and an installation for all projects (npm install --global) is none: npm install --save-dev svcnet";

/**
 * The default export of somebody's file.
 * @param path absolute
 * @param shown what messages call it
 * @throws HarnessError `USAGE`, saying where in which file
 */
export async function loadSource(path: string, shown: string = path): Promise<unknown> {
  expectSource(path);
  if (!SCRIPT.test(path))
    throw new HarnessError(
      'USAGE',
      `${shown} is no scenario, expected a program: .ts, .mts, .js or .mjs; or the .json of a recipe`,
      { hint: 'A cluster file (.yaml, .json) goes with --file, a file of checks with --checks.' },
    );
  try {
    const module = (await guarded(shown, () => import(pathToFileURL(path).href))) as { default?: unknown };
    return module.default;
  } catch (error) {
    if (error instanceof HarnessError) throw error;
    const at = (await positionOf(error, path))?.replaceAll(path, shown);
    const where =
      at?.startsWith(`${shown}:`) === true ? at : [shown, ...(at === undefined ? [] : [at])].join(': ');
    const said = messageOf(error).replaceAll(path, shown);
    throw new HarnessError('USAGE', `cannot load ${where}: ${said}`, { cause: error, hint: hintOf(error) });
  }
}

function hintOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  if (error instanceof SyntaxError && /import statement outside a module|token 'export'/.test(message))
    return MODULE_HINT;
  return message.startsWith("Cannot find package 'svcnet'") ? PACKAGE_HINT : undefined;
}

/** As `file:line:column`. */
async function positionOf(error: unknown, path: string): Promise<string | undefined> {
  if (!(error instanceof Error)) return undefined;
  const stack = error.stack ?? '';
  return (
    markedPosition(stack) ??
    framePosition(stack) ??
    (error instanceof SyntaxError ? await mistakeIn(path) : undefined)
  );
}

/** Node.js puts the line before the stack, and marks the place below it. */
function markedPosition(stack: string): string | undefined {
  const found = /^(file:\/\/.+|\/.+):(\d+)\n(?:(?!\s*\^).*\n){1,3}?( *)\^/.exec(stack);
  if (found === null) return undefined;
  const [, file = '', line, before = ''] = found;
  return `${plainPath(file)}:${line}:${before.length + 1}`;
}

/** The first place in code that is neither this package's nor an installed one's. */
function framePosition(stack: string): string | undefined {
  return [...stack.matchAll(/^ +at (?:.*\()?(file:\/\/.+|\/.+):(\d+):(\d+)\)?$/gm)]
    .map(([, file = '', line, column]) => ({ file: plainPath(file), line, column }))
    .filter(({ file }) => !isInstalled(file))
    .map(({ file, line, column }) => `${file}:${line}:${column}`)[0];
}

function isInstalled(file: string): boolean {
  if (file.includes('/node_modules/')) return true;
  return file.startsWith(`${PACKAGE}/`) && OWN_CODE.test(file.slice(PACKAGE.length + 1));
}

function plainPath(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : file;
}
