/** Describes a node program that this package does not know. The result is JSON, kept in each node's record. */
import { isAbsolute, normalize } from 'node:path';
import { z } from 'zod';
import { DURATION_EXPECTED, parseDurationMs } from '../../../formats/units.ts';
import { DIALECT_NAMES } from '../../client/dialect.ts';
import { FLAVOUR_NAMES, NODE_MODES } from '../flavour.ts';
import { unknownValue } from './values.ts';

const OWN: readonly string[] = FLAVOUR_NAMES;
const NAME_EXPECTED = `1 to 32 lower-case letters, digits and hyphens, beginning with a letter, and none of ${OWN.join(', ')}`;
export const FLAVOUR_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const ENTRIES_MAX = 200;
const TEXT_MAX = 64 * 1024;

const oneOf = <const W extends readonly [string, ...string[]]>(words: W) =>
  z.enum(words, { error: `one of ${words.join(', ')}` });
const yesOrNo = z.boolean({ error: 'true or false' });
const list = <T extends z.ZodType>(entry: T, expected: string) =>
  z.array(entry, { error: expected }).max(ENTRIES_MAX, { error: `${expected}, at most ${ENTRIES_MAX}` });
const map = <T extends z.ZodType>(key: z.ZodType<string, string>, entry: T, expected: string) =>
  z.record(key, entry, { error: expected }).refine((entries) => Object.keys(entries).length <= ENTRIES_MAX, {
    error: `${expected}, at most ${ENTRIES_MAX}`,
  });

const TEMPLATE_EXPECTED = "a text, in quotes if it is a number or has values such as '{api-port}'";
const template = z
  .string({ error: TEMPLATE_EXPECTED })
  .max(TEXT_MAX, { error: `at most ${TEXT_MAX} characters` })
  .superRefine((text, context) => {
    const wrong = unknownValue(text);
    if (wrong !== undefined) context.addIssue({ code: 'custom', message: wrong });
  });
const VALUE_EXPECTED =
  "a text, in quotes if it has values such as '{api-port}', a number, true, false, or a list of texts";
const value = z.union([template, z.number(), z.boolean(), list(template, 'a list of texts')], {
  error: VALUE_EXPECTED,
});

/** Those of svcnet say whose process it is. */
const VARIABLE = /^(?!SVC(NET)?_)[A-Za-z_]\w{0,63}$/;
const VARIABLE_EXPECTED =
  'a variable whose name has 1 to 64 letters, digits and underscores and begins with neither SVCNET_ nor SVC_';

const PATH_EXPECTED = 'a path below the data directory of the node, such as keys/swarm.key';
export const LAUNCH_FILE = 'launch.json';
function plain(text: string): string {
  return normalize(text).replace(/\/+$/, '');
}
const path = z
  .string({ error: PATH_EXPECTED })
  .refine((text) => !/^$|\0/.test(text) && !isAbsolute(text) && !/^\.{1,2}(\/|$)/.test(plain(text)), {
    error: PATH_EXPECTED,
  });
const FILE_EXPECTED = `${PATH_EXPECTED}, of a file`;
const filePath = path.refine((text) => !text.endsWith('/'), { error: FILE_EXPECTED });

const CONFIG_FORMATS = ['yaml', 'json', 'toml', 'env'] as const;
const CURVES = ['ed25519', 'p256', 'secp256k1'] as const;
const KEY_FORMATS = ['keystore', 'hex', 'raw', 'pem'] as const;
const keyFile = {
  path: filePath.describe('File of the key, below the data directory.'),
  format: oneOf(KEY_FORMATS)
    .default('keystore')
    .describe(
      'keystore: version 3 with the password {password}; hex: 64 digits; raw: 32 bytes; pem: PKCS #8.',
    ),
};
const KEY_EXPECTED = 'a map with path and format';
const key = z.strictObject(keyFile, { error: KEY_EXPECTED });
const LIBP2P_EXPECTED = 'a map with type, path and format; without path no file is written';
const libp2p = z.strictObject(
  {
    ...keyFile,
    path: keyFile.path.optional(),
    type: oneOf(CURVES).describe(`Curve of the key: ${CURVES.join(', ')}; the peer id follows from it.`),
  },
  { error: LIBP2P_EXPECTED },
);

const patternText = z.string({ error: 'a regular expression' }).refine(
  (text) => {
    try {
      return new RegExp(text, 'u') instanceof RegExp;
    } catch {
      return false;
    }
  },
  { error: 'a regular expression' },
);
const words = list(z.string({ error: 'a text' }), 'a list of texts');
const duration = z
  .string({ error: DURATION_EXPECTED })
  .refine((text) => parseDurationMs(text) !== undefined, { error: DURATION_EXPECTED });
const VERSION_EXPECTED = 'a map with args and pattern';
const CONFIG_EXPECTED = 'a map with path, format, values, defaults and known';
const WELL_EXPECTED = 'a list of maps with path and pattern';
const WELL_PATH_EXPECTED = 'a path of its API, such as /status';
const FILES_EXPECTED = 'a list of maps with path and text';
const KEYS_EXPECTED = 'a map with swarm, libp2p and pss';

