/** The record of a running cluster as this process knows it, and the nodes that it names: any process may change them. */
import { type ClusterRecord, expectOwnRecord, readRecord, recordIdentity } from '../state/state.ts';
import type { ClusterNode } from './cluster-node.ts';
import { acceptAll, type OpenContext, openNodes } from './open-nodes.ts';

interface RecordedNodesDeps {
  readonly nodes: ClusterNode[];
  readonly stateDir: string;
  readonly context: () => OpenContext;
  readonly onNew: (nodes: readonly ClusterNode[]) => void;
}

export class RecordedNodes<R extends ClusterRecord> {
  readonly #deps: RecordedNodesDeps;
  #record: R;
  #identity: string | undefined;

  constructor(record: R, deps: RecordedNodesDeps) {
    this.#record = record;
    this.#deps = deps;
  }

  get record(): R {
    return this.#record;
  }

  async look(): Promise<void> {
    await acceptAll(this.refresh());
  }

  refresh(): readonly ClusterNode[] {
    const { stateDir } = this.#deps;
    const { name, token } = this.#record;
    const identity = recordIdentity(stateDir, name);
    if (identity === undefined || identity === this.#identity) return [];
    const record = readRecord(stateDir, name);
    this.#identity = identity;
    if (record?.token !== token || record.phase !== 'running') return [];
    expectOwnRecord(stateDir, name);
    return this.take(record);
  }

  /** @param joined nodes added here @returns those that another process added */
  take(record: ClusterRecord, joined: readonly ClusterNode[] = []): readonly ClusterNode[] {
    const { nodes, context, onNew } = this.#deps;
    this.#record = { ...this.#record, ...record, timings: this.#record.timings };
    const known = new Map([...nodes, ...joined].map((node) => [node.name, node]));
    for (const each of record.nodes) known.get(each.name)?.become(each);
    const unknown = record.nodes.filter(({ name }) => !known.has(name));
    const others = openNodes(context(), unknown, record.batches);
    const there = new Set(record.nodes.map(({ name }) => name));
    const kept = nodes.filter(({ name }) => there.has(name));
    const all = [...kept, ...joined, ...others].toSorted((a, b) => a.index - b.index);
    nodes.splice(0, Infinity, ...all);
    onNew([...joined, ...others]);
    return others;
  }
}
