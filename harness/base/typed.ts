/** Commands as typed here: an npm script in a clone, or npx. */

type Environment = Readonly<Record<string, string | undefined>>;

/** Other words after the name belong to a sentence. */
export const COMMAND_NAMES = (
  'up validate flavour attach init new schema export ps status ui trace tap logs env keys stop start add remove scale ' +
  'upgrade kill pause resume fault faults heal stamp upload download mine fund snapshot run diff compare conformance metrics load ' +
  'dashboards report replay minimise down'
).split(' ');

/** Not yet as typed. */
const COMMAND = new RegExp(`(?<![\\w./-]|npx )svcnet (?=(?:${COMMAND_NAMES.join('|')})(?![\\w-]))`, 'g');

/**
 * @param args after the program's name
 * @param env npm sets `npm_lifecycle_event` to the script's name, or `npx`
 */
export function typed(args: string, env: Environment = process.env): string {
  return `${prefix(env)} ${args}`;
}

/** Only the command's own output: npm otherwise prints which script it runs. */
export function typedForOutput(args: string, env: Environment = process.env): string {
  return typed(args, env).replace('npm run ', 'npm run -s ');
}

export function asTyped(text: string, env: Environment = process.env): string {
  return text.replace(COMMAND, `${prefix(env)} `);
}

/** Quoted where a shell would take it for more. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function prefix(env: Environment): string {
  if (env['npm_lifecycle_event'] === 'svcnet') return 'npm run svcnet --';
  return env['npm_lifecycle_event'] === 'npx' ? 'npx svcnet' : 'svcnet';
}
