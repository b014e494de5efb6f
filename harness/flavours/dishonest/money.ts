import { fromHex } from '../../../formats/crypto/hex.ts';
import { decodeAnswer, encodeRequest } from '../../../formats/ethereum/json-rpc.ts';
import type { ChainEndpoint } from '../../../node/onchain/rpc.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { encodeAmount } from '../../../node/protocols/amounts.ts';
import { AnnouncePaymentThreshold, PRICING } from '../../../node/protocols/pricing/wire.ts';
import { PSEUDOSETTLE } from '../../../node/protocols/pseudosettle/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import { EmitCheque, SWAP } from '../../../node/protocols/swap/wire.ts';
import { encodeCheque, type SignedCheque, signCheque } from '../../../node/swap/cheque.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { newSigner } from './identity.ts';
import { withPeers, withStream } from './steps.ts';

const CHEQUES_EVERY_MS = 1_000;
const REQUESTS_EVERY_MS = 20;
const MORE_THAN_THERE_IS = 10n ** 30n;
const ADDRESS_SIZE = 20;
const SIGNATURE_SIZE = 65;

function paysNothing({ count }: Stage): (protocol: string) => boolean {
  return (protocol) => {
    if (protocol !== PSEUDOSETTLE.id && protocol !== SWAP.id) return false;
    count('payments withheld');
    return true;
  };
}

export const REFUSE_TO_PAY: Behaviour = {
  about: 'pays none of its debts, neither by time nor by cheque',
  withholds: paysNothing,
};

export const FREELOAD: Behaviour = {
  about: 'asks for every chunk that it has heard of, again and again, and never pays',
  withholds: paysNothing,
  acts: (stage) => {
    let turn = 0;
    return withPeers(stage, REQUESTS_EVERY_MS, (peer) => {
      const heard = [...stage.heard];
      const address = heard[turn++ % heard.length];
      if (address === undefined) return Promise.resolve();
      return withStream(stage, peer, RETRIEVAL.id, async (stream) => {
        await stream.write(Request, { addr: fromHex(address) });
        const { data } = await stream.read(Delivery);
        if (data.length > 0) stage.count('chunks taken for nothing');
      });
    });
  },
};

type ChequeFor = (stage: Stage, peer: Peer, chainId: bigint, turn: number) => SignedCheque | undefined;

function cheques(what: string, made: ChequeFor): (stage: Stage) => Promise<void> {
  return async (stage) => {
    const chainId = await chainIdOf(stage.chain(), stage.signal);
    let turn = 0;
    await withPeers(stage, CHEQUES_EVERY_MS, (peer) =>
      withStream(stage, peer, SWAP.id, async (stream) => {
        const cheque = made(stage, peer, chainId, turn++);
        if (cheque === undefined) return;
        await stream.write(EmitCheque, { cheque: encodeCheque(cheque) });
        stage.count(what);
        await stream.close();
      }),
    );
  };
}

export const BOUNCING_CHEQUES: Behaviour = {
  about: 'hands out cheques over more than its chequebook holds',
  acts: cheques('bouncing cheques sent', ({ options, deps }, peer, chainId, turn) => {
    const chequebook = options.chequebook?.();
    if (chequebook === undefined) return undefined;
    const cumulativePayout = MORE_THAN_THERE_IS + BigInt(turn);
    return signCheque({ chequebook, beneficiary: peer.ethereum, cumulativePayout }, deps.signer, chainId);
  }),
};

export const FORGED_CHEQUES: Behaviour = {
  about: 'hands out cheques with wrong signatures, for others, of no chequebook and of no value',
  acts: cheques('forged cheques sent', (stage, peer, chainId, turn) => {
    const { options, deps, random } = stage;
    const own = options.chequebook?.() ?? random.bytes(ADDRESS_SIZE);
    const cheque = { chequebook: own, beneficiary: peer.ethereum, cumulativePayout: 10n ** 12n };
    const ways: readonly (() => SignedCheque)[] = [
      () => ({ ...cheque, signature: random.bytes(SIGNATURE_SIZE) }),
      () => signCheque(cheque, newSigner(stage), chainId),
      () => signCheque({ ...cheque, beneficiary: random.bytes(ADDRESS_SIZE) }, deps.signer, chainId),
      () => signCheque({ ...cheque, chequebook: random.bytes(ADDRESS_SIZE) }, deps.signer, chainId),
      () => signCheque({ ...cheque, cumulativePayout: 0n }, deps.signer, chainId),
      () => signCheque(cheque, deps.signer, chainId + 1n),
    ];
    return ways[turn % ways.length]?.();
  }),
};

async function chainIdOf(endpoint: ChainEndpoint, signal: AbortSignal): Promise<bigint> {
  try {
    const [id, method] = [1, 'eth_chainId'];
    const answer = await endpoint.post(encodeRequest(id, method, []), { signal });
    return BigInt(String(decodeAnswer(answer, { id, method })));
  } finally {
    endpoint.close();
  }
}

export const ABSURD_PRICES: Behaviour = {
  about: 'announces absurd payment thresholds: next to nothing, and more than the whole supply',
  alters: ({ count }) => {
    let turn = 0;
    return ({ protocol, table, message }) => {
      if (protocol !== PRICING.id || table !== AnnouncePaymentThreshold) return message;
      count('absurd thresholds announced');
      return { paymentThreshold: turn++ % 2 === 0 ? encodeAmount(1n) : new Uint8Array(64).fill(0xff) };
    };
  },
};
