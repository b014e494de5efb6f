/** The network file of `svcnet attach -f network.yaml` and `Cluster.attachNetwork`. */
import { basename, dirname, extname, resolve } from 'node:path';
import { z } from 'zod';
import { HarnessError } from '../../base/errors.ts';
import { type Mistake, mistakeLines } from '../../base/foreign-text.ts';
import { strayPath } from '../../base/own-folder.ts';
import { TOKEN, TOKEN_EXPECTED, type TokenSource } from '../../base/token.ts';
import { CONTRACT_NAMES } from '../../chain/contracts.ts';
import { explain } from '../plan/definition.ts';
import { readDefinitionFile } from '../plan/document/read.ts';
import { clusterName, list, privateKey } from '../plan/fields.ts';

const NODES_MAX = 1000;
const BATCHES_MAX = 10_000;

const ORIGIN_EXPECTED = 'an http or https URL without user and path, such as http://127.0.0.1:1633';
const origin = z
  .string({ error: ORIGIN_EXPECTED })
  .refine(isOrigin, { error: ORIGIN_EXPECTED })
  .transform((text) => new URL(text).origin);

const URL_EXPECTED = 'an http or https URL, such as http://127.0.0.1:8545';
const url = z.string({ error: URL_EXPECTED }).refine(isUrl, { error: URL_EXPECTED });

const ADDRESS_EXPECTED = 'an address: 0x and 40 hex digits';
const address = z
  .string({ error: ADDRESS_EXPECTED })
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: ADDRESS_EXPECTED });

const BATCH_EXPECTED = 'the id of a batch: 64 hex digits, 0x optional';
const batchId = z
  .string({ error: BATCH_EXPECTED })
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, { error: BATCH_EXPECTED })
  .transform((text) => text.replace(/^0x/, '').toLowerCase());

const NAME_EXPECTED =
  'at most 40 letters, digits, dots, hyphens and underscores, starting with a letter or digit';
const nodeName = z
  .string({ error: NAME_EXPECTED })
  .regex(/^[a-zA-Z0-9][\w.-]{0,39}$/, { error: NAME_EXPECTED })
  .refine((text) => text !== 'chain', { error: "another name than 'chain', which is that of the chain" });

const TOKEN_FIELDS = {
  token: z.string({ error: TOKEN_EXPECTED }).regex(TOKEN, { error: TOKEN_EXPECTED }).optional(),
  /** Relative to the network file and below its folder: nodes are sent the content. */
  tokenFile: z.string({ error: 'the path of a file' }).min(1, { error: 'the path of a file' }).optional(),
};

const contracts = z.strictObject(
  Object.fromEntries(CONTRACT_NAMES.map((name) => [name, address.optional()])) as Record<
    (typeof CONTRACT_NAMES)[number],
    z.ZodOptional<typeof address>
  >,
  { error: 'a map from contracts to addresses' },
);

const chain = z.strictObject(
  {
    rpc: url.optional(),
    control: origin.optional(),
    contracts: contracts.default({}),
    ...TOKEN_FIELDS,
  },
  { error: 'a map with rpc, control, contracts and token' },
);

const node = z.strictObject(
  {
    api: origin,
    debug: origin.optional(),
    name: nodeName.optional(),
    key: privateKey.optional(),
    ...TOKEN_FIELDS,
  },
  { error: 'a map with api, debug, name, key and token' },
);

const batch = z.strictObject({ id: batchId, node: nodeName }, { error: 'a map with id and node' });

const NODES_EXPECTED = 'a list of nodes, each with its api';
export const schema = z.strictObject(
  {
    name: clusterName,
    chain: chain.prefault({}),
    nodes: list(node, NODES_EXPECTED, NODES_MAX).min(1, { error: 'at least one node' }),
    batches: list(batch, 'a list of batches, each with id and node', BATCHES_MAX).optional(),
    ...TOKEN_FIELDS,
  },
  { error: 'a map with nodes' },
);

type Parsed = z.output<typeof schema>;
export interface NetworkFile extends Omit<Parsed, 'nodes' | 'token' | 'tokenFile' | 'chain'> {
  readonly chain: Omit<Parsed['chain'], 'token' | 'tokenFile'> & TokenSource;
  readonly nodes: readonly (Parsed['nodes'][number] & { readonly name: string; readonly debug: string })[];
}

/**
 * @param about.name replaces the document's @param about.fallback used if there is none
 * @param about.folder paths stay below it; absent: the document is a program's
 * @param about.tokenFile of all nodes, instead of their tokens
 * @throws HarnessError `DEFINITION_INVALID` with a line per mistake
 */
