import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileRefused, HarnessError, messageOf, reasonOf } from '../base/errors.ts';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { statusOf } from '../base/own-folder.ts';
import { shellWord } from '../base/typed.ts';
import { ClientError } from '../client/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { formatBytes } from '../report/console.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';
import { workingNodes } from './working-nodes.ts';

interface TransferFlags extends ClusterFlags {
  readonly node?: string;
  readonly timeout: number;
}

interface UploadFlags extends TransferFlags {
  readonly batch?: string;
  readonly wait: boolean;
}

interface DownloadFlags extends TransferFlags {
  readonly path?: string;
  readonly force?: boolean;
}

/** Pieces of the file are in memory, never all of it. */
export async function upload(file: string, flags: UploadFlags, context: CommandContext): Promise<void> {
  const size = await sizeOf(file);
  const { signal } = context;
  await onCluster(flags, context, async (cluster) => {
    const startedAt = MACHINE_CLOCK.monotonic();
    const node = nodeOf(cluster, flags.node);
    const batch = flags.batch ?? node.batch;
    if (batch === undefined) {
      throw new HarnessError('USAGE', `${node.name} has no postage batch`, {
        hint: `Buy one with: svcnet stamp ${node.name} --name ${cluster.name}`,
      });
    }
    const { reference } = await node.files.upload(createReadStream(file), {
      name: basename(file),
      batch,
      timeoutMs: flags.timeout,
      signal,
    });
    if (flags.wait) await cluster.synced(reference, { signal });
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    const about = { name: cluster.name, node: node.name, file, bytes: size };
    answer(context, { ...about, reference, batch, synced: flags.wait, durationMs }, [
      `  reference  ${reference}`,
      `  file       ${file}, ${formatBytes(size)}`,
      `  node       ${node.name}`,
      `  batch      ${batch}`,
      `  ${flags.wait ? 'synced' : 'uploaded'} in ${formatMs(durationMs)}`,
      '',
      `  svcnet download ${reference} ${shellWord(`copy-of-${basename(file)}`)} --name ${cluster.name}`,
    ]);
  });
}

async function sizeOf(file: string): Promise<number> {
  const info = await stat(file).catch((error: unknown) => {
    throw new HarnessError('USAGE', messageOf(error), { cause: error });
  });
  if (info.isFile()) return info.size;
  throw new HarnessError('USAGE', `${file} is no file`, {
    hint: 'A folder is uploaded as an archive: tar c FOLDER | curl --data-binary @- …',
  });
}

export async function download(
  reference: string,
  file: string,
  flags: DownloadFlags,
  context: CommandContext,
): Promise<void> {
  if (flags.force !== true && statusOf(file) !== undefined) {
    throw new HarnessError('USAGE', `${file} already exists`, {
      hint: 'Choose another path, or overwrite the file with --force.',
    });
  }
  await onCluster(flags, context, async (cluster) => {
    const startedAt = MACHINE_CLOCK.monotonic();
    const node = nodeOf(cluster, flags.node);
    const options = { timeoutMs: flags.timeout, signal: context.signal };
    const pieces = await piecesOf(node, { reference, path: flags.path }, options);
    const bytes = await writeWhole(file, pieces);
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    const document = { name: cluster.name, node: node.name, reference, file, bytes, durationMs };
    answer(context, document, [
      `  ${formatBytes(bytes)} from ${node.name} in ${file}, in ${formatMs(durationMs)}`,
    ]);
  });
}

/** What is no file or folder may be raw bytes. */
async function piecesOf(
  node: ClusterNode,
  { reference, path }: { readonly reference: string; readonly path: string | undefined },
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await node.files.stream(reference, path, options);
  } catch (error) {
    if (path !== undefined || !(error instanceof ClientError) || error.status !== 404) throw error;
    return node.bytes.stream(reference, options);
  }
}

/** A file that is there stays until the new one is complete. @returns bytes written */
async function writeWhole(file: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const part = `${file}.${process.pid}.part`;
  const output = createWriteStream(part, { flags: 'wx' });
  try {
    await pipeline(pieces, output);
    renameSync(part, file);
    return output.bytesWritten;
  } catch (error) {
    rmSync(part, { force: true });
    throw reasonOf(error) === undefined ? error : fileRefused(file, error, 'Choose another path.');
  }
}

function nodeOf(cluster: Cluster, name: string | undefined): ClusterNode {
  return cluster.node(name ?? workingNodes(cluster)[0]?.name ?? 0);
}
