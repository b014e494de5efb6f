import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { cacAddress } from '../../../formats/chunk/cac.ts';
import { DIGEST_SIZE, endToEnd, GATE, inPieces, type ThreadData, type ThreadRequest } from './messages.ts';

const MICROSECONDS_PER_MS = 1000;

const port = parentPort as MessagePort;
const { privateKey, gate } = workerData as ThreadData;

// Native code.
enter();
await import('secp256k1');
leave();
const { createSigner } = await import('../../../formats/crypto/signer.ts');
enter();
const signer = createSigner(privateKey);
leave();

port.on('message', (request: ThreadRequest) => {
  const response = endToEnd(request.kind === 'addresses' ? addresses(request) : signatures(request));
  const { user, system } = process.threadCpuUsage();
  Atomics.store(gate, GATE.cpuMs, (user + system) / MICROSECONDS_PER_MS);
  port.postMessage(response, [response.buffer]);
});
// From now on nothing waits for modules to load.
port.postMessage('ready');

function addresses({ bytes, lengths }: Extract<ThreadRequest, { kind: 'addresses' }>): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => cacAddress(bytes.subarray(at, (at += length))));
}

function signatures({ bytes }: Extract<ThreadRequest, { kind: 'sign' }>): Uint8Array[] {
  return inPieces(bytes, DIGEST_SIZE).map((digest) => {
    enter();
    try {
      return signer.sign(digest);
    } finally {
      leave();
    }
  });
}

/** Waits for its end when the gate is closed. */
function enter(): void {
  Atomics.store(gate, GATE.inside, 1);
  if (Atomics.load(gate, GATE.closed) === 0) return;
  leave();
  Atomics.wait(gate, GATE.closed, 1);
}

function leave(): void {
  Atomics.store(gate, GATE.inside, 0);
  Atomics.notify(gate, GATE.inside);
}
