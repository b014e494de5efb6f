/** The simulation runs the whole catalogue; here is what processes, sockets and disks do otherwise. */
import { someScenariosPass } from './catalogue.ts';

const MIXED = 'mixed';
someScenariosPass(
  'process',
  [
    // Requests, streams and stores of every kind.
    'smoke',
    'kill-during-upload',
    'churn',
    // Connections stay open and nobody reads them.
    'pause',
    'partition-and-heal',
    'slow-link',
    'lost-receipt',
    'repeated-cheque',
    'changed-chunk',
    'chain-reorg',
    'chain-stall',
    'clock-skew',
    'disk-full',
    // What attackers send over TCP.
    'byzantine',
    MIXED,
  ],
  {
    skipped: {
      [MIXED]:
        'needs a node of flavour bee: --with bee=2 --bee-binary PATH, or name the program in SVCNET_BEE_BINARY',
    },
  },
);
