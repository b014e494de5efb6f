import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { parseNetwork, readNetworkFile } from '../../../../../harness/cluster/attached/schema.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-network');

const API = 'http://127.0.0.1:1633';

function mistakesOf(input: unknown): string[] {
  try {
    parseNetwork(input, { source: 'network.yaml' });
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'DEFINITION_INVALID')
      return error.message.split('\n');
    throw error;
  }
  return [];
}

test('nodes are named by their position, and their API serves as debug API', () => {
  const { name, chain, nodes, batches } = parseNetwork(
    {
      nodes: [{ api: `${API}/` }, { api: 'https://node.example', debug: 'http://127.0.0.1:2', name: 'far' }],
    },
    { source: 'network.yaml', fallback: 'field' },
  );
  expect({ name, chain, nodes, batches }).toEqual({
    name: 'field',
    chain: { contracts: {} },
    nodes: [
      { name: 'node-0', api: API, debug: API },
      { name: 'far', api: 'https://node.example', debug: 'http://127.0.0.1:2' },
    ],
    batches: undefined,
  });
});

test('an unquoted address or key of a file keeps its digits', async () => {
  const path = join(folder, 'field-net.yaml');
  const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
  const key = '1234567890'.repeat(6).concat('1234');
  writeFileSync(
    path,
    `chain: { rpc: http://127.0.0.1:8545, contracts: { token: ${token} } }\nnodes:\n  - { api: ${API}, key: ${key} }\n`,
  );
  const network = await readNetworkFile(path);
  expect(network.name).toBe('field-net');
  expect(network.chain.contracts).toEqual({ token });
  expect(network.nodes[0]?.key).toBe(key);
  expect((await readNetworkFile(path, { name: 'other' })).name).toBe('other');
});

test('reports every mistake on its own line, with key, value and what was expected', () => {
  const mistakes = mistakesOf({
    name: 'No Name',
    chain: { rpc: 'localhost:8545', contracts: { token: '0x12', tokn: '0x12' } },
    nodes: [{ api: `${API}/path` }, { ipa: API }, { api: API, name: 'chain' }],
    batches: [{ id: 'abc', node: 'node-0' }],
    notes: [],
  });
  expect(mistakes).toEqual([
    "network.yaml: name: got 'No Name', expected at most 40 lower-case letters, digits and hyphens, starting with a letter or digit",
    "network.yaml: chain.rpc: got 'localhost:8545', expected an http or https URL, such as http://127.0.0.1:8545",
    "network.yaml: chain.contracts.token: got '0x12', expected an address: 0x and 40 hex digits",
    "network.yaml: unknown key 'chain.contracts.tokn', did you mean 'token'? (known: token, postageStamp, postagePriceOracle, stakeRegistry, redistribution, chequebookFactory, swapPriceOracle)",
    "network.yaml: nodes[0].api: got 'http://127.0.0.1:1633/path', expected an http or https URL without user and path, such as http://127.0.0.1:1633",
    'network.yaml: nodes[1].api: got nothing, expected an http or https URL without user and path, such as http://127.0.0.1:1633',
    "network.yaml: unknown key 'nodes[1].ipa', did you mean 'api'? (known: api, debug, name, key, token, tokenFile)",
    "network.yaml: nodes[2].name: got 'chain', expected another name than 'chain', which is that of the chain",
    "network.yaml: batches[0].id: got 'abc', expected the id of a batch: 64 hex digits, 0x optional",
    "network.yaml: unknown key 'notes', did you mean 'nodes'? (known: name, chain, nodes, batches, token, tokenFile)",
  ]);
});

test('a node uses the token of the network unless it has its own, and token files are relative to the network file', async () => {
  const path = join(folder, 'locked.yaml');
  const nodes = [
    `{ api: '${API}' }`,
    `{ api: '${API}1', token: of-the-node }`,
    `{ api: '${API}2', tokenFile: ${join(folder, 'tokens/far')} }`,
  ];
  mkdirSync(join(folder, 'tokens'), { recursive: true });
  for (const name of ['all', 'far']) writeFileSync(join(folder, 'tokens', name), name);
  writeFileSync(path, `tokenFile: tokens/all\nnodes: [${nodes.join(', ')}]\n`);
  const network = await readNetworkFile(path);
  expect(network.nodes.map(({ token, tokenFile }) => ({ token, tokenFile }))).toEqual([
    { token: undefined, tokenFile: join(folder, 'tokens/all') },
    { token: 'of-the-node', tokenFile: undefined },
    { token: undefined, tokenFile: join(folder, 'tokens/far') },
  ]);
  expect(network).not.toHaveProperty('tokenFile');
  const given = await readNetworkFile(path, { tokenFile: '/run/secrets/token' });
  expect(new Set(given.nodes.map(({ tokenFile }) => tokenFile))).toEqual(new Set(['/run/secrets/token']));
});

