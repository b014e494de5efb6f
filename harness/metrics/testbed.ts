/**
 * `testbed_*` of `scenarios.md` 8.5, with label `run`. Without a source, such as attached nodes' processor time, a series
 * has no samples.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { FailedOperation, OperationKey } from './recorder.ts';

/** On files: `scenarios.md` 8.3. */
const FILE_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 600, 1200, 1800, 3600,
];
const SIZE_CLASSES = [
  [0, 'none'],
  [4096, '4KiB'],
  [65_536, '64KiB'],
  [2 ** 20, '1MiB'],
  [2 ** 24, '16MiB'],
] as const;
const SIZE_CLASS_LARGEST = 'above';

/** Figures of a process; `all`: of several nodes in one. */
export interface NodeFigures {
  readonly node: string;
  readonly group: string;
  readonly cpuSeconds?: number | undefined;
  readonly residentBytes?: number | undefined;
}

/** Summed over the cluster; never falls, even across restarts. */
export interface NetworkFigures {
  readonly networkBytes: readonly { readonly protocol: string; readonly direction: string; value: number }[];
  readonly cheques: Readonly<Record<string, number>>;
  readonly settlements: Readonly<Record<string, number>>;
}

export interface NodeMoment {
  readonly node: string;
  readonly group: string;
  readonly up: boolean;
}

export interface FaultMoment {
  readonly kind: string;
  /** A node, `chain` or `cluster`. */
  readonly target: string;
}

interface Counted {
  result(): { readonly acknowledged: number; readonly missing: number };
}

export class TestbedMetrics {
  readonly contentType: string;
  readonly #registry = new Registry();
  readonly #ledgers: Counted[] = [];
  readonly #m;

  constructor(run: string) {
    this.#registry.setDefaultLabels({ run });
    this.contentType = this.#registry.contentType;
    this.#m = declare(this.#registry);
    // Unknown, not zero.
    this.#m.ready.remove();
  }

  expose(): Promise<string> {
    const totals = this.#ledgers.map((ledger) => ledger.result());
    setTotal(
      this.#m.acknowledged,
      {},
      totals.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
    );
    this.#m.missing.set(totals.reduce((sum, { missing }) => sum + missing, 0));
    return this.#registry.metrics();
  }

  scenario(name: string, seed: string): void {
    this.#m.scenario.set({ name, seed }, 1);
  }

  ledger(ledger: Counted): void {
    this.#ledgers.push(ledger);
  }

  scenarioEnded(name: string, passed: boolean): void {
    this.#m.result.set({ name }, passed ? 1 : 0);
  }

  phase(scenario: string, phase: string, seconds: number): void {
    this.#m.phase.set({ scenario, phase }, seconds);
  }

  assertion(passed: boolean): void {
    this.#m.assertions.inc({ result: passed ? 'passed' : 'failed' });
  }

  succeeded({ operation }: OperationKey, { latencyMs, bytes }: { latencyMs: number; bytes: number }): void {
    this.#m.operations.inc({ op: operation, result: 'ok', class: '' });
    this.#m.seconds.observe({ op: operation, size_class: sizeClass(bytes) }, latencyMs / 1000);
    this.#m.bytes.inc({ op: operation }, bytes);
  }

  failed({ operation }: OperationKey, { class: kind }: Pick<FailedOperation, 'class'>): void {
    this.#m.operations.inc({ op: operation, result: 'error', class: kind });
  }

  clusterReady(seconds: number): void {
    this.#m.ready.set(seconds);
  }

  nodes(moments: readonly NodeMoment[]): void {
    this.#m.up.reset();
    for (const { node, group, up } of moments) this.#m.up.set({ node, group }, up ? 1 : 0);
  }

  /** All that last. */
  faults(moments: readonly FaultMoment[]): void {
    this.#m.faults.reset();
    for (const { kind, target } of moments) this.#m.faults.set({ kind, target }, 1);
  }

  /** All known ones. */
  usage(figures: readonly NodeFigures[]): void {
    this.#m.cpu.reset();
    this.#m.resident.reset();
    for (const { node, group, cpuSeconds, residentBytes } of figures) {
      if (cpuSeconds !== undefined) this.#m.cpu.inc({ node, group }, cpuSeconds);
      if (residentBytes !== undefined) this.#m.resident.set({ node, group }, residentBytes);
    }
  }

  network({ networkBytes, cheques, settlements }: NetworkFigures): void {
    for (const { protocol, direction, value } of networkBytes)
      setTotal(this.#m.network, { protocol, direction }, value);
    for (const [kind, value] of Object.entries(cheques)) setTotal(this.#m.cheques, { kind }, value);
    for (const [kind, value] of Object.entries(settlements)) setTotal(this.#m.settlements, { kind }, value);
  }
}

/** A class is named by its largest payload; `none` moves no bytes. */
function sizeClass(bytes: number): string {
  return SIZE_CLASSES.find(([limit]) => bytes <= limit)?.[1] ?? SIZE_CLASS_LARGEST;
}

function setTotal(counter: Counter, labels: Record<string, string>, value: number): void {
  counter.remove(labels);
  counter.inc(labels, value);
}

function declare(registry: Registry) {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `testbed_${name}`, help, labelNames, registers });
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `testbed_${name}`, help, labelNames, registers });
  return {
    scenario: gauge('scenario_info', 'Scenarios that have started; always 1.', ['name', 'seed']),
    result: gauge('scenario_result', 'Result of a scenario: 1 passed, 0 did not pass.', ['name']),
    phase: gauge('phase_seconds', 'Duration of a step of a scenario.', ['scenario', 'phase']),
    assertions: counter('assertion_total', 'Conditions checked.', ['result']),
    operations: counter('op_total', 'Operations by result and class of the error.', [
      'op',
      'result',
      'class',
    ]),
    seconds: new Histogram({
      name: 'testbed_op_seconds',
      help: 'Duration of operations that succeeded, by the largest payload of their class.',
      labelNames: ['op', 'size_class'],
      buckets: FILE_SECONDS,
      registers,
    }),
    bytes: counter('op_bytes_total', 'Payload of operations that succeeded, bytes.', ['op']),
    acknowledged: counter('ledger_acked_total', 'Distinct chunks whose upload was acknowledged.'),
    missing: gauge('ledger_missing_total', 'Acknowledged chunks that the last verification did not find.'),
    faults: gauge(
      'fault_active',
      'What was done to a node, the chain or the cluster on purpose and still lasts: 1.',
      ['kind', 'target'],
    ),
    cpu: counter(
      'node_cpu_seconds_total',
      'Processor time of a node since it started; node="all": of the one process that holds all nodes, and of what else it does.',
      ['node', 'group'],
    ),
    resident: gauge(
      'node_rss_bytes',
      'Resident memory of a node, of a container without the file cache; node="all": of the one process that holds all nodes.',
      ['node', 'group'],
    ),
    up: gauge('node_up', 'Whether a node runs and has answered: 1 or 0.', ['node', 'group']),
    ready: gauge('cluster_ready_seconds', 'Time from the start of the cluster to usable batches.'),
    network: counter('network_bytes_total', 'Bytes through the streams of all nodes.', [
      'protocol',
      'direction',
    ]),
    cheques: counter('cheque_total', 'Cheques of all nodes: sent, received, rejected.', ['kind']),
    settlements: counter(
      'settlement_amount_total',
      'Debt that all nodes have paid, accounting units: by cheque, by time.',
      ['kind'],
    ),
  };
}
