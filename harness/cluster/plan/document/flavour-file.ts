import { dirname, resolve } from 'node:path';
import { HarnessError } from '../../../base/errors.ts';
import { type Mistake, mistakeLines } from '../../../base/foreign-text.ts';
import { flavourFile } from '../../../flavours/declared/file.ts';
import type { FlavourInput } from '../../../flavours/declared/input.ts';
import { explain } from '../definition.ts';
import { keysAt } from '../editor/json-schema.ts';
import { lineAt } from './plain-yaml.ts';
import { documentOf, textOf } from './text.ts';

const INSIDE = 'flavours';

/**
 * Reads and checks a flavour file. Its program becomes an absolute path.
 * @param argument how the path was given, for messages
 * @throws HarnessError `DEFINITION_INVALID` with a line for each mistake: where, what it got, what was expected
 */
export async function readFlavour(path: string, argument = '--flavour'): Promise<FlavourInput> {
  const text = await textOf(path, argument);
  const input = await documentOf(text, path);
  const parsed = flavourFile.safeParse(input);
  if (parsed.success) return { ...parsed.data, program: resolve(dirname(path), parsed.data.program) };
  const lineOf = await linesOf(text);
  const mistakes = parsed.error.issues.flatMap((issue): Mistake[] => {
    const key = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const line = lineOf([...issue.path, ...key]);
    return explain(issue, input, (at) => keysAt([INSIDE, ...at])).map(
      (mistake) => () => `line ${line}: ${typeof mistake === 'string' ? mistake : mistake()}`,
    );
  });
  throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, path));
}

/** @returns the line of a path, or of the nearest written key around it */
async function linesOf(text: string): Promise<(path: readonly PropertyKey[]) => number> {
  const { isMap, isScalar, isSeq, parseDocument } = await import('yaml');
  const { contents } = parseDocument(text);
  return (path) => {
    let at: unknown = contents;
    let offset = contents?.range?.[0] ?? 0;
    for (const part of path) {
      if (isMap(at)) {
        const pair = at.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
        if (pair === undefined || !isScalar(pair.key)) break;
        offset = pair.key.range?.[0] ?? offset;
        at = pair.value;
      } else if (isSeq(at)) {
        const item = at.items[Number(part)];
        const { range } = (item ?? {}) as { readonly range?: readonly number[] | null };
        offset = range?.[0] ?? offset;
        at = item;
      } else break;
    }
    return lineAt(text, offset);
  };
}
