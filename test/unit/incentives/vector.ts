import { makeCac } from '../../../formats/chunk/cac.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { type Stamp, stampDigest } from '../../../formats/chunk/stamp.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import type { SampleItem } from '../../../node/incentives/sample.ts';
import vectors from '../../vectors/reserve-sample.json' with { type: 'json' };

const { input } = vectors.cases[0]!;

export function vectorItems(): Omit<SampleItem, 'transformed'>[] {
  const signer = createSigner(fromHex(input.privateKey));
  const text = (value: string) => new TextEncoder().encode(value);
  return Array.from({ length: 16 }, (_, n) => {
    const number = n + 1;
    const payload = text(`Unstoppable data! Chunk #${number}`);
    const cac = makeCac(BigInt(payload.length), payload);
    const chunk = number % 2 === 1 ? signSoc(keccak256(text(`ID #${number}`)), cac.data, signer) : cac;
    const [batchId, index, timestamp] = [input.batchId, input.stampIndex, input.stampTimestamp].map(fromHex);
    const digest = stampDigest(chunk.address, batchId!, index!, timestamp!);
    const stamp: Stamp = {
      batchId: batchId!,
      index: index!,
      timestamp: timestamp!,
      signature: signer.sign(digest),
    };
    return { chunk, stamp };
  });
}