export function parseNetwork(
  document: unknown,
  {
    source,
    name,
    fallback = 'network',
    folder,
    tokenFile: given,
  }: {
    source: string;
    name?: string | undefined;
    fallback?: string;
    folder?: string;
    tokenFile?: string | undefined;
  },
): NetworkFile {
  const input = withName(document, name, fallback);
  const parsed = schema.safeParse(input);
  const mistakes = parsed.success
    ? [...contradictions(parsed.data), ...(folder === undefined ? [] : strayTokens(parsed.data, folder))]
    : parsed.error.issues.flatMap((issue) => explain(issue, input, keysAt));
  if (!parsed.success || mistakes.length > 0) {
    throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, source));
  }
  const { token, tokenFile, ...rest } = parsed.data;
  const ofAll = given === undefined ? undefined : { tokenFile: resolve(given) };
  const { token: chainToken, tokenFile: chainTokenFile, ...chain } = rest.chain;
  return {
    ...rest,
    chain: { ...chain, ...tokenSource({ token: chainToken, tokenFile: chainTokenFile }, folder) },
    nodes: parsed.data.nodes.map((one, index) => ({
      ...one,
      ...(ofAll ?? tokenSource(hasToken(one) ? one : { token, tokenFile }, folder)),
      name: one.name ?? defaultName(index),
      debug: one.debug ?? one.api,
    })),
  };
}

/**
 * Reads all values as texts: YAML takes an unquoted address for a number.
 * @throws HarnessError `DEFINITION_INVALID`
 */
export async function readNetworkFile(
  path: string,
  options: { readonly name?: string | undefined; readonly tokenFile?: string | undefined } = {},
): Promise<NetworkFile> {
  const document = await readDefinitionFile(path, '--file', 'failsafe');
  const fallback = basename(path, extname(path));
  const folder = dirname(path);
  return parseNetwork(document, { ...options, source: path, fallback, folder });
}

function hasToken({ token, tokenFile }: TokenSource): boolean {
  return token !== undefined || tokenFile !== undefined;
}

function tokenSource({ token, tokenFile }: TokenSource, folder = '.'): TokenSource {
  if (tokenFile !== undefined) return { tokenFile: resolve(folder, tokenFile) };
  return token === undefined ? {} : { token };
}

function withName(document: unknown, name: string | undefined, fallback: string): unknown {
  if (document === null || typeof document !== 'object' || Array.isArray(document)) return document;
  return { name: fallback, ...document, ...(name === undefined ? {} : { name }) };
}

function defaultName(index: number): string {
  return `node-${index}`;
}

function tokenPlaces({ nodes, chain: ofChain, token, tokenFile }: Parsed): [string, TokenSource][] {
  return [
    ['', { token, tokenFile }],
    ['chain.', ofChain],
    ...nodes.map((one, index): [string, TokenSource] => [`nodes[${index}].`, one]),
  ];
}

function strayTokens(document: Parsed, folder: string): string[] {
  return tokenPlaces(document).flatMap(([at, { tokenFile }]) => {
    const wrong = tokenFile === undefined ? undefined : strayPath(folder, tokenFile, 'file');
    return wrong === undefined ? [] : [`${at}tokenFile: ${wrong}`];
  });
}

function contradictions(document: Parsed): Mistake[] {
  const { nodes, batches = [] } = document;
  const names = nodes.map((one, index) => one.name ?? defaultName(index));
  const twice = (what: 'name' | 'api', values: readonly string[]) =>
    values.flatMap((value, index) => {
      const first = values.indexOf(value);
      return first === index
        ? []
        : [`nodes[${index}].${what}: got '${value}', expected another one than nodes[${first}] has`];
    });
  const known = new Set(names);
  const homeless = batches.flatMap(({ node: owner }, index) =>
    known.has(owner)
      ? []
      : [() => `batches[${index}].node: got '${owner}', expected one of ${names.join(', ')}`],
  );
  const twofold = tokenPlaces(document).flatMap(([at, { token, tokenFile }]) =>
    token === undefined || tokenFile === undefined
      ? []
      : [`${at}token: expected either token or tokenFile, got both`],
  );
  return [
    ...twofold,
    ...twice('name', names),
    ...twice(
      'api',
      nodes.map(({ api }) => api),
    ),
    ...homeless,
  ];
}

function keysAt([top, second]: readonly PropertyKey[]): string[] {
  if (top === 'nodes') return Object.keys(node.shape);
  if (top === 'batches') return Object.keys(batch.shape);
  if (top === 'chain') return Object.keys(second === 'contracts' ? contracts.shape : chain.shape);
  return Object.keys(schema.shape);
}

/** Credentials would be lost silently: nodes take tokens. */
function isOrigin(text: string): boolean {
  if (!isUrl(text)) return false;
  const { username, password, pathname, search } = new URL(text);
  return ['', '/'].includes(username + password + pathname + search);
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
