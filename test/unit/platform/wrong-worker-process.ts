/** A worker thread that answers every request with a byte. */
import { type MessagePort, parentPort } from 'node:worker_threads';

const port = parentPort as MessagePort;
port.on('message', () => port.postMessage(new Uint8Array(1)));
port.postMessage('ready');
