import { flavourSchemas } from '../../harness/cluster/plan/editor/json-schema.ts';
import { VALUES } from '../../harness/flavours/declared/values.ts';
import { code, page, table } from './markdown.ts';

export function flavourFilePage(): string {
  const keys = [...flavourSchemas()].map(([path, { description = '', default: fallback }]) => [
    code(path),
    fallback === undefined ? '' : code(JSON.stringify(fallback)),
    description,
  ]);
  return page(
    'Flavour file',
    'the schema and the values of flavour files',
    '[With a node of your own](../guides/other-nodes.md) explains what it is for.',
    '## Keys',
    table(['Key', 'Default', 'Meaning'], keys),
    '## Values',
    'What its texts can name in braces. Lists become texts separated by commas, unless the text is nothing but the value.',
    table(
      ['Value', 'Meaning'],
      Object.entries(VALUES).map(([name, { about }]) => [code(`{${name}}`), about]),
    ),
  );
}
