/** Program of a worker thread: hashes and signs, one request after another. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { cacAddress } from '../../chunk/cac.ts';
import { createSigner } from '../../crypto/signer.ts';
import { DIGEST_SIZE, endToEnd, GATE, inPieces, type ThreadData, type ThreadRequest } from './messages.ts';

const port = parentPort as MessagePort;
const { privateKey, gate } = workerData as ThreadData;
const signer = inside(() => createSigner(privateKey));

port.on('message', (request: ThreadRequest) => {
  const results = request.kind === 'addresses' ? addresses(request) : signatures(request);
  const response = endToEnd(results);
  port.postMessage(response, [response.buffer]);
});
// The listener is there: nothing sent from now on waits for modules to load.
port.postMessage('ready');

function addresses({ bytes, lengths }: Extract<ThreadRequest, { kind: 'addresses' }>): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => cacAddress(bytes.subarray(at, (at += length))));
}

function signatures({ bytes }: Extract<ThreadRequest, { kind: 'sign' }>): Uint8Array[] {
  return inPieces(bytes, DIGEST_SIZE).map((digest) => inside(() => signer.sign(digest)));
}

/** Waits for the end when the gate is closed. */
function inside<T>(work: () => T): T {
  Atomics.store(gate, GATE.inside, 1);
  if (Atomics.load(gate, GATE.closed) === 1) {
    leave();
    Atomics.wait(gate, GATE.closed, 1);
  }
  try {
    return work();
  } finally {
    leave();
  }
}

function leave(): void {
  Atomics.store(gate, GATE.inside, 0);
  Atomics.notify(gate, GATE.inside);
}
