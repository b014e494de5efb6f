/**
 * How this project writes, as rules of textlint: phrases with what to say instead, one spelling and one word for one
 * thing, and a limit for the length of a sentence. Code is not read.
 */
import type { TextlintRuleReporter } from '@textlint/kernel';

type Context = Parameters<TextlintRuleReporter>[0];
type TxtNode = Parameters<Context['report']>[0];

interface Phrase {
  /** Case is ignored. */
  readonly pattern: RegExp;
  readonly instead: string;
  /** A sentence that the rule must find. */
  readonly wrong: string;
}

/** Words of a sentence, where inline code and a number count as one. */
export const SENTENCE_WORDS_MAX = 60;

export const PHRASES: readonly Phrase[] = [
  { pattern: /\bcan not\b/gi, instead: 'cannot', wrong: 'A node can not start.' },
  {
    pattern: /\bis not well\b/gi,
    instead: 'name the problem, or "unhealthy"',
    wrong: 'It says what is not well.',
  },
  {
    pattern: /\b(?:a|the) door in front\b/gi,
    instead: 'fault-injecting proxy',
    wrong: 'It puts a door in front of it.',
  },
  {
    pattern: /\bin \S+ clothes\b/gi,
    instead: 'IPv4-mapped IPv6 address',
    wrong: 'Addresses in IPv6 clothes.',
  },
  { pattern: /\bgo on with what\b/gi, instead: 'follow', wrong: 'Go on with what is added.' },
  {
    pattern: /\beverything that looks random\b/gi,
    instead: 'seed for every random choice',
    wrong: 'Everything that looks random follows from it.',
  },
  {
    pattern: /\bwithout a fault of (?:his|their) own\b/gi,
    instead: 'honest peers',
    wrong: 'Peers without a fault of their own.',
  },
  { pattern: /\bwhoever\b/gi, instead: 'name who: a client, a peer', wrong: 'Whoever asks is answered.' },
  { pattern: /\beverybody\b/gi, instead: 'every peer, every client', wrong: 'It tells everybody.' },
  { pattern: /\bsomebody\b/gi, instead: 'someone, or name who', wrong: 'A node of somebody.' },
  { pattern: /\banymore\b/gi, instead: 'any more, or "no longer"', wrong: 'It is not used anymore.' },
  { pattern: /\bin order to\b/gi, instead: 'to', wrong: 'Restart in order to apply it.' },
  {
    pattern: /\b(?:e\.g\.|i\.e\.)/gi,
    instead: 'for example, that is',
    wrong: 'Some nodes, e.g. light ones.',
  },
  {
    pattern: /\b(?:simply|obviously|of course|easily)\b/gi,
    instead: 'leave it out',
    wrong: 'It simply works.',
  },
  { pattern: /\bneighbor/gi, instead: 'neighbour', wrong: 'The neighborhood is full.' },
  { pattern: /\bbehavior/gi, instead: 'behaviour', wrong: 'Its behavior is odd.' },
  { pattern: /\bcolor/gi, instead: 'colour', wrong: 'The color is red.' },
  { pattern: /\bcheckbook/gi, instead: 'chequebook', wrong: 'The checkbook is empty.' },
  { pattern: /\b(?:postage )?voucher/gi, instead: 'batch or stamp', wrong: 'Buy a voucher.' },
  { pattern: /\bnode id\b/gi, instead: 'overlay', wrong: 'The node id of a peer.' },
  { pattern: /(?<!Read-only )\bfile system\b/gi, instead: 'filesystem', wrong: 'The file system is full.' },
  {
    pattern: /\b(the|a|an|of|to|is|and|in|it|that) \1\b/gi,
    instead: 'the word once',
    wrong: 'It is in the the store.',
  },
];

/** Each phrase that is not to be used, with what to say instead. */
export const phrases: TextlintRuleReporter = (context) => ({
  [context.Syntax.Str](node: TxtNode) {
    if (isQuoted(node)) return;
    const text = context.getSource(node);
    for (const { pattern, instead } of PHRASES)
      for (const match of text.matchAll(pattern)) report(context, node, match, `"${match[0]}": ${instead}`);
  },
});

/** A sentence that has more words than one reads at once. */
export const sentenceLength: TextlintRuleReporter = (context) => {
  const check = (node: TxtNode) => {
    for (const sentence of sentencesOf(context.getSource(node))) {
      const words = wordsOf(sentence);
      if (words <= SENTENCE_WORDS_MAX) continue;
      const start = `${sentence.trim().slice(0, 60)}…`;
      context.report(
        node,
        new context.RuleError(`a sentence of ${words} words, at most ${SENTENCE_WORDS_MAX}: ${start}`),
      );
    }
  };
  return { [context.Syntax.Paragraph]: check, TableCell: check };
};

/** A sentence ends at a mark before a capital, a colon at the end of a line included; semicolons do not end it. */
function sentencesOf(markdown: string): string[] {
  return markdown
    .replace(/`[^`]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
    .split(/(?<=[.!?:][)*"”]?)\s+(?=[A-Z*[(“"]|code)|\n\n/);
}

function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
}

function report(context: Context, node: TxtNode, match: RegExpExecArray, text: string): void {
  const padding = context.locator.range([match.index, match.index + match[0].length]);
  context.report(node, new context.RuleError(text, { padding }));
}

/** A quotation or a link says what someone else has written. */
function isQuoted(node: TxtNode): boolean {
  for (let parent = node.parent; parent; parent = parent.parent)
    if (parent.type === 'BlockQuote' || parent.type === 'Link') return true;
  return false;
}