const flavourKeys = z.strictObject(
  {
    name: z
      .string({ error: NAME_EXPECTED })
      .regex(FLAVOUR_NAME, { error: NAME_EXPECTED })
      .refine((text) => !OWN.includes(text), { error: NAME_EXPECTED })
      .describe('Name of the flavour, as in --with NAME=2.'),
    program: z
      .string({ error: 'the path of a program' })
      .min(1, { error: 'the path of a program' })
      .describe('Executable, relative to the file. SVCNET_NAME_BINARY overrides it.'),
    version: z
      .strictObject(
        {
          args: words.default(['--version']).describe('Arguments that make it print its version.'),
          pattern: patternText.describe('Expression that the first 4 KiB of its output must match.'),
        },
        { error: VERSION_EXPECTED },
      )
      .optional()
      .describe('How to ask for its version; checked before a start.'),
    args: list(template, 'a list of texts').default([]).describe('Arguments of the program.'),
    env: map(z.string(), template, 'a map of variables to texts')
      .superRefine((variables, context) => {
        for (const name of Object.keys(variables)) {
          if (!VARIABLE.test(name))
            context.addIssue({ code: 'custom', path: [name], message: VARIABLE_EXPECTED });
        }
      })
      .default({})
      .describe('Environment variables; none that begins with SVCNET_ or SVC_.'),
    config: z
      .strictObject(
        {
          path: filePath.describe('File of the configuration, below the data directory.'),
          format: oneOf(CONFIG_FORMATS).describe(`Syntax: ${CONFIG_FORMATS.join(', ')}.`),
          values: map(z.string(), value, 'a map of options to values')
            .default({})
            .describe('What the testbed decides; options of a cluster file cannot change it.'),
          defaults: map(z.string(), value, 'a map of options to values')
            .default({})
            .describe('What options of a cluster file can change.'),
          known: words
            .optional()
            .describe(
              'Arguments that make it list its options as --NAME. Values that it does not list are left out.',
            ),
        },
        { error: CONFIG_EXPECTED },
      )
      .optional()
      .describe('Its configuration file.'),
    files: list(
      z.strictObject(
        { path: filePath.describe('Below the data directory.'), text: template.describe('Content.') },
        { error: FILES_EXPECTED },
      ),
      FILES_EXPECTED,
    )
      .default([])
      .describe('Further files that it needs.'),
    keys: z
      .strictObject(
        {
          swarm: key.optional().describe('Key of its account; absent: it takes {swarm-key} elsewhere.'),
          libp2p: libp2p.describe('Key of its libp2p identity.'),
          pss: key.optional().describe('Key of its messages.'),
        },
        { error: KEYS_EXPECTED },
      )
      .describe('How it reads its keys.'),
    options: oneOf(['config', 'args', 'none'])
      .default('none')
      .describe('Where options of a cluster file go: into the configuration, or as arguments --NAME=VALUE.'),
    dialect: oneOf(DIALECT_NAMES)
      .default('swarm')
      .describe(`Names and values of its HTTP API: ${DIALECT_NAMES.join(', ')}.`),
    modes: list(oneOf(NODE_MODES), 'a list of full, light and boot')
      .min(1, { error: 'at least one of full, light and boot' })
      .default(['full'])
      .describe(`Roles that it can take: ${NODE_MODES.join(', ')}.`),
    bootstraps: yesOrNo
      .default(true)
      .describe('It finds peers through {bootnodes}; false: svcnet introduces it over POST /connect.'),
    publicConstants: yesOrNo
      .default(true)
      .describe(
        "Its timing and credit are the public network's, so the whole cluster takes these; false: options adapt it.",
      ),
    learnsListeners: yesOrNo
      .default(false)
      .describe('It may dial a peer where it listens instead of where it advertises.'),
    stored: list(path, 'a list of paths below the data directory')
      .default([])
      .describe(
        'Folders with what it stores, which restart --wipe removes; none with a file that svcnet writes.',
      ),
    well: list(
      z.strictObject(
        {
          path: z
            .string({ error: WELL_PATH_EXPECTED })
            .regex(/^\/[^\s#]*$/, { error: WELL_PATH_EXPECTED })
            .describe('Path of a GET request to its API.'),
          pattern: patternText.describe('Expression that a line of the answer must match.'),
        },
        { error: WELL_EXPECTED },
      ),
      WELL_EXPECTED,
    )
      .default([])
      .describe('What else its API must answer before it serves, when it is ready and has peers.'),
    redial: duration
      .optional()
      .describe('Time until it dials a peer again that it could not reach, if longer than a start takes.'),
    stop: duration.default('10s').describe('Time that it may take to end after SIGTERM.'),
  },
  { error: 'a map with name, program, keys and more' },
);

export const flavourFile = flavourKeys.superRefine((file, context) => {
  const named: readonly { readonly at: readonly (string | number)[]; readonly text: string | undefined }[] = [
    { at: [], text: LAUNCH_FILE },
    ...(['swarm', 'libp2p', 'pss'] as const).map((name) => ({
      at: ['keys', name, 'path'],
      text: file.keys[name]?.path,
    })),
    { at: ['config', 'path'], text: file.config?.path },
    ...file.files.map(({ path: text }, index) => ({ at: ['files', index, 'path'], text })),
    ...file.stored.map((text, index) => ({ at: ['stored', index], text })),
  ];
  const paths = named.flatMap(({ at, text }) => (text === undefined ? [] : [{ at, text: plain(text) }]));
  for (const [index, { at, text }] of paths.entries()) {
    const other = paths.slice(0, index).find((before) => overlap(before.text, text));
    if (other === undefined) continue;
    const whose =
      other.at.length === 0
        ? 'of what starts the node'
        : `of ${other.at.join('.').replace(/\.(\d+)/g, '[$1]')}`;
    const message = `a path neither above, below nor at ${other.text} ${whose}`;
    context.addIssue({ code: 'custom', path: [...at], message });
  }
});

function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}

export type DeclaredFlavour = z.output<typeof flavourFile>;
