/** The event stream of the live page, as the page reads it. */
import { Model } from '../../../harness/web/live/model.ts';
import type { Delta, Snapshot } from '../../../harness/web/picture/live.ts';

const LIMIT_MS = 120_000;

export class EventReader implements AsyncDisposable {
  readonly deltas: Delta[] = [];
  snapshots = 0;
  ended = false;
  #model: Model | undefined;
  #failure: unknown;
  readonly #closing = new AbortController();
  readonly #reading: Promise<void>;
  #wake: () => void = () => undefined;

  constructor(url: string) {
    this.#reading = this.#read(`${url}events`);
  }

  get model(): Model {
    if (this.#model === undefined) throw new Error('no snapshot has come yet');
    return this.#model;
  }

  async until(what: string, isWanted: (model: Model) => boolean): Promise<Model> {
    const deadline = performance.now() + LIMIT_MS;
    while (this.#model === undefined || !isWanted(this.#model)) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.ended) throw new Error(`the stream ended before ${what}`);
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`in vain waited until ${what}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#model;
  }

  async end(): Promise<void> {
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #read(url: string): Promise<void> {
    try {
      const { body, status } = await fetch(url, { signal: this.#closing.signal });
      if (status !== 200 || body === null) throw new Error(`the stream answers with ${status}`);
      let text = '';
      for await (const piece of body.pipeThrough(new TextDecoderStream())) {
        const messages = (text + piece).split('\n\n');
        text = messages.pop() ?? '';
        for (const message of messages) this.#take(message);
      }
    } catch (error) {
      // A server that closes resets the streams that are open.
      if (!this.#closing.signal.aborted && !(error instanceof TypeError)) this.#failure = error;
    }
    this.ended = true;
    this.#wake();
  }

  #take(message: string): void {
    const [, kind, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? [];
    if (kind === 'snapshot') {
      this.snapshots++;
      this.#model = new Model(JSON.parse(data) as Snapshot);
    } else if (kind === 'delta') {
      const delta = JSON.parse(data) as Delta;
      this.deltas.push(delta);
      this.#model?.apply(delta);
    }
    this.#wake();
  }
}
