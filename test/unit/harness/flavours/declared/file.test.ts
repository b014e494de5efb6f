import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../../formats/crypto/hex.ts';
import { decryptKey } from '../../../../../formats/crypto/keystore.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import { readFlavour } from '../../../../../harness/cluster/plan/document/flavour-file.ts';
import { deriveNode } from '../../../../../harness/cluster/plan/seed.ts';
import { p256Identity } from '../../../../../harness/flavours/bee-keys.ts';
import { flavourFile } from '../../../../../harness/flavours/declared/file.ts';
import { keyFiles, peerIdOf } from '../../../../../harness/flavours/declared/keys.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-flavour');

const KEYS = 'keys: { libp2p: { type: ed25519, path: p2p.key } }';

function written(text: string): string {
  const path = join(folder, 'x.flavour.yaml');
  writeFileSync(path, text);
  return path;
}

/** What is wrong in a file that is whole but for that, and its line. */
const WRONG: readonly (readonly [what: string, text: string, message: string])[] = [
  ['no name', `program: ./x\n${KEYS}`, 'line 1: name: got nothing, expected 1 to 32 lower-case letters'],
  [
    'our name',
    `name: svc\nprogram: ./x\n${KEYS}`,
    "line 1: name: got 'svc', expected 1 to 32 lower-case letters",
  ],
  ['a name in capitals', `name: Ant\nprogram: ./x\n${KEYS}`, "line 1: name: got 'Ant', expected 1 to 32"],
  ['no program', `name: x\n${KEYS}`, 'line 1: program: got nothing, expected the path of a program'],
  ['an empty program', `name: x\nprogram: ''\n${KEYS}`, "line 2: program: got '', expected the path"],
  [
    'no keys',
    'name: x\nprogram: ./x',
    'line 1: keys: got nothing, expected a map with swarm, libp2p and pss',
  ],
  [
    'no identity',
    'name: x\nprogram: ./x\nkeys: {}',
    'line 3: keys.libp2p: got nothing, expected a map with type',
  ],
  [
    'another curve',
    'name: x\nprogram: ./x\nkeys:\n  libp2p: { type: rsa }',
    "line 4: keys.libp2p.type: got 'rsa', expected one of ed25519, p256, secp256k1",
  ],
  [
    'another format',
    'name: x\nprogram: ./x\nkeys:\n  swarm: { path: a, format: der }\n  libp2p: { type: p256 }',
    "line 4: keys.swarm.format: got 'der', expected one of keystore, hex, raw, pem",
  ],
  [
    'a path above',
    'name: x\nprogram: ./x\nkeys:\n  libp2p: { type: p256, path: ../../key }',
    "line 4: keys.libp2p.path: got '../../key', expected a path below the data directory",
  ],
  [
    'an absolute path',
    `name: x\nprogram: ./x\n${KEYS}\nfiles:\n  - { path: /etc/passwd, text: x }`,
    "line 5: files[0].path: got '/etc/passwd', expected a path below the data directory",
  ],
  [
    'a path that no system has',
    `name: x\nprogram: ./x\n${KEYS}\nfiles:\n  - { path: "a\\0b", text: x }`,
    "line 5: files[0].path: got 'a\\u0000b', expected a path below the data directory",
  ],
  [
    'the path of what starts it',
    `name: x\nprogram: ./x\n${KEYS}\nfiles: [{ path: launch.json, text: x }]`,
    "line 4: files[0].path: got 'launch.json', expected a path neither above, below nor at launch.json of what starts",
  ],
  [
    'a folder as a file',
    `name: x\nprogram: ./x\n${KEYS}\nfiles: [{ path: a/, text: x }]`,
    "line 4: files[0].path: got 'a/', expected a path below the data directory of the node, such as keys/swarm.key, of a",
  ],
  ...['.', './', 'a/../', 'a/..', '..', '../', './../x'].map(
    (folder) =>
      [
        `${folder} as a folder that can be removed`,
        `name: x\nprogram: ./x\n${KEYS}\nstored:\n  - a\n  - ${folder}`,
        `line 6: stored[1]: got '${folder}', expected a path below the data directory`,
      ] as const,
  ),
  [
    'keys in a folder that can be removed',
    'name: x\nprogram: ./x\nkeys: { libp2p: { type: p256, path: ./keys/p2p.key } }\nstored: [store, keys/]',
    "line 4: stored[1]: got 'keys/', expected a path neither above, below nor at keys/p2p.key of keys.libp2p.path",
  ],
  [
    'a configuration in a folder that can be removed',
    `name: x\nprogram: ./x\n${KEYS}\nconfig: { path: data/conf/c, format: yaml }\nstored: [data/.]`,
    "line 5: stored[0]: got 'data/.', expected a path neither above, below nor at data/conf/c of config.path",
  ],
  [
    'two files of one path',
    `name: x\nprogram: ./x\n${KEYS}\nfiles:\n  - { path: a, text: x }\n  - { path: b/../a, text: y }`,
    "line 6: files[1].path: got 'b/../a', expected a path neither above, below nor at a of files[0].path",
  ],
  [
    'a file at a key',
    `name: x\nprogram: ./x\n${KEYS}\nfiles: [{ path: p2p.key, text: x }]`,
    "line 4: files[0].path: got 'p2p.key', expected a path neither above, below nor at p2p.key of keys.libp2p.path",
  ],
  [
    'an unknown key',
    `name: x\nprogram: ./x\n${KEYS}\nargz: [run]`,
    "line 4: unknown key 'argz', did you mean 'args'?",
  ],
  [
    'an unknown value',
    `name: x\nprogram: ./x\n${KEYS}\nargs: [run, '{api-prt}']`,
    "expected known values in braces; {api-prt} is none, did you mean 'api-port'?",
  ],
  [
    'an unknown value of a variable',
    `name: x\nprogram: ./x\n${KEYS}\nenv:\n  API: '{prt}'`,
    'line 5: env.API',
  ],
  [
    'arguments as a text',
    `name: x\nprogram: ./x\n${KEYS}\nargs: run it`,
    "line 4: args: got 'run it', expected a list of texts",
  ],
  [
    'a broken pattern',
    `name: x\nprogram: ./x\n${KEYS}\nversion: { pattern: '(' }`,
    "line 4: version.pattern: got '(', expected a regular expression",
  ],
  [
    'an address in the place of a path',
    `name: x\nprogram: ./x\n${KEYS}\nwell: [{ path: 'http://x/status', pattern: ok }]`,
    "line 4: well[0].path: got 'http://x/status', expected a path of its API, such as /status",
  ],
  [
    'another format of the configuration',
    `name: x\nprogram: ./x\n${KEYS}\nconfig: { path: c, format: ini }`,
    "line 4: config.format: got 'ini', expected one of yaml, json, toml, env",
  ],
  [
    'a map as a value',
    `name: x\nprogram: ./x\n${KEYS}\nconfig:\n  path: c\n  format: yaml\n  values: { a: { b: 1 } }`,
    'line 7: config.values.a: got {"b":1}',
  ],
  [
    'no roles',
    `name: x\nprogram: ./x\n${KEYS}\nmodes: []`,
    'line 4: modes: got [], expected at least one of full, light and boot',
  ],
  [
    'another role',
    `name: x\nprogram: ./x\n${KEYS}\nmodes: [full, archive]`,
    "line 4: modes[1]: got 'archive', expected one of full, light, boot",
  ],
  [
    'another dialect',
    `name: x\nprogram: ./x\n${KEYS}\ndialect: bee`,
    "line 4: dialect: got 'bee', expected one of",
  ],
  [
    'a time without a unit',
    `name: x\nprogram: ./x\n${KEYS}\nstop: 30`,
    'line 4: stop: got 30, expected a duration',
  ],
  [
    'a variable that is none',
    `name: x\nprogram: ./x\n${KEYS}\nenv: { 'A-B': x }`,
    "line 4: env.A-B: got 'x', expected a variable whose name has 1 to 64 letters",
  ],
  [
    "a variable of the testbed's own",
    `name: x\nprogram: ./x\n${KEYS}\nenv:\n  A: x\n  SVCNET_LABEL: x`,
    "line 6: env.SVCNET_LABEL: got 'x', expected a variable whose name has",
  ],
  [
    'a variable of our nodes',
    `name: x\nprogram: ./x\n${KEYS}\nenv: { SVC_PASSWORD: x }`,
    "line 4: env.SVC_PASSWORD: got 'x', expected a variable whose name has",
  ],
  ['a text', 'hello', ': got a single value, expected a map of keys to values'],
  ['a list', `- name: x`, ': got a list, expected a map of keys to values'],
  ['nothing but a comment', '# x', ': got nothing, expected a map of keys to values'],
  [
    'tabs before keys',
    'name: x\nkeys:\n\tlibp2p: { type: p256 }',
    ': line 3: Tabs are not allowed as indentation, expected spaces',
  ],
  ['an open quote', `name: x\nprogram: "./x\n${KEYS}\n`, ': line 2: Missing closing quote ", expected that'],
  [
    'braces without quotes',
    `name: x\nprogram: ./x\n${KEYS}\nargs: [--port {api-port}]`,
    ': line 4: Missing , or : between flow sequence items, expected that, or quotes around a text with braces',
  ],
  [
    'a value without quotes',
    `name: x\nprogram: ./x\n${KEYS}\nargs:\n  - run\n  - {api-port}`,
    `line 6: args[1]: got {"api-port":null}, expected a text, in quotes if it is a number or has values such as '{api-port}'`,
  ],
  [
    'a colon without quotes',
    `name: x\nprogram: ./x: y\n${KEYS}`,
    ': line 2: Nested mappings are not allowed in compact mappings, expected one value, in quotes if it has a colon',
  ],
  [
    'JSON without a comma',
    '{\n"name": "x"\n"program": "./x" }',
    ': line 3: Missing , between flow map items, expected that',
  ],
  [
    'the name of several values',
    `name: x\nprogram: ./x\n${KEYS}\nargs: ['--port={port}']`,
    "known values in braces; {port} is none, did you mean 'api-port' or 'p2p-port' or 'debug-port'?",
  ],
  [
    'a part of a name in capitals',
    `name: x\nprogram: ./x\n${KEYS}\nargs: ['--port={PORT}']`,
    "{PORT} is none, did you mean 'api-port' or",
  ],
  [
    'a value with the sign of a variable',
    `name: x\nprogram: ./x\n${KEYS}\nargs: ['\${port}']`,
    '{port} is none',
  ],
  ...['API-PORT', 'apiPort', 'api_port'].map(
    (name) =>
      [
        `a value spelt ${name}`,
        `name: x\nprogram: ./x\n${KEYS}\nargs: ['--port={${name}}']`,
        `line 4: args[0]: got '--port={${name}}', expected known values in braces; {${name}} is none, did you mean 'api-port'?`,
      ] as const,
  ),
  [
    'an open brace',
    `name: x\nprogram: ./x\n${KEYS}\nargs: ['--port={api-port']`,
    "line 4: args[0]: got '--port={api-port', expected a brace after {api-port",
  ],
  ['a NUL', `name: x\nprogram: "./x\0"\n${KEYS}`, ': line 2: got a NUL, expected text in UTF-8'],
  [
    'a merge key',
    'base: &base { type: p256 }\nkeys:\n  libp2p: { <<: *base }',
    ": line 3: merge key '<<', expected the keys themselves",
  ],
];

