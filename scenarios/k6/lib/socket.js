/** As promises: opened, message after message, closed; each in time or failing with an `OperationError`. */

import { clearTimeout, setTimeout } from 'k6/timers';
import { WebSocket } from 'k6/websockets';
import { authorization } from './config.js';
import { OperationError } from './operations.js';

/** @import { FailureRecord, TargetNode } from '../../../harness/run/load/k6/config.ts' */

const TIMEOUT_MS = 60_000;

export class Socket {
  /** @type {ArrayBuffer[]} */
  #messages = [];
  /** @type {FailureRecord | undefined} */
  #failure;
  #isOpen = false;
  /** @type {(() => void) | undefined} */
  #wake;
  /** @type {WebSocket} */
  #socket;
  /** @type {string} */
  #what;

  /**
   * @param {TargetNode} node
   * @param {{ path: string, headers?: Record<string, string> }} request
   * @returns {Promise<Socket>} open
   */
  static async open(node, { path, headers = {} }) {
    const opened = new Socket(node, path, headers);
    await opened.#until(() => opened.#isOpen);
    return opened;
  }

  /**
   * @param {TargetNode} node
   * @param {string} path
   * @param {Record<string, string>} headers
   */
  constructor(node, path, headers) {
    this.#what = `${node.name}: ${path}`;
    this.#socket = new WebSocket(`${node.api.replace(/^http/, 'ws')}${path}`, null, {
      headers: { ...authorization(node), ...headers },
    });
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.addEventListener('open', () => {
      this.#isOpen = true;
      this.#wake?.();
    });
    this.#socket.addEventListener('message', (event) => {
      this.#messages.push(/** @type {ArrayBuffer} */ (/** @type {{ data: unknown }} */ (event).data));
      this.#wake?.();
    });
    this.#socket.addEventListener('error', (event) => {
      this.#fail('client.reset', /** @type {{ error?: string }} */ (event).error ?? 'no connection');
    });
    this.#socket.addEventListener('close', () => this.#fail('client.reset', 'closed by the node'));
  }

  /** @param {ArrayBuffer} data */
  send(data) {
    this.#socket.send(data);
  }

  /** @returns {Promise<ArrayBuffer>} the oldest message that was not taken yet */
  async next() {
    await this.#until(() => this.#messages.length > 0);
    return /** @type {ArrayBuffer} */ (this.#messages.shift());
  }

  close() {
    this.#socket.close();
  }

  /**
   * @param {string} kind class of the taxonomy
   * @param {string} message
   */
  #fail(kind, message) {
    this.#failure ??= { class: kind, message: `${this.#what}: ${message}` };
    this.#wake?.();
  }

  /**
   * @param {() => boolean} isReached
   * @throws {OperationError}
   */
  async #until(isReached) {
    const limit = setTimeout(() => this.#fail('client.timeout', 'no answer in time'), TIMEOUT_MS);
    try {
      while (!isReached()) {
        if (this.#failure !== undefined) throw new OperationError(this.#failure);
        await new Promise((resolve) => {
          this.#wake = () => resolve(undefined);
        });
      }
    } finally {
      clearTimeout(limit);
    }
  }
}
