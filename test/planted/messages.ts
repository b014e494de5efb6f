/** Bugs that show only where single messages are changed or repeated. */
import type { BlindBug } from './blind.ts';

/** @param faults a schedule beside this file */
const storm = (faults: string, ...load: readonly string[]): readonly string[] => [
  '--tap',
  '--nodes=4',
  ...load,
  `--set=schedule=${new URL(faults, import.meta.url).pathname}`,
];

export const MESSAGE_BUGS: readonly BlindBug[] = [
  {
    name: 'unverified-delivery',
    about: 'what is not the chunk that was asked for is taken for it',
    storm: storm('changed-deliveries.yaml', '--set=sizes=300000', '--set=pace=500ms'),
    edits: [
      {
        file: 'protocols/retrieval/retrieval.ts',
        from: "misbehaved(peer, 'delivers what is not the chunk');\n      throw error;",
        to: "misbehaved(peer, 'delivers what is not the chunk');\n      return { address, data, kind: 'cac', identity: address };",
      },
    ],
  },
  {
    name: 'cheque-again',
    about: 'a cheque that has come before is credited again',
    storm: storm('repeated-cheques.yaml', '--set=sizes=100000', '--set=pace=2s'),
    edits: [
      {
        file: 'protocols/swap/swap.ts',
        from: "    if (code === 'CHEQUE_MALFORMED')",
        to: "    if (code === 'NOT_INCREASING') this.#deps.accounting.paymentReceived(peer, 10_000n);\n    if (code === 'CHEQUE_MALFORMED')",
      },
    ],
  },
];
