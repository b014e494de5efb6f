/** A cluster file with every key: those that are off follow `#` without a space, with default or example. */
import { wrap } from '../../../base/terminal/table.ts';
import { keySchemas } from './json-schema.ts';

const WIDTH = 120;

const HEAD = `# A cluster of svcnet. Start it with: svcnet up -f FILE
# Lines such as "#seed: 42" are off: they show the default, or an example where there is none (marked so).
# For completion in an editor: svcnet schema > cluster.schema.json, and make this the first line:
#   # yaml-language-server: $schema=cluster.schema.json
`;

const KEYS = `
#preset: factory
name: local
#seed: 42

nodes:
  - count: 5
    #flavour: svc
    #mode: full
    # docs/reference/node-options.md lists them.
    #options: {}
    #keys: []
    #neighbourhoods: "01"
    #batches: [{ depth: 20, ttl: 24h, immutable: true }]
    #resources: { cpus: 1, memory: 512MiB }
    # docs/reference/faults.md lists them.
    #dishonest: [wrong-data, forged-receipts]
    # Default: SVCNET_BEE_BINARY.
    #binary: ./bee
    #image: ethersphere/bee:2.8.1

# Paths below this file's folder, of files as docs/guides/other-nodes.md describes them. [./ant.flavour.yaml]
#flavours: []

#driver: process
#store: disk
#shareResults: true
#machineFaults: false
#profile: fast
#dialect: svc
#credit: high

#listen: 127.0.0.1
# The map: { first: 17000, stride: 10, debug: range }.
#ports: free
#cors: []
#allowedHosts: []
#otlp: http://127.0.0.1:4318
# mesh, ring, star, { random: 3 } (each node has at least so many peers) or { links: [[node-0, node-1]] }.
#topology: mesh
#coldGossip: false
#linkFaults: false
#tap: false
#underlays: [tcp]
# { latency: 20ms, jitter: 5ms }, or regions: internet, or a map such as { about: text, shares: { east: 1 },
# roundTripMs: { east: { east: 9 } } }. bandwidth: 10Mbit/s is what each node sends at most.
#network: { regions: internet }
#odd: []

chain:
  #engine: anvil
  blockTime: 1s
  #chainId: 31337
  #networkId: 4020
  #port: 0
  #gate: false
  #storagePrice: 24000

#batches: [{ depth: 20, ttl: 24h, immutable: true }]
# deposit: token units (10^16 are one token).
#swap: { deposit: "500000000000000000" }
# 10^18 native units are one coin, 10^16 token units one token.
#funds: { native: "10000000000000000000", tokens: "100000000000000000000" }
# Uploads ({ node: node-0, size: 64KiB } or { node: node-0, path: ./folder }), cheques ({ from: node-0, to: node-1 }), and
# the height of the chain ({ height: 400 }).
#prepare: { uploads: [], cheques: [] }
`;

function explained(): string[] {
  const schemas = keySchemas();
  let words: string[] = [];
  let top = '';
  return KEYS.split('\n').flatMap((line) => {
    const [, indent = '', more, off = '', key = ''] = /^( *)(?:# (.*)|(?:- )?(#?)(\w+):.*)$/.exec(line) ?? [];
    if (more !== undefined) {
      words.push(more);
      return [];
    }
    if (key === '') return [line];
    if (indent === '') top = key;
    const { description, default: fallback } = schemas.get(indent === '' ? key : `${top}.${key}`) ?? {};
    const example = off !== '' && fallback === undefined ? ['Example:'] : [];
    const about = [description, ...words, ...example].join(' ');
    words = [];
    return [...wrap(`${indent}# ${about}`, WIDTH, `${indent}# `), line];
  });
}

export const CLUSTER_FILE = `${HEAD}${explained().join('\n')}`;
