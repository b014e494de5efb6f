/** svcnet commands as typed here: an npm script in a clone, or npx. */

type Environment = Readonly<Record<string, string | undefined>>;

/** Of all commands: other words after the name belong to a sentence about svcnet. */
export const COMMAND_NAMES = (
  'up validate flavour attach init new schema export ps status ui trace tap logs env keys stop start add remove scale ' +
  'upgrade kill pause resume fault faults heal stamp mine fund snapshot run diff compare conformance metrics load ' +
  'dashboards report replay minimise down'
).split(' ');

/** A command in text that is not yet as typed. */
const COMMAND = new RegExp(`(?<![\\w./-]|npx )svcnet (?=(?:${COMMAND_NAMES.join('|')})(?![\\w-]))`, 'g');

/**
 * The command line as it is typed here.
 * @param args what follows the program's name
 * @param env npm sets `npm_lifecycle_event` to the script's name, or `npx`
 */
export function typed(args: string, env: Environment = process.env): string {
  return `${prefix(env)} ${args}`;
}

/** The same, with only the command's own output on standard output: npm otherwise prints which script it runs. */
export function typedForOutput(args: string, env: Environment = process.env): string {
  return typed(args, env).replace('npm run ', 'npm run -s ');
}

/** A text with its commands as typed here. */
export function asTyped(text: string, env: Environment = process.env): string {
  return text.replace(COMMAND, `${prefix(env)} `);
}

/** A path or another text as one word of a command, quoted where a shell would take it for more. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function prefix(env: Environment): string {
  if (env['npm_lifecycle_event'] === 'svcnet') return 'npm run svcnet --';
  return env['npm_lifecycle_event'] === 'npx' ? 'npx svcnet' : 'svcnet';
}