const OTHER_ENCODINGS: readonly (readonly [string, Buffer, string])[] = [
  ['Latin-1', Buffer.from(`name: x\nprogram: ./caf\u00e9\n${KEYS}`, 'latin1'), 'line 2'],
  ['UTF-16', Buffer.from(`\uFEFFname: x\n${KEYS}`, 'utf16le'), 'line 1'],
];

test.each(OTHER_ENCODINGS)('a flavour file in %s is refused', async (_name, bytes, line) => {
  const path = join(folder, 'encoded.flavour.yaml');
  writeFileSync(path, bytes);
  await expect(readFlavour(path)).rejects.toThrow(
    `${path}: ${line}: got bytes of another encoding, expected text in UTF-8`,
  );
});

test.each([
  ['a byte order mark', `\uFEFFname: x\nprogram: ./x\n${KEYS}`],
  ['line ends of Windows', `name: x\r\nprogram: ./x\r\n${KEYS}\r\n`],
  ['JSON', '{"name":"x","program":"./x","keys":{"libp2p":{"type":"p256"}}}'],
  [
    'braces that are text',
    `name: x\nprogram: ./x\n${KEYS}\nargs: ['{"a":{"b":[1]}}', '{}', '{{.Name}}', '\${HOME}/x']`,
  ],
])('a flavour file with %s is read', async (_what, text) => {
  await expect(readFlavour(written(text))).resolves.toMatchObject({ name: 'x' });
});

