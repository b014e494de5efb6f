import { readFileSync } from 'node:fs';
import { type ClusterNode, HarnessError } from 'svcnet';
import {
  expectBytes,
  type LedgerEntry,
  messageOf,
  type ParameterTable,
  type ScenarioContext,
} from 'svcnet/scenario';
import { batchOf, uploadLedgered } from './steps.ts';

const ADDRESS = /^[0-9a-f]{64}$/;

export interface KnownContent {
  /** 64 hex digits. */
  readonly reference: string;
  readonly chunks: readonly string[];
}

/**
 * @param path of a run's `ledger.jsonl`, or of a list: the root on its first line, a chunk on each other
 * @throws HarnessError `USAGE` naming the line
 */
export function readContent(path: string): KnownContent[] {
  const lines = readLines(path);
  if (lines[0]?.startsWith('{') === true) return ledgerEntries(lines, path);
  const addresses = lines.map((line, index) => {
    if (ADDRESS.test(line.toLowerCase())) return line.toLowerCase();
    throw new HarnessError('USAGE', `${path}: line ${index + 1}: got '${line}', expected 64 hex digits`);
  });
  const [reference] = addresses;
  if (reference === undefined) throw new HarnessError('USAGE', `${path}: the list is empty`);
  return [{ reference, chunks: [...new Set(addresses)] }];
}

export function readLedger(path: string): LedgerEntry[] {
  const entries = ledgerEntries(readLines(path), path);
  if (entries.length === 0) throw new HarnessError('USAGE', `${path}: the ledger is empty`);
  return entries;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  } catch (error) {
    throw new HarnessError('USAGE', `cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function ledgerEntries(lines: readonly string[], path: string): LedgerEntry[] {
  return lines.map((line, index) => {
    const entry = parsed(line);
    if (typeof entry?.reference === 'string' && Array.isArray(entry.chunks)) return entry as LedgerEntry;
    throw new HarnessError('USAGE', `${path}: line ${index + 1}: expected an entry of a ledger`);
  });
}

function parsed(line: string): Partial<LedgerEntry> | undefined {
  try {
    return JSON.parse(line) as Partial<LedgerEntry>;
  } catch {
    // Reported with its line.
    return undefined;
  }
}

export async function uploadContent<T extends ParameterTable>(
  context: ScenarioContext<T>,
  node: ClusterNode,
  { name, size }: { readonly name: string; readonly size: number },
): Promise<KnownContent> {
  const data = context.random(name).bytes(size);
  const batch = batchOf(node);
  const { reference, chunks } = await expectBytes(data);
  await context.step('upload', () =>
    uploadLedgered(context, {
      operation: 'upload',
      kind: 'bytes',
      node,
      batch,
      size,
      mode: 'deferred',
      upload: () => node.bytes.upload(data, { batch, redundancyLevel: 0, signal: context.signal }),
      expected: () => Promise.resolve({ reference, chunks }),
    }),
  );
  return { reference, chunks };
}

export async function withoutPin(
  nodes: readonly ClusterNode[],
  reference: string,
  signal: AbortSignal,
): Promise<ClusterNode[]> {
  const pinned = await Promise.all(
    nodes.map(async (node) => (await node.pins.list(signal)).includes(reference)),
  );
  return nodes.filter((_, index) => pinned[index] !== true);
}
