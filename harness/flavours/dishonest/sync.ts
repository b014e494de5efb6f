import { BINS } from '../../../formats/chunk/address.ts';
import { unixSeconds } from '../../../formats/clock.ts';
import type { MessageStream } from '../../../node/p2p/host.ts';
import {
  Ack,
  CURSORS,
  Delivery,
  Get,
  Offer,
  PULLSYNC,
  Syn,
  Want,
} from '../../../node/protocols/pullsync/wire.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { pause, randomChunk, randomStamp } from './steps.ts';

const OFFERED = 50;
const CURSOR = 1_000_000n;
/** Spares a peer that asks without pause. */
const PACE_MS = 100;

export const EMPTY_OFFERS: Behaviour = {
  about: 'offers chunks to its neighbours without end, and delivers none, or others',
  serves: (stage) => {
    const epoch = unixSeconds(stage.clock);
    let turn = 0;
    return {
      [CURSORS.id]: async (stream) => {
        await stream.read(Syn);
        await stream.write(Ack, { cursors: Array.from({ length: BINS }, () => CURSOR), epoch });
      },
      [PULLSYNC.id]: async (stream, signal) => {
        const { start } = await stream.read(Get);
        await pause(stage.clock, PACE_MS, signal);
        await stream.write(Offer, { topmost: start + BigInt(OFFERED - 1), chunks: invented(stage) });
        stage.count('chunks offered', OFFERED);
        await deliver(stage, stream, turn++);
      },
    };
  },
};

function invented({ random }: Pick<Stage, 'random'>) {
  return Array.from({ length: OFFERED }, () => ({
    address: random.bytes(32),
    batchId: random.bytes(32),
    stampHash: random.bytes(32),
  }));
}

/** Gives in turn: nothing, notice of loss, unwanted chunks. */
async function deliver(stage: Stage, stream: MessageStream, turn: number): Promise<void> {
  const { bitVector } = await stream.read(Want);
  const wanted = bitVector.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0);
  stage.count('deliveries withheld', wanted);
  if (turn % 3 === 0) throw new Error('nothing is delivered');
  for (let n = 0; n < wanted; n++) {
    if (turn % 3 === 1) await stream.write(Delivery, {});
    else {
      const { address, data } = randomChunk(stage.random);
      await stream.write(Delivery, { address, data, stamp: randomStamp(stage.random) });
    }
  }
}