test('a flavour file that is a folder or too long is refused', async () => {
  await expect(readFlavour(folder)).rejects.toThrow(`--flavour: ${folder} is not a regular file`);
  const path = written('#'.repeat(2 ** 21 + 1));
  await expect(readFlavour(path)).rejects.toThrow(`--flavour: ${path} is longer than 2 MiB`);
});

test.each(WRONG)('a flavour file with %s is refused with its line', async (_what, text, message) => {
  const path = written(text);
  await expect(readFlavour(path)).rejects.toThrow(message);
  await expect(readFlavour(path)).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
});

test('a file that is not there is named with the option', async () => {
  await expect(readFlavour('nowhere.yaml')).rejects.toThrow("--flavour: no file 'nowhere.yaml'");
});

test('what was read can be read again as part of a definition, and the program lies beside the file', async () => {
  const flavour = await readFlavour(written(`name: x\nprogram: ./x\n${KEYS}\nstop: 30s`));
  expect(flavour.program).toBe(join(folder, 'x'));
  const { nodes, flavours } = parseDefinition({ nodes: [{ flavour: 'x' }], flavours: [flavour] }, 'options');
  expect(flavours).toEqual([flavour]);
  expect(nodes[0]).toMatchObject({ flavour: 'x', binary: join(folder, 'x'), declared: flavour });
});

