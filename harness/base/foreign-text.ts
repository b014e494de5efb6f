/**
 * Texts of others: peers, foreign nodes, other people's files. Terminals and Markdown renderers obey texts, so these are
 * made harmless here, and nowhere else.
 */

import { randomUUID } from 'node:crypto';
import { grouped } from './format.ts';

const LINE_MAX = 500;
export const LONG_LINE_MAX = 4_000;

/**
 * What changes a terminal or hides in a line: control characters, direction marks, separators, invisible characters and
 * tags, halves of surrogate pairs.
 */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;
const UNSEEN_IN_LINES = new RegExp(`[${UNSEEN.source}--[\\n\\t]]`, 'gv');
const BLANKS = /[\s\u0085]+/g;
const BREAK = /[\n\r\v\f\u0085\u2028\u2029]/;
const BREAK_OR_TAB = /[\n\r\t\v\f\u0085\u2028\u2029]/;
/** Drawn anew in each process: no text of others can begin a colour. */
const OWN = `\u001b${randomUUID()}`;
const OWN_CODES = new RegExp(`${OWN}(\\d+[mK])`);
/** Begins a terminal's line anew, after `forTerminal`. */
export const CLEAR_LINE = `${OWN}2K`;

/** @param sgr its number @returns what `forTerminal` colours */
export function coloured(sgr: string, text: string): string {
  return `${OWN}${sgr}m${text}${OWN}0m`;
}

/** Without the colours of `coloured`. */
export function uncoloured(text: string): string {
  return ownParts(
    text,
    () => '',
    (part) => part,
  );
}

/** A line with colours, of whatever texts: it stays one. Tabs stay. */
export function oneLine(text: string): string {
  return ownParts(
    text,
    (code) => `${OWN}${code}`,
    (part) => seenIn(unbroken(part, BREAK)),
  );
}

/** Breaks and tabs become spaces, unseen characters are as in JSON (`\u001b`), long ends are cut. */
export function inLine(text: string, max = LINE_MAX): string {
  // Nobody reads more, and megabytes take time.
  const seen = text.length > 2 * max ? text.slice(0, 2 * max) : text;
  const line = unbroken(seen, BREAK_OR_TAB).replaceAll(UNSEEN, escaped);
  return text.length > seen.length || line.length > max ? `${cut(line, max - 1)}…` : line;
}

/** Blanks with a break become one space. Each run of them is looked at once: no long one takes minutes. */
function unbroken(text: string, at: RegExp): string {
  return text.replaceAll(BLANKS, (blanks) => (at.test(blanks) ? ' ' : blanks));
}

export function inLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => `${/^[ \t]*/.exec(line)?.[0] ?? ''}${inLine(line.trimStart(), LONG_LINE_MAX)}`);
}

export type Mistake = string | (() => string);

/** A person mends these and asks again. */
const MISTAKES_MAX = 20;

export function firstMistakes(mistakes: readonly Mistake[]): string[] {
  const told = mistakes.slice(0, MISTAKES_MAX).map((one) => (typeof one === 'string' ? one : one()));
  const rest = mistakes.length - told.length;
  return rest === 0 ? told : [...told, `and ${grouped(rest)} more ${rest === 1 ? 'mistake' : 'mistakes'}`];
}

export function mistakeLines(mistakes: readonly Mistake[], source?: string): string {
  return firstMistakes(mistakes)
    .map((mistake) => inLine(source === undefined ? mistake : `${source}: ${mistake}`, LONG_LINE_MAX))
    .join('\n');
}

export function inMarkdown(text: string): string {
  return inLine(text, LONG_LINE_MAX)
    .replaceAll(/[\\`*_{}[\]<>|#~&@]/g, (character) => `\\${character}`)
    .replaceAll(/:(?=\/\/)|(?<=\bwww)\./gi, (character) => `\\${character}`)
    .replace(/^(\s*)([-+=])/, '$1\\$2')
    .replace(/^(\s*\d+)([.)])(?=\s|$)/, '$1\\$2');
}

/** The last check before a terminal: of what it obeys, only svcnet's colours and redrawing stay. JSON stays equal. */
export function forTerminal(text: string): string {
  return ownParts(text, (code) => `${code === '2K' ? '\r' : ''}\u001b[${code}`, seenIn);
}

function ownParts(text: string, own: (code: string) => string, of: (part: string) => string): string {
  return text
    .split(OWN_CODES)
    .map((part, i) => (i % 2 === 1 ? own(part) : of(part)))
    .join('');
}

/** What a terminal, a page or a reader would obey is as in JSON; line ends and tabs stay. */
export function seenIn(text: string): string {
  return text.replaceAll(UNSEEN_IN_LINES, escaped);
}

/** What was typed is one line, and obeyed by nothing, wherever a text tells it. */
export function withPlainWords(text: string, words: readonly string[]): string {
  // Errors tell a word, or the value in it.
  const typed = words
    .flatMap((word) => [word, ...word.split(/[=,]/)])
    .filter((word) => word !== inLine(word, Number.POSITIVE_INFINITY))
    .toSorted((a, b) => b.length - a.length);
  return seenIn(
    typed.reduce((all, word) => all.replaceAll(word, () => inLine(word, Number.POSITIVE_INFINITY)), text),
  );
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** Never splits a surrogate pair. */
function cut(text: string, length: number): string {
  const end = text.charCodeAt(length - 1);
  return text.slice(0, end >= 0xd800 && end < 0xdc00 ? length - 1 : length);
}
