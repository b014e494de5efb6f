import { Alias, Document, isMap, isScalar, visit } from 'yaml';

/**
 * Short lists on a line, blank lines between parts.
 * @param value data, or a document of the `yaml` package @param notes above it, one line each
 */
export function annotatedYaml(value: unknown, notes: readonly string[]): string {
  const document = readable(value);
  if (isMap(document.contents)) {
    for (const part of document.contents.items.slice(1)) {
      const key = isScalar(part.key) ? part.key : document.createNode(part.key);
      if (isScalar(key)) key.spaceBefore = true;
      part.key = key;
    }
  }
  return `${commented(notes)}\n${document.toString(LAYOUT)}`;
}

export function commented(notes: readonly string[]): string {
  return notes.map((line) => (line === '' ? '#\n' : `# ${line}\n`)).join('');
}

/** Files for Compose and Docker Swarm. What services share is a part `x-NAME`, merged as `NAME` under `<<`. */
export function servicesYaml(parts: Readonly<Record<string, unknown>>, notes: readonly string[]): string {
  const document = new Document(parts, { aliasDuplicateObjects: false });
  visit(document, {
    Pair(_key, pair) {
      const name = isScalar(pair.key) ? String(pair.key.value) : '';
      if (name.startsWith('x-') && isMap(pair.value)) pair.value.anchor = name.slice('x-'.length);
      if (name === '<<') pair.value = new Alias(String(pair.value));
    },
  });
  return annotatedYaml(document, notes);
}

/** One part alone. */
export function yamlText(value: unknown): string {
  return readable(value).toString(LAYOUT);
}

const LAYOUT = { lineWidth: 0, flowCollectionPadding: false } as const;

function readable(value: unknown): Document {
  const document = value instanceof Document ? value : new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Seq(_key, sequence) {
      sequence.flow = sequence.items.length > 0 && sequence.items.every((item) => isScalar(item));
    },
  });
  return document;
}