test('a token file is a regular one below the folder of the network file, links followed', async () => {
  const own = mkdtempSync(join(folder, 'stranger-'));
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'not-for-them');
  symlinkSync(secret, join(own, 'link'));
  symlinkSync(folder, join(own, 'up'));
  mkdirSync(join(own, 'sub'));
  const path = join(own, 'net.yaml');
  const at = (tokenFile: string) => {
    writeFileSync(path, `chain: { tokenFile: ${tokenFile} }\nnodes: [{ api: '${API}' }]\n`);
    return readNetworkFile(path);
  };
  const outside = `which is ${secret}, expected a path below ${own}`;
  await expect(at(secret)).rejects.toThrow(`chain.tokenFile: got '${secret}', ${outside}`);
  await expect(at('../secret')).rejects.toThrow(outside);
  await expect(at('link')).rejects.toThrow(outside);
  await expect(at('up/secret')).rejects.toThrow(outside);
  await expect(at('sub')).rejects.toThrow("chain.tokenFile: got 'sub', expected a regular file");
  await expect(at('none')).rejects.toThrow("chain.tokenFile: no file 'none'");
});

test('credentials of a URL are in no message', () => {
  const text = mistakesOf({
    chain: { rpc: 'htps://me:hush@rpc.example/v3/hush0?key=hush', control: 'me:hush@rpc.example' },
    nodes: [{ api: 'https://me:hush@node.example' }, { api: 'node.example/hush0' }],
  }).join('\n');
  expect(text).toContain("chain.rpc: got 'htps://rpc.example/v3/…'");
  expect(text).toContain(
    "nodes[0].api: got 'https://node.example/…', expected an http or https URL without user",
  );
  expect(text).not.toContain('hush');
});

test('a token given twice is a contradiction', () => {
  const both = { token: 'a', tokenFile: 'b' };
  expect(mistakesOf({ ...both, nodes: [{ api: API, ...both }] })).toEqual([
    'network.yaml: token: expected either token or tokenFile, got both',
    'network.yaml: nodes[0].token: expected either token or tokenFile, got both',
  ]);
});

test('neither a key nor a token appears in a message', async () => {
  const key = 'ab'.repeat(31).concat('a');
  const token = 'a secret with spaces';
  const mistakes = mistakesOf({ token, nodes: [{ api: API, key, token }] });
  expect(mistakes).toEqual([
    'network.yaml: nodes[0].key: got another value, expected a private key: 64 hex digits, 0x optional',
    'network.yaml: nodes[0].token: got another value, expected a token: letters, digits and - . _ ~ + / =',
    'network.yaml: token: got another value, expected a token: letters, digits and - . _ ~ + / =',
  ]);
  const path = join(folder, 'broken.yaml');
  writeFileSync(path, `nodes:\n  - { api: ${API}, key: ${key}, token: [${key} }\n`);
  await expect(readNetworkFile(path)).rejects.toThrow(path);
  await expect(readNetworkFile(path)).rejects.not.toThrow(key);
});

test('a document without nodes is refused with what it lacks', () => {
  expect(mistakesOf({})).toEqual([
    'network.yaml: nodes: got nothing, expected a list of nodes, each with its api',
  ]);
  expect(mistakesOf({ nodes: [] })).toEqual(['network.yaml: nodes: got [], expected at least one node']);
  expect(mistakesOf('nodes')).toEqual(["network.yaml: document: got 'nodes', expected a map with nodes"]);
});

test('an API or name shared by two nodes, and a batch of an unknown node, are contradictions', () => {
  const id = 'ab'.repeat(32);
  expect(
    mistakesOf({
      nodes: [{ api: API, name: 'node-1' }, { api: `${API}/` }],
      batches: [{ id, node: 'node-7' }],
    }),
  ).toEqual([
    "network.yaml: nodes[1].name: got 'node-1', expected another one than nodes[0] has",
    "network.yaml: nodes[1].api: got 'http://127.0.0.1:1633', expected another one than nodes[0] has",
    "network.yaml: batches[0].node: got 'node-7', expected one of node-1, node-1",
  ]);
});