describe('a definition', () => {
  const definition = async (more: object, text = '') => {
    const flavour = await readFlavour(written(`name: x\nprogram: ./x\n${KEYS}\n${text}`));
    return () => parseDefinition({ flavours: [flavour], nodes: [{ flavour: 'x' }], ...more }, 'options');
  };

  test('names a flavour that no file describes', async () => {
    expect(await definition({ nodes: [{ flavour: 'xx' }] })).toThrow(
      "nodes[0].flavour: got 'xx', expected one of svc, bee, dishonest, x",
    );
  });

  test('has each flavour once', async () => {
    const flavour = await readFlavour(written(`name: x\nprogram: ./x\n${KEYS}`));
    expect(await definition({ flavours: [flavour, flavour] })).toThrow(
      "flavours[1].name: got 'x' again, expected each name once",
    );
  });

  test.each([
    [
      'options that it does not take',
      { nodes: [{ flavour: 'x', options: { a: 1 } }] },
      '',
      "options: got 'a', flavour x takes none",
    ],
    [
      'options that the testbed sets',
      { nodes: [{ flavour: 'x', options: { a: 1 } }] },
      'options: config\nconfig: { path: c, format: yaml, values: { a: 2 } }',
      "options: 'a' is set by the testbed",
    ],
    [
      'a role that it cannot take',
      { nodes: [{ flavour: 'x', mode: 'light' }] },
      '',
      ".mode: got 'light', flavour x can be full",
    ],
    [
      'containers',
      { driver: 'docker' },
      '',
      '.flavour: got x with driver docker, expected driver process or embedded',
    ],
    ['a simulation', { driver: 'simulated' }, '', '.flavour: got x with driver simulated, expected svc'],
    [
      'behaviours',
      { nodes: [{ flavour: 'x', dishonest: ['flood'] }] },
      '',
      '.dishonest: expected none for flavour x',
    ],
  ])('refuses %s', async (_what, more, text, message) => {
    expect(await definition(more, text)).toThrow(message);
  });
});

describe('keys', () => {
  const identity = deriveNode({ seed: 7n, index: 0, networkId: 4020 });
  const { keys } = identity;

  async function contents(text: string): Promise<Record<string, string>> {
    const flavour = await readFlavour(written(`name: x\nprogram: ./x\nkeys:\n${text}`));
    return Object.fromEntries(
      keyFiles(flavourFile.parse(flavour), identity).map(({ path, content }) => [path, content]),
    );
  }

  test('hex digits and raw bytes', async () => {
    const files = await contents(
      '  swarm: { path: s, format: hex }\n  pss: { path: p, format: raw }\n  libp2p: { type: ed25519 }',
    );
    expect(files['s']).toBe(`${toHex(keys.swarm)}\n`);
    expect(Buffer.from(files['p'] ?? '', 'latin1').equals(keys.pss)).toBe(true);
    expect(Object.keys(files)).toEqual(['s', 'p']);
  });

  test('version 3 key files, a P-256 key as a Bee has it', async () => {
    const files = await contents('  swarm: { path: s }\n  libp2p: { type: p256, path: l }');
    expect(decryptKey(files['s'] ?? '', 'svcnet')).toEqual(keys.swarm);
    expect(decryptKey(files['l'] ?? '', 'svcnet')).toEqual(p256Identity(keys.libp2p).secret);
  });

  test.each([
    ['ed25519', 'ed25519'],
    ['p256', 'ec'],
    ['secp256k1', 'ec'],
  ])('PEM of an %s key', async (type, kind) => {
    const files = await contents(`  libp2p: { type: ${type}, path: l, format: pem }`);
    expect(createPrivateKey(files['l'] ?? '').asymmetricKeyType).toBe(kind);
  });

  test('peer ids follow from the curve', () => {
    expect(peerIdOf(identity, 'ed25519')).toBe(identity.peerId);
    expect(peerIdOf(identity, 'p256')).toBe(p256Identity(keys.libp2p).peerId);
    expect(peerIdOf(identity, 'secp256k1')).toMatch(/^16Uiu2HA/);
  });
});
