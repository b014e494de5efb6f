/** What processes, sockets and disks do in another way than a simulation, which runs the whole catalogue. */
import { someScenariosPass } from './catalogue.ts';

const MIXED = 'mixed';
someScenariosPass(
  'process',
  [
    // Requests, streams and stores of every kind, on sockets and on a disk.
    'smoke',
    // SIGKILL, and the store that it leaves behind.
    'kill-during-upload',
    // Processes that end and start, on the same store and on a new one.
    'churn',
    // SIGSTOP: connections stay open and nobody reads them.
    'pause',
    // A proxy before every socket, which drops and delays.
    'partition-and-heal',
    'slow-link',
    // One that reads and changes messages.
    'lost-receipt',
    'repeated-cheque',
    'changed-chunk',
    // A chain of another program, behind JSON-RPC over HTTP.
    'chain-reorg',
    'chain-stall',
    // Another program as node, with a clock and a disk that fail.
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
