/** The rules of prose find what they are for, and nothing else. */
import { expect, test } from 'vitest';
import { findings } from '../../prose/lint.ts';
import { PHRASES, SENTENCE_WORDS_MAX } from '../../prose/rules.ts';
import { textsOf } from '../../prose/texts.ts';

const page = (text: string) => findings({ where: 'page.md', text, ext: '.md' });

test.each(PHRASES)('finds what is wrong in "$wrong" and says: $instead', async ({ wrong, instead }) => {
  expect(await page(wrong)).toEqual([expect.stringContaining(instead)]);
});

test('finds a sentence that is too long, and not two that are each short enough', async () => {
  const words = (count: number) => `${'word '.repeat(count - 1)}word.`;
  expect(await page(words(SENTENCE_WORDS_MAX + 1))).toEqual([
    expect.stringMatching(/^page\.md:1: a sentence of 61 words/),
  ]);
  expect(await page(`W${words(SENTENCE_WORDS_MAX)} W${words(SENTENCE_WORDS_MAX)}`)).toEqual([]);
});

test('code, and a quotation, are not read', async () => {
  expect(await page('`can not`\n\n```\ncan not\n```\n\n> can not')).toEqual([]);
});

test('takes the messages of errors out of a source, with values as an ellipsis', () => {
  const source =
    "const a = 'not a message';\nthrow new HarnessError('USAGE', `got '${x}' here`, { hint: 'Try this one.' });";
  expect(textsOf('a.ts', source)).toEqual([
    { where: 'a.ts:2', text: "got '…' here", ext: '.txt' },
    { where: 'a.ts:2', text: 'Try this one.', ext: '.txt' },
  ]);
});
