/** Runs the rules of `rules.ts` over a text. */
import { TextlintKernel, type TextlintPluginCreator } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import text from '@textlint/textlint-plugin-text';
import { phrases, sentenceLength } from './rules.ts';
import type { Prose } from './texts.ts';

const kernel = new TextlintKernel();
const plugins = [
  { pluginId: 'markdown', plugin: pluginOf(markdown) },
  { pluginId: 'text', plugin: pluginOf(text) },
];
const rules = [
  { ruleId: 'phrases', rule: phrases },
  { ruleId: 'sentence-length', rule: sentenceLength },
];

/** @returns a line for each finding: where, and what to write instead */
export async function findings({ where, text: prose, ext }: Prose): Promise<string[]> {
  const { messages } = await kernel.lintText(prose, { ext, plugins, rules });
  return messages.map(({ loc, message }) => {
    const place = ext === '.md' ? `${where}:${loc.start.line}` : where;
    return `${place}: ${message}`;
  });
}

/** They are CommonJS: Node.js gives their exports as the default, a bundler what they export as default. */
function pluginOf(
  module: TextlintPluginCreator | { readonly default: TextlintPluginCreator },
): TextlintPluginCreator {
  return 'Processor' in module ? module : module.default;
}
