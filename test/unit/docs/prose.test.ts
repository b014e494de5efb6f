/** The prose rules find their targets, and nothing else. */
import { expect, test } from 'vitest';
import { findings } from '../../prose/lint.ts';
import { PHRASES, SENTENCE_WORDS_MAX } from '../../prose/rules.ts';
import { textsOf } from '../../prose/texts.ts';

const page = (text: string) => findings({ where: 'page.md', text, ext: '.md' });

test.each(PHRASES)('finds the mistake in "$wrong" and says: $instead', async ({ wrong, instead }) => {
  expect(await page(wrong)).toEqual([expect.stringContaining(instead)]);
});

test('finds a sentence that is too long, but not two short ones', async () => {
  const words = (count: number) => `${'word '.repeat(count - 1)}word.`;
  expect(await page(words(SENTENCE_WORDS_MAX + 1))).toEqual([
    expect.stringMatching(/^page\.md:1: a sentence of 61 words/),
  ]);
  expect(await page(`W${words(SENTENCE_WORDS_MAX)} W${words(SENTENCE_WORDS_MAX)}`)).toEqual([]);
});

test('code and quotations are ignored', async () => {
  expect(await page('`can not`\n\n```\ncan not\n```\n\n> can not')).toEqual([]);
});

test('extracts error messages from a source, with values as an ellipsis', () => {
  const source =
    "const a = 'not a message';\nthrow new HarnessError('USAGE', `got '${x}' here`, { hint: 'Try this one.' });";
  expect(textsOf('a.ts', source)).toEqual([
    { where: 'a.ts:2', text: "got '…' here", ext: '.txt' },
    { where: 'a.ts:2', text: 'Try this one.', ext: '.txt' },
  ]);
});

test('extracts what is logged from a source, and nothing from other calls', () => {
  const source =
    "this.#deps.log.warn({ err, of: 'two words' }, 'it cannot be read');\nlog.info('all is ready');\nreport.info('not a log');";
  expect(textsOf('a.ts', source).map(({ text }) => text)).toEqual([
    'two words',
    'it cannot be read',
    'all is ready',
  ]);
});
