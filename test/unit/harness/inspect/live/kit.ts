import type { ClusterView, LinkView, NodeView, Row } from '../../../../../harness/web/picture/live.ts';

export function clusterView(changes: Partial<ClusterView> = {}): ClusterView {
  return {
    name: 'net',
    startedAt: 0,
    driver: 'embedded',
    seed: '7',
    phase: 'here',
    height: 12,
    hasChain: true,
    logged: true,
    intervalMs: 1000,
    lookedAt: null,
    chunkSight: 'off',
    isAsked: true,
    record: null,
    ...changes,
  };
}

export function nodeView(index: number, changes: Partial<NodeView> = {}): NodeView {
  return {
    name: `node-${index}`,
    flavour: 'svc',
    mode: 'full',
    overlay: ((index * 40) % 256).toString(16).padStart(2, '0').padEnd(64, '0'),
    ethereum: '',
    api: 'http://127.0.0.1:1',
    debug: 'http://127.0.0.1:2',
    p2p: '',
    container: null,
    state: 'running',
    problem: null,
    version: '0.1.0',
    depth: 0,
    storageRadius: 0,
    reserve: 100,
    capacity: 1000,
    waiting: 0,
    waitingFor: null,
    peers: 4,
    block: 12,
    warmingUp: false,
    chequebook: null,
    ...changes,
  };
}

export function linkView(a: number, b: number, changes: Partial<LinkView> = {}): LinkView {
  return {
    a,
    b,
    connected: true,
    latencyMs: 2,
    balance: '0',
    flow: 0,
    paidByA: '0',
    paidByB: '0',
    ...changes,
  };
}

export function row(at: number, nodes: Row['nodes'], changes: Partial<Row> = {}): Row {
  return { at, nodes, latencies: [null, null, null, null], shared: null, ...changes };
}
