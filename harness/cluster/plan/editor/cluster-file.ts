/**
 * A cluster file to start from. It names every key: those that are off follow a `#` without a space, with
 * their default, or with an example if they have none.
 */
export const CLUSTER_FILE = `# A cluster of svcnet. Start it with: svcnet up -f FILE
# Lines such as "#seed: 42" are off: they show the default, or an example where there is none (marked so).
# For completion in an editor: svcnet schema > cluster.schema.json, and make this the first line:
#   # yaml-language-server: $schema=cluster.schema.json

# Where every key that is not given comes from: factory is the ecosystem's five-node stack. Default: none. Example:
#preset: factory
# Name of the cluster, for --name of every command.
name: local
# Seed for every random choice: keys, overlays, batch ids. Default: random. Example:
#seed: 42

# A number, or groups of nodes. In a group, only what differs from its default has to be written.
nodes:
  - count: 5
    # svc: the node of this package. bee: a real Bee, whose program "binary" or SVCNET_BEE_BINARY names. dishonest: the node
    # of this package, doing what "dishonest" lists.
    #flavour: svc
    # full stores and forwards; light only uploads and downloads through others; boot introduces the others to each other.
    #mode: full
    # Options of the node, listed in docs/reference/node-options.md.
    #options: {}
    # Private keys of the accounts, one for each node. Default: they follow from the seed. Example:
    #keys: []
    # First bits that the overlays are mined to have, one text for all nodes or one for each. Default: anywhere. Example:
    #neighbourhoods: "01"
    # Instead of those of the cluster below; false: none. Example:
    #batches: [{ depth: 20, ttl: 24h, immutable: true }]
    # Limits of containers (driver docker). Default: none. Example:
    #resources: { cpus: 1, memory: 512MiB }
    # What nodes of flavour dishonest do; docs/faults.md lists it. Example:
    #dishonest: [wrong-data, forged-receipts]
    # Path of a Bee, and image of a container. Examples:
    #binary: ./bee
    #image: ethersphere/bee:2.8.1

# process: one process per node. embedded: all in one. docker: a container each.
#driver: process
# Where nodes of our own keep their data: memory is for embedded ones, and their default. Example:
#store: disk
# Embedded nodes verify the same chunk or signature once for all of them; false: each does it again.
#shareResults: true
# Clocks and disks of nodes of our own, and the chain's endpoint, can be made to fail with "svcnet fault".
#machineFaults: false
# fast: short waits, for tests. production: the values of the network.
#profile: fast
# Names and values that nodes of our own use on HTTP: svc, or swarm, which is what a Bee uses.
#dialect: svc
# How much peers lend each other: high, network (as on the public network), or low, where a few dozen chunks are paid
# by cheque. Default: what suits the profile. Example:
#credit: high

# IPv4 address that the APIs and the chain listen at.
#listen: 127.0.0.1
# free, the first port of a fixed range, or { first: 17000, stride: 10, debug: range }. p2p is one above the API; the
# debug API is two above it (range) or anywhere (free).
#ports: free
# Origins that browsers may call the nodes from, * for all.
#cors: []
# Host names that the APIs answer to, beside addresses, localhost and the names of containers; * for all.
#allowedHosts: []
# Receiver of traces of the nodes, OTLP over HTTP; without, they send none. Example:
#otlp: http://127.0.0.1:4318
# Which nodes are connected: mesh leaves it to them; ring, star, { random: 3 } (each node has at least so many peers) or
# { links: [[node-0, node-1]] } are exactly the links that there are.
#topology: mesh
# Nodes of our own learn of each other by gossip alone; else they begin with each other's addresses.
#coldGossip: false
# What nodes say to each other passes through a proxy, so that svcnet fault can make links bad; embedded clusters need none.
#linkFaults: false

chain:
  # What computes the blocks: anvil; in-process: an EVM in the chain's own process.
  #engine: anvil
  # Time between two blocks; 0s: they are mined on demand only.
  blockTime: 1s
  #chainId: 31337
  #networkId: 4020
  # Of the JSON-RPC endpoint; 0: a free one.
  #port: 0
  # A fault-injecting proxy in front of the RPC endpoint.
  #gate: false
  # Of one chunk and block, token units.
  #storagePrice: 24000

# What each node owns; of several, the first is the default of its uploads. false: none.
#batches: [{ depth: 20, ttl: 24h, immutable: true }]
# What each chequebook starts with, token units (10^16 are one token). false: debts are settled by time alone.
#swap: { deposit: "500000000000000000" }
# What each account starts with: 10^18 native units are one coin, 10^16 token units one token.
#funds: { native: "10000000000000000000", tokens: "100000000000000000000" }
# What has happened before the cluster is given out: uploads ({ node: node-0, size: 64KiB } or { node: node-0, path: ./folder }),
# cheques ({ from: node-0, to: node-1 }), and the height of the chain ({ height: 400 }).
#prepare: { uploads: [], cheques: [] }
`;
