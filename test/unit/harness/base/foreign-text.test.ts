import { expect, test } from 'vitest';
import {
  CLEAR_LINE,
  forTerminal,
  inLine,
  inLines,
  inMarkdown,
  oneLine,
  withPlainWords,
} from '../../../../harness/base/foreign-text.ts';
import { runLine } from '../../../../harness/commands/line.ts';
import { consoleStyle, paint } from '../../../../harness/report/console.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

/** It colours, moves, renames, breaks lines, turns the direction. */
const HOSTILE: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['a colour', 'a\u001b[31mb', 'a\\u001b[31mb'],
  ['a title', 'a\u001b]0;owned\u0007b', 'a\\u001b]0;owned\\u0007b'],
  ['an eight-bit sequence', 'a\u009b2Jb', 'a\\u009b2Jb'],
  ['a line break', 'a\r\n  passed', 'a passed'],
  ['other line breaks', 'a\u2028b\u0085c\vd', 'a b c d'],
  ['another direction', 'a\u202egpj.exe', 'a\\u202egpj.exe'],
  ['an isolate', 'a\u2066b\u2069', 'a\\u2066b\\u2069'],
  ['nothing that is seen', 'a\u200b\ufeff\u2060b', 'a\\u200b\\ufeff\\u2060b'],
  ['a tag', 'a\u{e0041}', 'a\\udb40\\udc41'],
  ['half a pair', 'a\ud83d', 'a\\ud83d'],
  ['a backspace', 'safe\b\b\b\bevil', 'safe\\u0008\\u0008\\u0008\\u0008evil'],
];

test.each(HOSTILE)('%s is text in a line', (_what, text, shown) => {
  expect(inLine(text)).toBe(shown);
});

test('what people write stays: other scripts, emoji, joined characters', () => {
  for (const text of ['Käse → naïve', '日本語', 'עברית', '👩\u200d🔬 ✔', 'e\u0301']) {
    expect([inLine(text), forTerminal(text)]).toEqual([text, text]);
  }
});

test('a long text is cut, not within a character', () => {
  expect(inLine('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
  expect(inLine('x'.repeat(500))).toBe('x'.repeat(500));
  expect(inLine(`${'x'.repeat(498)}🐝${'x'.repeat(1_000_000)}`)).toBe(`${'x'.repeat(498)}…`);
});

test('a long run of blanks is looked at once', () => {
  const text = `a${' '.repeat(300_000)}b`;
  expect(oneLine(text)).toBe(text);
  expect(inLine(text, Number.POSITIVE_INFINITY)).toBe(text);
});

test('lines of evidence keep their number and indentation', () => {
  expect(inLines('one\r\n  two\rthree\n\tfour')).toEqual(['one', '  two three', '\tfour']);
});

test('a terminal gets our own colours and redrawing, and obeys nothing else', () => {
  const style = { ...consoleStyle({ isTTY: true }, {}), colour: true };
  const line = `${CLEAR_LINE}  ${paint(style, 'red', paint(style, 'bold', '✖'))} step\tdone\n`;
  expect(forTerminal(line)).toBe('\r\u001b[2K  \u001b[31m\u001b[1m✖\u001b[0m\u001b[0m step\tdone\n');
  expect(forTerminal('a\u001b[2Jb\rc\u001b[8md\u001b]0;x\u0007\n')).toBe(
    'a\\u001b[2Jb\\u000dc\\u001b[8md\\u001b]0;x\\u0007\n',
  );
  expect(forTerminal('a\r\u001b[2Kb')).toBe('a\\u000d\\u001b[2Kb');
});

test('texts of others have no colours, even ours, nor begin a line anew', () => {
  const hostile = '\r\u001b[2K\u001b[31mred\u001b[0m';
  expect(forTerminal(hostile)).toBe('\\u000d\\u001b[2K\\u001b[31mred\\u001b[0m');
  const style = { ...consoleStyle({ isTTY: true }, {}), colour: true };
  expect(forTerminal(paint(style, 'green', hostile))).toBe(
    '\u001b[32m\\u000d\\u001b[2K\\u001b[31mred\\u001b[0m\u001b[0m',
  );
});

test('a line with colours stays one line, with its indentation', () => {
  const style = { ...consoleStyle({ isTTY: true }, {}), colour: true };
  const line = oneLine(`  \t${paint(style, 'red', '✖')} a\r\n  passed\u2028b\u001b[31m`);
  expect(forTerminal(line)).toBe('  \t\u001b[31m✖\u001b[0m a passed b\\u001b[31m');
});

test('JSON for a terminal is the same document', () => {
  const document = HOSTILE.map(([, text]) => text);
  const shown = forTerminal(JSON.stringify(document, null, 2));
  expect(JSON.parse(shown)).toEqual(document);
  expect(shown).not.toMatch(/[\u0080-\u009f\u202e\u2066\u200b]/);
});

test.each([
  ['<img src=x onerror=alert(1)>', '\\<img src=x onerror=alert(1)\\>'],
  ['&lt;b&gt;', '\\&lt;b\\&gt;'],
  ['[a](https://evil.example)', '\\[a\\](https\\://evil.example)'],
  ['see www.evil.example', 'see www\\.evil.example'],
  ['@team ~~gone~~ | `x`', '\\@team \\~\\~gone\\~\\~ \\| \\`x\\`'],
  ['a\n\n# Passed', 'a \\# Passed'],
  ['a\r# Passed', 'a \\# Passed'],
  ['- one', '\\- one'],
  ['1. one', '1\\. one'],
  ['12)', '12\\)'],
  ['23.54 GiB', '23.54 GiB'],
])('%j is text in Markdown', (text, shown) => {
  expect(inMarkdown(text)).toBe(shown);
});

test('a word that was typed is one line of plain text wherever an error tells it', () => {
  const words = ['run', 'up\u001b[31m\nload', '--name=one\n  passed', 'plain'];
  const told = "no scenario 'up\u001b[31m\nload'\n--name: got 'one\n  passed'\nplain \u001b[31mred";
  expect(withPlainWords(told, words)).toBe(
    "no scenario 'up\\u001b[31m load'\n--name: got 'one passed'\nplain \\u001b[31mred",
  );
});

test.each([
  ['run', 'up\u001b[31m\nload'],
  ['\u001b[31mno\nsuch'],
  ['up', '--no\u001b[31m\nsuch'],
  ['up', '-n', '\u001b[31mfour\n2'],
])('a command line that is not understood is told in plain text: %j', async (...words) => {
  const told: string[] = [];
  const stream = { write: (text: string | Uint8Array) => told.push(String(text)) };
  await runLine(words, {
    stateDir: () => temporaryFolder('svcnet-typed'),
    stdout: stream,
    stderr: stream,
    env: {},
    signal: new AbortController().signal,
  });
  expect(told.join('')).toContain('\\u001b[31m');
  expect(told.join('')).not.toContain('\u001b');
  expect(told.join('')).not.toMatch(/^(?:load|such|2)/m);
});
