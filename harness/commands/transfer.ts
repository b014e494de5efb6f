import { randomUUID } from 'node:crypto';
import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isNode, NODE_HEADER_SIZE } from '../../node/manifest/codec.ts';
import { fileRefused, HarnessError, messageOf, reasonOf, systemHint } from '../base/errors.ts';
import { inLine } from '../base/foreign-text.ts';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { expectNoDevice, statusOf } from '../base/own-folder.ts';
import { shellWord } from '../base/typed.ts';
import { ClientError } from '../client/errors.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { formatBytes } from '../report/console.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { namesIn } from './folder-names.ts';
import { onCluster } from './on-cluster.ts';
import { workingNode, workingNodes } from './working-nodes.ts';

interface TransferFlags extends ClusterFlags {
  readonly node?: string;
}

interface UploadFlags extends TransferFlags {
  readonly batch?: string;
  readonly wait: boolean;
  readonly timeout?: number;
}

interface DownloadFlags extends TransferFlags {
  readonly path?: string;
  readonly force?: boolean;
  readonly timeout: number;
}

const UPLOAD_LIMIT_MS = 86_400_000;

/** Pieces of the file are in memory, never all of it. */
export async function upload(file: string, flags: UploadFlags, context: CommandContext): Promise<void> {
  const handle = await opened(file);
  const { signal } = context;
  try {
    await onCluster(flags, context, async (cluster) => {
      const startedAt = MACHINE_CLOCK.monotonic();
      const elapsed = () => Math.round(MACHINE_CLOCK.monotonic() - startedAt);
      const node = workingNode(cluster, flags.node);
      const batch = flags.batch ?? node.batch;
      if (batch === undefined) {
        throw new HarnessError('USAGE', `${node.name} has no postage batch`, {
          hint: `Buy one with: svcnet stamp ${node.name} --name ${cluster.name}`,
        });
      }
      const content = handle.createReadStream();
      const { reference } = await node.files.upload(content, {
        name: basename(file),
        batch,
        timeoutMs: flags.timeout ?? UPLOAD_LIMIT_MS,
        signal,
      });
      if (flags.wait) {
        const left = flags.timeout === undefined ? {} : { timeoutMs: Math.max(0, flags.timeout - elapsed()) };
        await cluster.synced(reference, { signal, ...left }).catch((error: unknown) => {
          throw notOnNetwork(error, node, reference);
        });
      }
      const durationMs = elapsed();
      const bytes = content.bytesRead;
      const reader = workingNodes(cluster).find((other) => other !== node && other.running) ?? node;
      const about = { name: cluster.name, node: node.name, file, bytes };
      answer(context, { ...about, reference, batch, synced: flags.wait, durationMs }, [
        `  reference  ${reference}`,
        `  file       ${file}, ${formatBytes(bytes)}`,
        `  node       ${node.name}`,
        `  batch      ${batch}`,
        `  ${flags.wait ? 'synced' : 'uploaded'} in ${formatMs(durationMs)}`,
        '',
        `  svcnet download ${reference} ${shellWord(copyName(basename(file)))} --node ${reader.name} --name ${cluster.name}`,
      ]);
    });
  } finally {
    await handle.close();
  }
}

/** Of most file systems. */
const NAME_BYTES_MAX = 255;

/** One line that is a name of a file: a long one is cut before its extension. */
function copyName(name: string): string {
  const copy = `copy-of-${inLine(name)}`;
  const bytes = Buffer.from(copy);
  if (bytes.length <= NAME_BYTES_MAX) return copy;
  const extension = Buffer.byteLength(extname(copy)) <= EXTENSION_BYTES_MAX ? extname(copy) : '';
  const stem = bytes.subarray(0, NAME_BYTES_MAX - Buffer.byteLength(extension));
  // Without a cut character.
  return new TextDecoder().decode(stem, { stream: true }) + extension;
}

const EXTENSION_BYTES_MAX = 16;

/** The upload is not lost. */
function notOnNetwork(error: unknown, { name }: ClusterNode, reference: string): unknown {
  if (!(error instanceof HarnessError) || error.code !== 'WAIT_TIMEOUT') return error;
  return new HarnessError(error.code, error.message, {
    hint: `${name} has all chunks of ${reference}, and goes on.`,
    cause: error,
  });
}

const FOLDER_HINT =
  'Upload a folder as a tar archive, without its pipes and devices, after eval "$(svcnet env)": tar ch -C FOLDER . | curl -H \'svc-collection: true\' -H \'content-type: application/x-tar\' -H "svc-postage-batch-id: $SVCNET_BATCH_0" --data-binary @- "$SVCNET_API_0/svc"';

