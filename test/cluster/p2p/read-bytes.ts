import type { TcpConnection } from '../../../node/p2p/tcp-host.ts';

/** @param size fewer bytes come when the connection ends */
export async function readBytes({ raw }: TcpConnection, size: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let left = size; left > 0; left -= parts.at(-1)?.length ?? 0) {
    const bytes = raw.take() ?? (await raw.read());
    if (bytes === undefined) break;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