/** Opening a pipe would wait for who writes it. */
async function opened(file: string): Promise<FileHandle> {
  try {
    const info = await stat(file);
    if (info.isFile()) return await open(file);
    throw new HarnessError(
      'USAGE',
      `${file} is a ${info.isDirectory() ? 'folder' : 'device or a pipe'}, expected a file`,
      { hint: info.isDirectory() ? FOLDER_HINT : undefined },
    );
  } catch (error) {
    if (error instanceof HarnessError) throw error;
    throw new HarnessError('USAGE', messageOf(error), { cause: error, hint: systemHint(error) });
  }
}

export async function download(
  reference: string,
  file: string,
  flags: DownloadFlags,
  context: CommandContext,
): Promise<void> {
  expectTarget(file, flags);
  await onCluster(flags, context, async (cluster) => {
    const startedAt = MACHINE_CLOCK.monotonic();
    const node = workingNode(cluster, flags.node);
    using deadline = MACHINE_CLOCK.deadline(flags.timeout, context.signal);
    const options = { timeoutMs: flags.timeout, signal: deadline.signal };
    const pieces = await piecesOf(node, { reference, path: flags.path }, options);
    const bytes = await writeWhole(file, pieces, flags);
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    const document = { name: cluster.name, node: node.name, reference, file, bytes, durationMs };
    answer(context, document, [
      `  ${formatBytes(bytes)} from ${node.name} written to ${file} in ${formatMs(durationMs)}`,
    ]);
  });
}

/** @throws HarnessError `USAGE` for what `--force` does not replace */
function expectTarget(file: string, { force = false }: DownloadFlags): void {
  const info = statusOf(file);
  if (info === undefined) return;
  if (info.isDirectory()) throw new HarnessError('USAGE', `${file} is a folder, expected the path of a file`);
  if (!force) {
    throw new HarnessError('USAGE', `${file} already exists`, {
      hint: 'Choose another path, or overwrite the file with --force.',
    });
  }
  expectNoDevice(file);
}

/** Content without a manifest is raw bytes. */
async function piecesOf(
  node: ClusterNode,
  { reference, path }: { readonly reference: string; readonly path: string | undefined },
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await node.files.stream(reference, path, options);
  } catch (error) {
    if (!(error instanceof ClientError) || error.status !== 404) throw error;
    const missing = () => withNames(error, { node, reference, path }, options);
    if (path !== undefined) throw await missing();
    return rawPieces(await node.bytes.stream(reference, options), missing);
  }
}

/**
 * @param missing makes what is thrown for a manifest: nodes answer alike for content without one, for a folder without an index document,
 * and for a file whose chunks are lost
 */
async function* rawPieces(
  pieces: AsyncIterable<Uint8Array>,
  missing: () => Promise<Error>,
): AsyncGenerator<Uint8Array> {
  let beginning: Buffer | undefined = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (beginning === undefined) {
      yield piece;
      continue;
    }
    beginning = Buffer.concat([beginning, piece]);
    if (beginning.length < NODE_HEADER_SIZE) continue;
    if (isNode(beginning)) throw await missing();
    yield beginning;
    beginning = undefined;
  }
  if (beginning !== undefined) yield beginning;
}

/** @returns the error, with the names that the folder has instead of the path, or of an index document */
async function withNames(
  error: ClientError,
  { node, reference, path }: { node: ClusterNode; reference: string; path: string | undefined },
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Error> {
  try {
    const folder = await namesIn(reference, (part) => node.bytes.stream(part, options));
    // A file that is there has lost chunks.
    const isThere = path === undefined ? folder?.hasIndex : folder?.names.includes(path);
    if (folder === undefined || folder.names.length === 0 || isThere === true) return error;
    const names = folder.names.map((name) => shellWord(inLine(name))).join(', ');
    const hint = `Name a file of the folder with --path: ${names}${folder.areAll ? '' : ', …'}`;
    return new HarnessError('USAGE', error.message, { cause: error, hint });
  } catch {
    // The folder cannot be read whole, or is none: nothing better is known than what the node has answered.
    return error;
  }
}

/** A file that is there stays until the new one is complete. @returns bytes written */
async function writeWhole(
  file: string,
  pieces: AsyncIterable<Uint8Array>,
  flags: DownloadFlags,
): Promise<number> {
  // Beside it, with a name that is not too long if the file's own is not.
  const part = join(dirname(file), `.${randomUUID()}.part`);
  const output = createWriteStream(part, { flags: 'wx' });
  try {
    await pipeline(pieces, output);
    // Another may have written it meanwhile.
    expectTarget(file, flags);
    renameSync(part, file);
    return output.bytesWritten;
  } catch (error) {
    rmSync(part, { force: true });
    throw reasonOf(error) === undefined ? error : fileRefused(file, error, 'Choose another path.');
  }
}
